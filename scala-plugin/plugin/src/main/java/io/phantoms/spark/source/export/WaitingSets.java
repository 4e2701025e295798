package io.phantoms.spark.source.export;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

import io.phantoms.spark.source.wire.WireCounters;

/**
 * Data sets that came before their template. There is a bound to them, for each template and in all; beyond it the
 * oldest is given up. No set has more than 64 KiB.
 */
final class WaitingSets {
  static final int MAX_SETS = 16_384;
  static final long MAX_BYTES = 16L << 20;

  /** One template that never comes may not take the room of all others. */
  static final int MAX_SETS_EACH = MAX_SETS / 4;
  static final long MAX_BYTES_EACH = MAX_BYTES / 4;

  /** Domains that are remembered to have lost data. */
  static final int MAX_GIVEN_UP = 1000;

  private final Map<Key, Queue> queues = new HashMap<>();

  /** Oldest first; sets are equal only to themselves. */
  private final LinkedHashSet<WaitingSet> order = new LinkedHashSet<>();
  private long bytes;

  /** The last one of a domain that there was no room for. */
  private final LinkedHashMap<Origin, ExportState.GivenUp> givenUp = new LinkedHashMap<>();

  /** Takes over what another had. */
  void resume(ExportState before, ArrayDeque<WaitingSet> lost) {
    before.givenUp().forEach(this::noteGivenUp);
    before.waiting().forEach(w -> add(new WaitingSet(w.header(), w.template(), w.bytes()), lost));
  }

  /** Adds a set; those that are given up for it go to {@code lost}. */
  void add(WaitingSet set, ArrayDeque<WaitingSet> lost) {
    Key key = new Key(set.header.origin(), set.template);
    Queue queue = queues.computeIfAbsent(key, k -> new Queue());
    queue.sets.add(set);
    queue.bytes += set.memory();
    order.add(set);
    bytes += set.memory();
    while (queue.sets.size() > MAX_SETS_EACH || queue.bytes > MAX_BYTES_EACH) {
      lost.add(giveUp(queue.sets.peekFirst()));
    }
    while (order.size() > MAX_SETS || bytes > MAX_BYTES) {
      lost.add(giveUp(order.iterator().next()));
    }
  }

  private WaitingSet giveUp(WaitingSet set) {
    noteGivenUp(set.givenUp());
    return remove(set);
  }

  private void noteGivenUp(ExportState.GivenUp set) {
    givenUp.put(set.header().origin(), set);
    if (givenUp.size() > MAX_GIVEN_UP) {
      givenUp.remove(givenUp.keySet().iterator().next());
    }
  }

  /** Takes the sets that waited for this template, oldest first. */
  ArrayDeque<WaitingSet> take(Origin origin, int template) {
    Queue queue = queues.remove(new Key(origin, template));
    if (queue == null) {
      return new ArrayDeque<>();
    }
    queue.sets.forEach(order::remove);
    bytes -= queue.bytes;
    return queue.sets;
  }

  /** Takes the set that has waited longest, or null. */
  WaitingSet takeOldest() {
    Iterator<WaitingSet> oldest = order.iterator();
    return oldest.hasNext() ? remove(oldest.next()) : null;
  }

  /** Those that wait, oldest first. */
  List<ExportState.Waiting> waiting() {
    return order.stream().map(s -> new ExportState.Waiting(s.header, s.template, s.bytes)).toList();
  }

  /** The last set of each domain that there was no room for. */
  List<ExportState.GivenUp> givenUp() {
    return List.copyOf(givenUp.values());
  }

  int size() {
    return order.size();
  }

  /** The oldest set of its queue, which the oldest of all is, too. */
  private WaitingSet remove(WaitingSet set) {
    Key key = new Key(set.header.origin(), set.template);
    Queue queue = queues.get(key);
    queue.sets.removeFirst();
    queue.bytes -= set.memory();
    if (queue.sets.isEmpty()) {
      queues.remove(key);
    }
    order.remove(set);
    bytes -= set.memory();
    return set;
  }

  private record Key(Origin origin, int template) {}

  private static final class Queue {
    private final ArrayDeque<WaitingSet> sets = new ArrayDeque<>();
    private long bytes;
  }

  /** How a datagram is counted of which sets wait: as malformed once, even if that is seen in several of them. */
  static final class Account {
    boolean malformed;

    /** Counts the datagram, which counts as decoded, as malformed. */
    void countMalformed(WireCounters counters) {
      if (!malformed) {
        malformed = true;
        counters.decoded--;
        counters.malformed++;
      }
    }
  }

  /** The body of a data set. */
  static final class WaitingSet {
    final DatagramHeader header;
    final int template;
    final byte[] bytes;
    final Account account;

    WaitingSet(DatagramHeader header, int template, byte[] bytes) {
      this(header, template, bytes, new Account());
    }

    WaitingSet(DatagramHeader header, int template, byte[] bytes, Account account) {
      this.header = header;
      this.template = template;
      this.bytes = bytes;
      this.account = account;
    }

    ExportState.GivenUp givenUp() {
      return new ExportState.GivenUp(header, template, bytes.length);
    }

    private long memory() {
      return bytes.length + 200L;
    }
  }
}
