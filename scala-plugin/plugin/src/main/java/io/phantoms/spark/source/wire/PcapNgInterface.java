package io.phantoms.spark.source.wire;

/**
 * What an interface description block says.
 *
 * @param linkType the link layer, or -1 if the block does not make sense or was not seen
 * @param snaplen the most bytes kept of a packet, or 0 for no bound
 * @param resolution the option if_tsresol: a power of 10, or with the top bit set one of 2
 * @param offset the option if_tsoffset: seconds to add
 */
record PcapNgInterface(int linkType, int snaplen, int resolution, long offset) {
  /** No time that nanoseconds since 1970 can say. */
  static final long NO_TIME = Long.MIN_VALUE;

  /** One of which nothing is known. */
  static final PcapNgInterface UNKNOWN = new PcapNgInterface(-1, 0, 6, 0);

  private static final long BILLION = 1_000_000_000L;

  /** Reads the block of this many bytes at this place. */
  static PcapNgInterface read(byte[] b, int at, int total, boolean little) {
    if (total < 20) {
      return UNKNOWN;
    }
    int linkType = Bytes.u16(b, at + 8, little);
    int snaplen = Bytes.i32(b, at + 12, little);
    int resolution = 6;
    long offset = 0;
    int end = at + total - 4;
    int option = at + 16;
    while (option + 4 <= end) {
      int code = Bytes.u16(b, option, little);
      int length = Bytes.u16(b, option + 2, little);
      int value = option + 4;
      if (code == 0 || value + length > end) {
        break;
      }
      if (code == 9 && length == 1) {
        resolution = b[value] & 0xff;
      } else if (code == 14 && length == 8) {
        int high = Bytes.i32(b, little ? value + 4 : value, little);
        int low = Bytes.i32(b, little ? value : value + 4, little);
        offset = (long) high << 32 | low & 0xffffffffL;
      }
      option = value + (length + 3 & ~3);
    }
    return new PcapNgInterface(linkType, snaplen, resolution, offset);
  }

  /** Nanoseconds since 1970 of an unsigned time in this interface's units, or {@link #NO_TIME}. */
  long nanos(long time) {
    if (resolution == 6 && offset == 0 && time >= 0 && time < Long.MAX_VALUE / 1000) {
      return time * 1000;
    }
    long nanos = resolution < 0x80 ? decimal(time, resolution) : binary(time, resolution & 0x7f);
    if (nanos < 0 || Math.abs(offset) > Long.MAX_VALUE / BILLION || offset == Long.MIN_VALUE) {
      return NO_TIME;
    }
    long shift = offset * BILLION;
    return shift > Long.MAX_VALUE - nanos ? NO_TIME : nanos + shift;
  }

  private static long decimal(long time, int digits) {
    if (digits >= 9) {
      return digits - 9 > 18 ? 0 : Long.divideUnsigned(time, power(digits - 9));
    }
    long factor = power(9 - digits);
    return time < 0 || time > Long.MAX_VALUE / factor ? -1 : time * factor;
  }

  private static long power(int digits) {
    long power = 1;
    for (int i = 0; i < digits; i++) {
      power *= 10;
    }
    return power;
  }

  /** {@code time * 10^9 / 2^bits}, in 128 bits. */
  private static long binary(long time, int bits) {
    long high = Math.multiplyHigh(time, BILLION) + (time < 0 ? BILLION : 0);
    long low = time * BILLION;
    if (bits >= 64) {
      return high >>> bits - 64;
    }
    if (bits == 0) {
      return high != 0 ? -1 : low;
    }
    return high >>> bits != 0 ? -1 : high << 64 - bits | low >>> bits;
  }
}
