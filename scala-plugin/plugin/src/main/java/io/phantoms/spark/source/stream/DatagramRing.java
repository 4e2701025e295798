package io.phantoms.spark.source.stream;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * Datagrams between the socket and the batches, as many as a fixed memory holds. The newest one is dropped where
 * there is no room, as a kernel does, and counted: what is in the ring has been promised to a batch, perhaps.
 *
 * <p>Datagrams are numbered from 0 as they are taken in; those dropped have no number. One thread offers, any may read.
 */
public final class DatagramRing {
  private final long capacity;
  private final ArrayDeque<HeldDatagram> held = new ArrayDeque<>();
  private long first;
  private long bytes;
  private long dropped;
  private long droppedBytes;

  /**
   * @param capacity bytes, of payloads and about a hundred for each datagram
   */
  public DatagramRing(long capacity) {
    if (capacity <= 0) {
      throw new IllegalArgumentException("a ring of " + capacity + " bytes");
    }
    this.capacity = capacity;
  }

  /** Takes a datagram in, or counts it as dropped. */
  public synchronized boolean offer(HeldDatagram datagram) {
    long size = datagram.footprint();
    if (bytes + size > capacity) {
      dropped++;
      droppedBytes += datagram.bytes().length;
      return false;
    }
    held.addLast(datagram);
    bytes += size;
    return true;
  }

  /** The number of the oldest datagram that is held, or that will come if there is none. */
  public synchronized long begin() {
    return first;
  }

  /** The number of the datagram that comes next. */
  public synchronized long end() {
    return first + held.size();
  }

  /** Datagrams dropped so far because the ring was full. */
  public synchronized long dropped() {
    return dropped;
  }

  /** Bytes of these. */
  public synchronized long droppedBytes() {
    return droppedBytes;
  }

  /** Bytes in use, counted as the capacity is. */
  public synchronized long used() {
    return bytes;
  }

  /**
   * Datagrams by number, in order; they stay held.
   *
   * @throws IllegalStateException if some of them are not held (any more)
   */
  public synchronized List<HeldDatagram> slice(long from, long until) {
    if (from < first || until > end() || from > until) {
      throw new IllegalStateException(
          "datagrams " + from + " to " + until + " were asked for, held are " + first + " to " + end());
    }
    List<HeldDatagram> part = new ArrayList<>((int) (until - from));
    Iterator<HeldDatagram> all = held.iterator();
    for (long i = first; i < until; i++) {
      HeldDatagram next = all.next();
      if (i >= from) {
        part.add(next);
      }
    }
    return part;
  }

  /**
   * The number behind the datagrams from one on that take no more than so many bytes, counted as the capacity is: one
   * at least, if it is held.
   */
  public synchronized long endWithin(long from, long most) {
    long at = first;
    long sum = 0;
    for (HeldDatagram next : held) {
      if (at >= from) {
        sum += next.footprint();
        if (sum > most && at > from) {
          return at;
        }
      }
      at++;
    }
    return Math.max(at, from);
  }

  /** Forgets datagrams below a number, and hands them out a last time. */
  public synchronized List<HeldDatagram> release(long until) {
    List<HeldDatagram> gone = new ArrayList<>();
    while (first < until && !held.isEmpty()) {
      HeldDatagram oldest = held.removeFirst();
      bytes -= oldest.footprint();
      first++;
      gone.add(oldest);
    }
    return gone;
  }
}
