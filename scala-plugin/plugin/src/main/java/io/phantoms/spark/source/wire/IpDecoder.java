package io.phantoms.spark.source.wire;

/** Finds the headers of an IP packet. */
final class IpDecoder {
  private static final int HOP_BY_HOP = 0;
  private static final int ROUTING = 43;
  private static final int FRAGMENT = 44;
  private static final int AUTHENTICATION = 51;
  private static final int NO_NEXT_HEADER = 59;
  private static final int DESTINATION = 60;

  private static final long FRAGMENTS = 1L << Packets.FRAGMENT_OFFSET | 1L << Packets.MORE_FRAGMENTS;
  private static final long BOTH = 1L << Packets.IP_VERSION | 1L << Packets.SRCIP | 1L << Packets.DSTIP
      | 1L << Packets.TOS | 1L << Packets.TTL | 1L << Packets.IP_LENGTH;
  private static final long V4 = BOTH | 1L << Packets.PROT | 1L << Packets.IP_ID | FRAGMENTS;
  private static final long V6 = BOTH | 1L << Packets.FLOW_LABEL;

  private IpDecoder() {}

  /** An IPv4 packet that begins this many bytes into the packet. */
  static void ipv4(Packet p, int at) {
    int kept = p.captured - at;
    byte[] b = p.bytes;
    int i = p.from + at;
    if (!begins(p, at, 4)) {
      return;
    }
    if (kept >= 20) {
      p.present |= V4;
    } else {
      p.present |= V4 & (bit(Packets.IP_VERSION, true) | bit(Packets.TOS, kept >= 2)
          | bit(Packets.IP_LENGTH, kept >= 4) | bit(Packets.IP_ID, kept >= 6)
          | (kept >= 8 ? FRAGMENTS : 0) | bit(Packets.TTL, kept >= 9)
          | bit(Packets.PROT, kept >= 10) | bit(Packets.SRCIP, kept >= 16));
    }
    int onWire = p.wire - at;
    int header = (b[i] & 0xf) << 2;
    int length = kept < 4 ? 0 : Bytes.u16(b, i + 2);
    // Segmentation offload: the packet was captured before its lengths were known.
    p.ipLength = length == 0 ? onWire : length;
    if (kept >= 8) {
      int fragment = Bytes.u16(b, i + 6);
      p.fragmentOffset = (fragment & 0x1fff) << 3;
      p.moreFragments = fragment >>> 13 & 1;
    }
    if (kept >= 10) {
      p.protocol = b[i + 9] & 0xff;
    }
    if (kept < 20) {
      PacketDecoder.cut(p, at + 20, "IPv4");
      return;
    }
    if (header < 20) {
      p.malformed("an IPv4 header of " + header + " bytes");
    } else if (p.ipLength < header) {
      p.malformed("an IPv4 packet of " + p.ipLength + " bytes with a header of " + header);
    } else {
      int end = at + within(p, onWire);
      TransportDecoder.decode(p, at + header, Math.max(end, at + header));
    }
  }

  /** An IPv6 packet that begins this many bytes into the packet. */
  static void ipv6(Packet p, int at) {
    int kept = p.captured - at;
    byte[] b = p.bytes;
    int i = p.from + at;
    if (!begins(p, at, 6)) {
      return;
    }
    if (kept < 40) {
      p.present |= bit(Packets.IP_VERSION, true) | bit(Packets.TOS, kept >= 2) | bit(Packets.FLOW_LABEL, kept >= 4)
          | bit(Packets.TTL, kept >= 8) | bit(Packets.SRCIP, kept >= 24);
      if (kept >= 7) {
        length6(p, at);
        p.present |= 1L << Packets.IP_LENGTH;
      }
      PacketDecoder.cut(p, at + 40, "IPv6");
      return;
    }
    p.present |= V6;
    length6(p, at);
    chain(p, b[i + 6] & 0xff, at + 40, at + within(p, p.wire - at));
  }

  /**
   * IPv6 says the length without its header; 0 also where it is not known yet (offloading), or too large (jumbograms).
   */
  private static void length6(Packet p, int at) {
    int payload = Bytes.u16(p.bytes, p.from + at + 4);
    boolean known = payload > 0 || p.bytes[p.from + at + 6] == NO_NEXT_HEADER;
    p.ipLength = known ? 40 + payload : Math.max(40, p.wire - at);
  }

  /** Goes over IPv6's extension headers. Each one is 8 bytes at least, so that the chain ends. */
  private static void chain(Packet p, int first, int behind, int end) {
    byte[] b = p.bytes;
    int next = first;
    int at = behind;
    while (next == HOP_BY_HOP || next == ROUTING || next == FRAGMENT || next == AUTHENTICATION || next == DESTINATION) {
      if (end - at < 8) {
        p.malformed("IPv6's extension headers end in the middle: header " + next + " beyond " + p.ipLength + " bytes");
        return;
      }
      if (p.captured - at < 8) {
        p.truncated = true;
        return;
      }
      int i = p.from + at;
      int length = extensionLength(next, b[i + 1] & 0xff);
      if (length > end - at) {
        p.malformed("IPv6's extension header " + next + " of " + length + " bytes where " + (end - at) + " are left");
        return;
      }
      if (next == FRAGMENT) {
        int fragment = Bytes.u16(b, i + 2);
        p.fragmentOffset = fragment & 0xfff8;
        p.moreFragments = fragment & 1;
        p.present |= FRAGMENTS;
      }
      boolean later = next == FRAGMENT && p.fragmentOffset > 0;
      next = b[i] & 0xff;
      at += length;
      if (later) {
        break;
      }
    }
    p.protocol = next;
    p.present |= 1L << Packets.PROT;
    TransportDecoder.decode(p, at, end);
  }

  private static int extensionLength(int header, int field) {
    if (header == FRAGMENT) {
      return 8;
    }
    return header == AUTHENTICATION ? Math.max(8, (field + 2) << 2) : (field + 1) << 3;
  }

  /** Checks that there is a first byte, and that it is of this version. */
  private static boolean begins(Packet p, int at, int version) {
    if (p.captured <= at) {
      PacketDecoder.cut(p, at + 1, version == 4 ? "IPv4" : "IPv6");
      return false;
    }
    int found = p.bytes[p.from + at] >>> 4 & 0xf;
    if (found != version) {
      p.malformed("IP version " + found + " where the link layer says " + version);
      return false;
    }
    p.ipVersion = version;
    p.ipAt = at;
    p.fragmentOffset = 0;
    p.moreFragments = 0;
    return true;
  }

  /** The IP packet's length, as far as it is in the packet. */
  private static int within(Packet p, int onWire) {
    if (p.ipLength > onWire) {
      p.malformed("an IP packet of " + p.ipLength + " bytes where the packet has " + onWire);
      return onWire;
    }
    return p.ipLength;
  }

  private static long bit(int field, boolean set) {
    return set ? 1L << field : 0;
  }
}
