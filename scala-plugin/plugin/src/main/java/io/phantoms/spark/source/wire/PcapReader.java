package io.phantoms.spark.source.wire;

import java.io.IOException;

/**
 * Packets of a pcap file, microseconds or nanoseconds, of either byte order.
 *
 * <p>A packet longer than the file's snaplen, or longer captured than it was, is read as it is, as libpcap does; one
 * longer than {@link PcapFormat#longest} is damage.
 */
public final class PcapReader extends CaptureReader {
  private static final int CHAIN = 8;
  private static final int FAR = 4 << 20;

  private final PcapFormat format;
  private final boolean little;
  private final int longest;
  private final int linkType;
  private final int fractionNanos;

  PcapReader(ByteSupply supply, PcapFormat format, long end, Policy policy, boolean[] wanted) {
    super(supply, end, policy, wanted);
    this.format = format;
    this.little = format.little();
    this.longest = format.longest();
    this.linkType = format.linkType();
    this.fractionNanos = format.nano() ? 1 : 1000;
  }

  @Override
  Step step() throws IOException {
    if (!supply.ensure(PcapFormat.RECORD)) {
      return supply.available() == 0 ? ended() : endsWithin("a packet's record");
    }
    byte[] b = supply.buffer();
    int at = supply.position();
    int captured = Bytes.i32(b, at + 8, little);
    if (captured < 0 || captured > longest) {
      return damaged("a packet of " + (captured & 0xffffffffL) + " bytes, where at most " + longest + " are possible");
    }
    int original = Bytes.i32(b, at + 12, little);
    long seconds = Bytes.i32(b, at, little) & 0xffffffffL;
    long fraction = Bytes.i32(b, at + 4, little) & 0xffffffffL;
    if (captured == 0 && original == 0 && seconds == 0 && fraction == 0) {
      return damaged("a record of zeros");
    }
    long offset = supply.offset();
    int length = PcapFormat.RECORD + captured;
    if (!supply.ensure(length)) {
      return endsWithin("a packet of " + captured + " bytes");
    }
    packet.at(supply.buffer(), supply.position() + PcapFormat.RECORD);
    packet.record(offset, seconds * 1_000_000_000L + fraction * fractionNanos, captured, original, linkType, 0);
    supply.advance(length);
    return Step.PACKET;
  }

  @Override
  int least() {
    return PcapFormat.RECORD;
  }

  @Override
  boolean leadsOn() throws IOException {
    int length = 0;
    for (int i = 0; i < CHAIN && length < FAR; i++) {
      if (!supply.ensure(length + PcapFormat.RECORD)) {
        return i > 0 && supply.available() == length;
      }
      int at = supply.position() + length;
      if (!format.plausible(supply.buffer(), at)) {
        return false;
      }
      length += PcapFormat.RECORD + format.captured(supply.buffer(), at);
    }
    return true;
  }
}
