package io.phantoms.spark.source.export;

import io.phantoms.spark.source.wire.Bytes;

/**
 * Where datagrams end that follow each other without anything between them.
 *
 * <p>v5 and IPFIX say how long they are. The header of v9 does not: it counts records, whose lengths only templates
 * tell. But a v9 datagram is a header and then sets, each with a number and a length, and no set has the number 2 to
 * 255: so what begins with 5, 9 or 10 where a set could begin is the next datagram's header, and what begins with any
 * other such number is neither. Hence a v9 file cannot be read if its exporter puts bytes between sets that no set
 * counts, and damage to one set's length loses the rest of its datagram.
 *
 * <p>A length or count that is too large does not lose the datagrams after it: where none begins at the end that is
 * said, the first that begins before it is where the datagram ends.
 */
final class Framing {
  /** More than any UDP datagram has. */
  static final int MAX_LENGTH = 65_535;

  /** A datagram of the greatest length and the next one, to whose end and a little further the checks look. */
  static final int LOOK_AHEAD = 2 * MAX_LENGTH + 64;

  /** 1990, before which no exporter was built; asked only where one must be found again among other bytes. */
  private static final long EARLIEST_SECONDS = 631_152_000L;

  private Framing() {}

  /**
   * The length of the datagram that begins at p, cut at the end of the file; -1 if none begins there.
   *
   * @param limit the end of the file, or at least {@link #LOOK_AHEAD} bytes from p
   */
  static int length(byte[] b, int p, int limit) {
    if (limit - p < 4) {
      return -1;
    }
    int second = Bytes.u16(b, p + 2);
    switch (Bytes.u16(b, p)) {
      case 5:
        return second > V5.MAX_RECORDS ? -1
            : checked(b, p, p + DatagramHeader.V5_LENGTH, p + v5Length(second), limit);
      case 9:
        return v9Length(b, p, limit);
      case 10:
        return second < DatagramHeader.IPFIX_LENGTH ? -1 : ipfixLength(b, p, p + second, limit);
      default:
        return -1;
    }
  }

  private static int v5Length(int count) {
    return DatagramHeader.V5_LENGTH + V5.RECORD_LENGTH * count;
  }

  private static int v9Length(byte[] b, int p, int limit) {
    int q = Math.min(limit, p + DatagramHeader.V9_LENGTH);
    while (limit - q >= 4 && isSet(9, Bytes.u16(b, q)) && Bytes.u16(b, q + 2) >= 4) {
      int to = q + Bytes.u16(b, q + 2);
      if (to - p > MAX_LENGTH) {
        break;
      }
      q = to;
    }
    // Fewer bytes than a set's header has are left only where the file ends.
    return checked(b, p, p + DatagramHeader.V9_LENGTH, q <= limit && limit - q < 4 ? limit : q, limit);
  }

  /** What the header says, unless another header stands where a set should begin: then the length was wrong. */
  private static int ipfixLength(byte[] b, int p, int to, int limit) {
    int q = p + DatagramHeader.IPFIX_LENGTH;
    while (Math.min(limit, to) - q >= 4) {
      if (begins(b, q, limit)) {
        return q - p;
      }
      int set = Bytes.u16(b, q + 2);
      if (set < 4) {
        break;
      }
      q += set;
    }
    return checked(b, p, p + DatagramHeader.IPFIX_LENGTH, to, limit);
  }

  /**
   * The length of a datagram that says that it ends at {@code to}. If no other begins there, but one does before, then
   * the length was wrong, and what belongs to the other is not taken for its own.
   *
   * @param from where its header ends
   */
  private static int checked(byte[] b, int p, int from, int to, int limit) {
    if (to == limit || begins(b, to, limit)) {
      return to - p;
    }
    int end = Math.min(to, limit);
    int q = from;
    while (q < end && !begins(b, q, limit)) {
      q++;
    }
    return Math.min(q, end) - p;
  }

  /** Whether a set of this version may have this number. */
  private static boolean isSet(int version, int id) {
    return id >= 256 || id == (version == 9 ? 0 : 2) || id == (version == 9 ? 1 : 3);
  }

  /**
   * Whether a datagram begins at p and ends where the next one begins or the file ends: enough to read on from there.
   */
  static boolean begins(byte[] b, int p, int limit) {
    if (limit - p < DatagramHeader.V9_LENGTH) {
      return false;
    }
    int version = Bytes.u16(b, p);
    int second = Bytes.u16(b, p + 2);
    switch (version) {
      case 5:
        return second >= 1 && second <= V5.MAX_RECORDS && after1990(b, p + 8) && ends(b, p + v5Length(second), limit);
      case 9:
        return second >= 1 && after1990(b, p + 8) && setFollows(version, b, p + DatagramHeader.V9_LENGTH, limit);
      case 10:
        return second >= DatagramHeader.V9_LENGTH
            && after1990(b, p + 4)
            && setFollows(version, b, p + DatagramHeader.IPFIX_LENGTH, Math.min(limit, p + second))
            && ends(b, p + second, limit);
      default:
        return false;
    }
  }

  private static boolean after1990(byte[] b, int at) {
    return Bytes.u32(b, at) >= EARLIEST_SECONDS;
  }

  private static boolean setFollows(int version, byte[] b, int p, int limit) {
    if (limit - p < 4 || !isSet(version, Bytes.u16(b, p))) {
      return false;
    }
    int length = Bytes.u16(b, p + 2);
    return length >= 4 && length <= limit - p;
  }

  private static boolean ends(byte[] b, int p, int limit) {
    return p == limit || limit - p >= 2 && DatagramHeader.length(Bytes.u16(b, p)) > 0;
  }

  /** Whether a file that begins so is one of datagrams. */
  static boolean recognises(byte[] head, int n) {
    if (n < DatagramHeader.IPFIX_LENGTH) {
      return false;
    }
    int version = Bytes.u16(head, 0);
    int second = Bytes.u16(head, 2);
    int header = DatagramHeader.length(version);
    switch (version) {
      case 5:
        return n >= header && second >= 1 && second <= V5.MAX_RECORDS;
      case 9:
        return n >= header && second >= 1 && (n < header + 4 || setBegins(version, head, header));
      case 10:
        return second == header || second >= header + 4 && (n < header + 4 || setBegins(version, head, header));
      default:
        return false;
    }
  }

  private static boolean setBegins(int version, byte[] b, int p) {
    return isSet(version, Bytes.u16(b, p)) && Bytes.u16(b, p + 2) >= 4;
  }
}
