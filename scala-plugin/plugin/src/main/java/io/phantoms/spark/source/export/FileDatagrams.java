package io.phantoms.spark.source.export;

import java.io.IOException;
import java.io.InputStream;

import io.phantoms.spark.source.wire.Bytes;
import io.phantoms.spark.source.wire.WireCounters;
import io.phantoms.spark.source.wire.WireException;

/** The datagrams of a file that has nothing else: one after another, see {@link Framing}. */
final class FileDatagrams implements DatagramSource {
  private static final int BUFFER = 1 << 19;

  /** How nfdump's own files begin, in either byte order. */
  private static final int NFDUMP = 0xa50c;
  private static final int NFDUMP_SWAPPED = 0x0ca5;

  private final String name;
  private final InputStream in;
  private final WireCounters counters;
  private final byte[] buffer = new byte[BUFFER];

  /** What is read of the file: up to {@code limit}; the datagram, or what is none, from {@code from}. */
  private int from;
  private int length;
  private int limit;
  private boolean ended;
  private boolean begun;
  private long offset;
  private long gap;
  private String problem;

  FileDatagrams(String name, InputStream in, WireCounters counters) {
    this.name = name;
    this.in = in;
    this.counters = counters;
  }

  @Override
  public boolean next() throws IOException {
    advance(length);
    problem = null;
    fill();
    if (!begun) {
      begin();
    }
    if (from == limit) {
      return false;
    }
    length = Framing.length(buffer, from, limit);
    if (length < 0) {
      passOver();
    }
    return true;
  }

  private void begin() throws WireException {
    begun = true;
    if (limit == 0 || Framing.recognises(buffer, limit)) {
      return;
    }
    if (isOfNfdump(buffer, limit)) {
      throw new WireException(name, 0, "this is nfdump's own format",
          "Export it with nfdump -o csv and read that, or read the datagrams that nfcapd received");
    }
    throw new WireException(name, 0, "no datagrams of NetFlow v5, v9 or IPFIX: the file begins with "
        + Bytes.hex(buffer, 0, Math.min(limit, 8)), "Leave the file out, or check how it was written");
  }

  /** Whether a file that begins with these bytes is one of nfdump's own. */
  static boolean isOfNfdump(byte[] head, int n) {
    int magic = n < 2 ? 0 : Bytes.u16(head, 0);
    return magic == NFDUMP || magic == NFDUMP_SWAPPED;
  }

  /** Looks for the next datagram, and makes a problem of what lies before it. */
  private void passOver() throws IOException {
    gap = offset;
    do {
      advance(1);
      fill();
    } while (from < limit && !Framing.begins(buffer, from, limit));
    long passed = offset - gap;
    counters.unreadableBytes += passed;
    problem = passed + " bytes are no datagram of NetFlow v5, v9 or IPFIX";
    length = 0;
  }

  private void advance(int bytes) {
    from += bytes;
    offset += bytes;
    counters.bytes += bytes;
  }

  /** Sees to it that as much of the file is there as {@link Framing} looks at. */
  private void fill() throws IOException {
    if (ended || limit - from >= Framing.LOOK_AHEAD) {
      return;
    }
    System.arraycopy(buffer, from, buffer, 0, limit - from);
    limit -= from;
    from = 0;
    while (limit < buffer.length) {
      int n = in.read(buffer, limit, buffer.length - limit);
      if (n < 0) {
        ended = true;
        return;
      }
      limit += n;
    }
  }

  @Override
  public byte[] bytes() {
    return buffer;
  }

  @Override
  public int from() {
    return from;
  }

  @Override
  public int length() {
    return length;
  }

  @Override
  public long offset() {
    return problem == null ? offset : gap;
  }

  @Override
  public String problem() {
    return problem;
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
