package io.phantoms.spark.source.wire;

/** Finds the transport's header and payload. */
final class TransportDecoder {
  private static final int ICMP = 1;
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final int ICMP6 = 58;
  private static final int ROUTER_SOLICITATION = 152;
  private static final int ROUTER_TERMINATION = 153;
  private static final int SCTP = 132;
  private static final int UDP_LITE = 136;

  private static final long PORTS = 1L << Packets.SRCPORT | 1L << Packets.DSTPORT;
  private static final long TCP_FIELDS = PORTS | 1L << Packets.TCP_FLAGS | 1L << Packets.TCP_SEQ
      | 1L << Packets.TCP_ACK | 1L << Packets.TCP_WINDOW;
  private static final long ICMP_FIELDS = 1L << Packets.ICMP_TYPE | 1L << Packets.ICMP_CODE;
  private static final long PAYLOAD_LENGTH = 1L << Packets.PAYLOAD_LENGTH;
  private static final long PAYLOAD = 1L << Packets.PAYLOAD;

  private TransportDecoder() {}

  /**
   * @param at where the transport's header begins
   * @param end where the IP packet ends, by its own header
   */
  static void decode(Packet p, int at, int end) {
    p.transportAt = at;
    if (p.fragmentOffset > 0) {
      payload(p, at, end);
      return;
    }
    switch (p.protocol) {
      case TCP:
        tcp(p, at, end);
        break;
      case UDP:
      case UDP_LITE:
        if (has(p, at, end, 8, PORTS, "UDP")) {
          datagramLength(p, at, end);
          payload(p, at + 8, end);
        }
        break;
      case SCTP:
        if (has(p, at, end, 12, PORTS, "SCTP")) {
          payload(p, at + 12, end);
        }
        break;
      case ICMP:
      case ICMP6:
        int header = icmpHeader(p, at);
        if (has(p, at, end, header, ICMP_FIELDS, "ICMP")) {
          payload(p, at + header, end);
        }
        break;
      default:
        payload(p, at, end);
        break;
    }
  }

  /** Two messages of multicast router discovery (RFC 4286) have no more than type, code and checksum. */
  private static int icmpHeader(Packet p, int at) {
    int type = p.protocol == ICMP6 && at < p.captured ? Bytes.u8(p.bytes, p.from + at) : 0;
    return type == ROUTER_SOLICITATION || type == ROUTER_TERMINATION ? 4 : 8;
  }

  private static void tcp(Packet p, int at, int end) {
    if (!has(p, at, end, 20, TCP_FIELDS, "TCP")) {
      return;
    }
    int header = (p.bytes[p.from + at + 12] & 0xf0) >>> 2;
    if (header < 20 || header > end - at && p.moreFragments == 0) {
      p.malformed("a TCP header of " + header + " bytes in a segment of " + (end - at));
    } else {
      payload(p, at + header, Math.max(at + header, end));
    }
  }

  /** UDP's own length agrees with IP's, or is 0 where it is not known yet; UDP-Lite has a checksum's coverage there. */
  private static void datagramLength(Packet p, int at, int end) {
    int length = Bytes.u16(p.bytes, p.from + at + 4);
    if (p.protocol == UDP && length != 0 && (length < 8 || length > end - at && p.moreFragments == 0)) {
      p.malformed("a UDP datagram of " + length + " bytes where IP has " + (end - at));
    }
  }

  /** Whether the header is there; else says which of its fields are, and why the others are not. */
  private static boolean has(Packet p, int at, int end, int length, long fields, String name) {
    int kept = Math.min(p.captured, end) - at;
    if (kept >= length) {
      p.present |= fields;
      return true;
    }
    p.present |= fields & fieldsOf(kept);
    if (end - at >= length) {
      p.truncated = true;
      if (!name.equals("TCP")) {
        p.payloadLength = end - at - length;
        p.present |= PAYLOAD_LENGTH;
      }
    } else if (p.moreFragments == 0) {
      p.malformed("the IP packet's " + p.ipLength + " bytes end in the " + name + " header");
    }
    return false;
  }

  /** The fields that lie in the first so many bytes of a transport's header. */
  private static long fieldsOf(int kept) {
    return (kept >= 1 ? 1L << Packets.ICMP_TYPE : 0) | (kept >= 2 ? 1L << Packets.ICMP_CODE : 0)
        | (kept >= 2 ? 1L << Packets.SRCPORT : 0) | (kept >= 4 ? 1L << Packets.DSTPORT : 0)
        | (kept >= 8 ? 1L << Packets.TCP_SEQ : 0) | (kept >= 12 ? 1L << Packets.TCP_ACK : 0)
        | (kept >= 14 ? 1L << Packets.TCP_FLAGS : 0) | (kept >= 16 ? 1L << Packets.TCP_WINDOW : 0);
  }

  private static void payload(Packet p, int at, int end) {
    int length = end - at;
    p.payloadAt = at;
    p.payloadLength = length;
    p.payloadCaptured = Math.min(p.captured, end) - at;
    p.present |= p.payloadCaptured > 0 || p.payloadCaptured == length ? PAYLOAD_LENGTH | PAYLOAD : PAYLOAD_LENGTH;
  }
}
