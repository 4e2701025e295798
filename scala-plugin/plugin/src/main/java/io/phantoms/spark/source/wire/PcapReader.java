package io.phantoms.spark.source.wire;

import java.io.IOException;

/**
 * Packets of a pcap file, microseconds or nanoseconds, of either byte order.
 *
 * <p>A packet longer than the file's snaplen is read as it is, as libpcap does, and so is one longer captured than it
 * was, if a record follows; one longer than {@link PcapFormat#longest} is damage.
 *
 * <p>Where files were put one behind the other, the headers of those behind are gone over if they say the same as the
 * first. If not, the file can be read up to there; a part that begins far behind such a header does not know of it, and
 * reads on as the first header says where the records look the same.
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
      return damaged("a packet of " + (captured & 0xffffffffL) + " bytes, where at most " + longest + " are possible",
          end(Bytes.i32(b, at + 12, little)));
    }
    int original = Bytes.i32(b, at + 12, little);
    long seconds = Bytes.i32(b, at, little) & 0xffffffffL;
    long fraction = Bytes.i32(b, at + 4, little) & 0xffffffffL;
    if (captured == 0 && original == 0) {
      if (PcapFormat.headerAt(b, at)) {
        return anotherHeader();
      }
      if (seconds == 0 && fraction == 0) {
        return damaged("a record of zeros");
      }
    }
    long offset = supply.offset();
    int length = PcapFormat.RECORD + captured;
    if (original >= 0 && captured > original && !follows(length)) {
      return damaged("a packet of " + original + " bytes of which " + captured + " were captured, and no record behind "
          + "them", end(original));
    }
    if (!supply.ensure(length)) {
      return endsWithin("a packet of " + captured + " bytes");
    }
    packet.at(supply.buffer(), supply.position() + PcapFormat.RECORD);
    packet.record(offset, seconds * 1_000_000_000L + fraction * fractionNanos, captured, original, linkType, 0);
    supply.advance(length);
    return Step.PACKET;
  }

  private Step anotherHeader() throws IOException {
    if (!supply.ensure(PcapFormat.HEADER)) {
      return endsWithin("the header of another capture");
    }
    PcapFormat other = PcapFormat.read(supply.buffer(), supply.position(), false);
    if (other.little() != little || other.nano() != format.nano() || other.linkType() != linkType) {
      return unreadable("the header of another capture, with link type " + other.linkType()
          + " or times or byte order unlike this one's");
    }
    supply.advance(PcapFormat.HEADER);
    return Step.OTHER;
  }

  /** Whether a record is so many bytes ahead, or another header, or the end of the file. */
  private boolean follows(int ahead) throws IOException {
    if (!supply.ensure(ahead + PcapFormat.RECORD)) {
      return supply.available() == ahead;
    }
    int at = supply.position() + ahead;
    return format.follows(supply.buffer(), at) || PcapFormat.headerAt(supply.buffer(), at);
  }

  /** Where a packet ends of which all bytes were captured; -1 if it cannot be so long. */
  private int end(int original) {
    return original < 0 || original > longest ? -1 : PcapFormat.RECORD + original;
  }

  /** Goes on where all chains agree on; for packets that may be longer than a window, where one chain leads on. */
  @Override
  void search() throws IOException {
    if (longest > PcapFormat.LONGEST) {
      super.search();
      return;
    }
    int met = PcapStart.meeting(supply, format, 1);
    while (met < 0 && supply.available() > PcapStart.STEP) {
      supply.advance(PcapStart.STEP);
      met = PcapStart.meeting(supply, format, 0);
    }
    if (met < 0) {
      supply.skipAll();
    } else {
      supply.advance(met);
    }
  }

  @Override
  boolean leadsOn(int ahead) throws IOException {
    int length = ahead;
    for (int i = 0; i < CHAIN && length < ahead + FAR; i++) {
      if (!supply.ensure(length + PcapFormat.RECORD)) {
        return (i > 0 || ahead > 0) && supply.available() == length;
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
