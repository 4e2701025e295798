package io.phantoms.spark.source.export;

import java.io.Serializable;

import io.phantoms.spark.source.wire.Bytes;

/**
 * What the header of a datagram says of all its records.
 *
 * @param exportMicros when it was sent, by the exporter's clock, in microseconds since 1970
 * @param uptimeMillis the exporter's uptime then, 32 bits that wrap around; 0 in IPFIX, which has none
 * @param sampling packets of which one was looked at (v5); 0 where nothing is said
 * @param fileOffset where in the file the datagram begins
 */
record DatagramHeader(
    Origin origin, long exportMicros, long uptimeMillis, long sequence, long sampling, long fileOffset)
    implements Serializable {

  static final int V5_LENGTH = 24;
  static final int V9_LENGTH = 20;
  static final int IPFIX_LENGTH = 16;

  /** The length of the header of this version, or 0 if it is none of ours. */
  static int length(int version) {
    switch (version) {
      case 5:
        return V5_LENGTH;
      case 9:
        return V9_LENGTH;
      case 10:
        return IPFIX_LENGTH;
      default:
        return 0;
    }
  }

  /**
   * The header of a datagram that is long enough to have one; {@code last} is the one before, whose origin is often the
   * same.
   */
  static DatagramHeader of(Datagram d, DatagramHeader last) {
    byte[] b = d.bytes();
    int p = d.from();
    int version = Bytes.u16(b, p);
    switch (version) {
      case 5:
        // Residual nanoseconds of a second and more are no time; exporters without such a clock leave anything there.
        long nanos = Bytes.u32(b, p + 12) % 1_000_000_000L;
        long micros = Bytes.u32(b, p + 8) * 1_000_000 + nanos / 1000;
        // The two upper bits are the mode.
        int interval = Bytes.u16(b, p + 22) & 0x3fff;
        Origin engine = origin(d, last, version, Bytes.u16(b, p + 20));
        return new DatagramHeader(engine, micros, Bytes.u32(b, p + 4), Bytes.u32(b, p + 16), interval, d.offset());
      case 9:
        Origin source = origin(d, last, version, Bytes.u32(b, p + 16));
        return new DatagramHeader(
            source, Bytes.u32(b, p + 8) * 1_000_000, Bytes.u32(b, p + 4), Bytes.u32(b, p + 12), 0, d.offset());
      default:
        Origin domain = origin(d, last, version, Bytes.u32(b, p + 12));
        return new DatagramHeader(domain, Bytes.u32(b, p + 4) * 1_000_000, 0, Bytes.u32(b, p + 8), 0, d.offset());
    }
  }

  private static Origin origin(Datagram d, DatagramHeader last, int version, long domain) {
    boolean same = last != null && last.origin.matches(d, version, domain);
    return same ? last.origin : Origin.of(d, version, domain);
  }
}
