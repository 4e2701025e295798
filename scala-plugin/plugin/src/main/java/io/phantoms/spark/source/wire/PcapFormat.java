package io.phantoms.spark.source.wire;

/**
 * What the 24 bytes at the beginning of a pcap file say, and the time of its first packet, by which others are told
 * from bytes that only look like a record.
 *
 * @param little whether numbers are in little-endian order
 * @param nano whether times are in nanoseconds, not microseconds
 * @param linkType the link layer
 * @param firstSeconds the first packet's time, or -1 if its record is no sensible one or from a clock that was not set
 */
record PcapFormat(boolean little, boolean nano, int linkType, long firstSeconds) {
  static final int HEADER = 24;
  static final int RECORD = 16;

  /** The longest packet of a link layer that is decoded; libpcap has the same bound. */
  static final int LONGEST = 256 << 10;

  /** The longest packet of other link layers (USB, for one). */
  static final int LONGEST_OTHER = 16 << 20;

  private static final int MICRO_MAGIC = 0xa1b2c3d4;
  private static final int NANO_MAGIC = 0xa1b23c4d;
  private static final long SANE_SECONDS = 20L * 366 * 86400;

  /** 1990, before which nobody captured: a device that does not know the time counts from 1970 or says 0. */
  private static final long CLOCK_SET = 631_152_000L;

  /** Whether these are the first four bytes of a pcap file. */
  static boolean starts(int first) {
    int reversed = Integer.reverseBytes(first);
    return first == MICRO_MAGIC || first == NANO_MAGIC || reversed == MICRO_MAGIC || reversed == NANO_MAGIC;
  }

  /**
   * Whether the 16 bytes at the place of a record begin a file's header instead: magic, version 2.4, time zone and
   * accuracy 0. As a record it would have no byte of a packet that had none.
   */
  static boolean headerAt(byte[] b, int at) {
    int version = Bytes.i32(b, at + 4);
    return starts(Bytes.i32(b, at)) && (version == 0x00020004 || version == 0x02000400)
        && Bytes.i32(b, at + 8) == 0 && Bytes.i32(b, at + 12) == 0;
  }

  /** Reads the header at some place of an array, and the record behind it if it is there. */
  static PcapFormat read(byte[] b, int at, boolean withRecord) {
    int first = Bytes.i32(b, at);
    boolean little = first != MICRO_MAGIC && first != NANO_MAGIC;
    boolean nano = (little ? Integer.reverseBytes(first) : first) == NANO_MAGIC;
    // The upper bits tell of frame check sequences.
    int link = Bytes.i32(b, at + 20, little) & 0x03ffffff;
    PcapFormat format = new PcapFormat(little, nano, link, -1);
    if (!withRecord || !format.plausible(b, at + HEADER)) {
      return format;
    }
    long seconds = Bytes.i32(b, at + HEADER, little) & 0xffffffffL;
    return new PcapFormat(little, nano, link, seconds < CLOCK_SET ? -1 : seconds);
  }

  int longest() {
    return PacketDecoder.knows(linkType) ? LONGEST : LONGEST_OTHER;
  }

  /** Bytes of the packet whose record is at this place, as a number that may be negative or far too large. */
  int captured(byte[] b, int at) {
    return Bytes.i32(b, at + 8, little);
  }

  /**
   * Whether the bytes at this place look like a record: some bytes captured, no more than there were, a sensible
   * fraction of a second, a time within twenty years of the first packet's. In bytes of chance one place in 2^38 does.
   */
  boolean plausible(byte[] b, int at) {
    int original = Bytes.i32(b, at + 12, little);
    int captured = captured(b, at);
    return captured > 0 && original >= captured && original <= 1 << 28 && possible(b, at);
  }

  /** Whether a record may be here, though perhaps one of which more bytes were captured than there were, or none. */
  boolean follows(byte[] b, int at) {
    return possible(b, at) && (captured(b, at) > 0 || Bytes.i32(b, at + 12, little) > 0);
  }

  private boolean possible(byte[] b, int at) {
    int captured = captured(b, at);
    int fraction = Bytes.i32(b, at + 4, little);
    if (captured < 0 || captured > longest() || fraction < 0 || fraction >= (nano ? 1_000_000_000 : 1_000_000)) {
      return false;
    }
    long seconds = Bytes.i32(b, at, little) & 0xffffffffL;
    return firstSeconds < 0 || Math.abs(seconds - firstSeconds) <= SANE_SECONDS;
  }
}
