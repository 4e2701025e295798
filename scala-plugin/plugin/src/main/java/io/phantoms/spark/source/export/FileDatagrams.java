package io.phantoms.spark.source.export;

import java.io.IOException;

import io.phantoms.spark.source.wire.ByteSupply;
import io.phantoms.spark.source.wire.Bytes;
import io.phantoms.spark.source.wire.WireCounters;
import io.phantoms.spark.source.wire.WireException;

/**
 * The datagrams of a file that has nothing else: one after another, see {@link Framing}. Behind the last one of a
 * compressed file comes what kept it from being read to its end, if anything did.
 */
final class FileDatagrams implements DatagramSource {
  /** How nfdump's own files begin, in either byte order. */
  private static final int NFDUMP = 0xa50c;
  private static final int NFDUMP_SWAPPED = 0x0ca5;

  /** As many of a file's first bytes as {@link Framing#recognises} looks at. */
  private static final int HEAD = 28;

  private final ByteSupply supply;
  private final WireCounters counters;

  /** Of the datagram that the supply stands at; 0 for what is none. */
  private int length;
  private boolean begun;
  private boolean ended;
  private String problem;
  private long problemAt;

  FileDatagrams(ByteSupply supply, WireCounters counters) {
    this.supply = supply;
    this.counters = counters;
  }

  @Override
  public boolean next() throws IOException {
    advance(length);
    length = 0;
    problem = null;
    supply.ensure(Framing.LOOK_AHEAD);
    if (!begun) {
      begin();
    }
    if (supply.available() == 0) {
      return endsEarly();
    }
    int from = supply.position();
    length = Framing.length(supply.buffer(), from, from + supply.available());
    if (length < 0) {
      passOver();
    }
    return true;
  }

  private void begin() throws IOException {
    begun = true;
    byte[] head = supply.head(HEAD);
    if (head.length == 0 || Framing.recognises(head, head.length)) {
      return;
    }
    if (isOfNfdump(head, head.length)) {
      throw new WireException(supply.name(), 0, "this is nfdump's own format",
          "Export it with nfdump -o csv and read that, or read the datagrams that nfcapd received");
    }
    throw new WireException(supply.name(), 0, "no datagrams of NetFlow v5, v9 or IPFIX: the file begins with "
        + Bytes.hex(head, 0, Math.min(head.length, 8)), "Leave the file out, or check how it was written");
  }

  /** Whether a file that begins with these bytes is one of nfdump's own. */
  static boolean isOfNfdump(byte[] head, int n) {
    int magic = n < 2 ? 0 : Bytes.u16(head, 0);
    return magic == NFDUMP || magic == NFDUMP_SWAPPED;
  }

  /** Whether the end that was reached is none; told once. */
  private boolean endsEarly() {
    if (ended || supply.failure() == null) {
      return false;
    }
    ended = true;
    counters.packets++;
    counters.malformed++;
    problem = supply.failure();
    problemAt = supply.offset();
    return true;
  }

  /** Looks for the next datagram, and makes a problem of what lies before it. */
  private void passOver() throws IOException {
    problemAt = supply.offset();
    do {
      advance(1);
      supply.ensure(Framing.LOOK_AHEAD);
    } while (supply.available() > 0 && !begins());
    long passed = supply.offset() - problemAt;
    counters.unreadableBytes += passed;
    problem = passed + " bytes are no datagram of NetFlow v5, v9 or IPFIX";
    length = 0;
  }

  private boolean begins() {
    return Framing.begins(supply.buffer(), supply.position(), supply.position() + supply.available());
  }

  private void advance(int bytes) {
    supply.advance(bytes);
    counters.bytes += bytes;
  }

  @Override
  public byte[] bytes() {
    return supply.buffer();
  }

  @Override
  public int from() {
    return supply.position();
  }

  @Override
  public int length() {
    return length;
  }

  @Override
  public long offset() {
    return problem == null ? supply.offset() : problemAt;
  }

  @Override
  public String problem() {
    return problem;
  }

  @Override
  public void close() throws IOException {
    supply.close();
  }
}
