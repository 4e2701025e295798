package io.phantoms.spark.source.wire;

/**
 * Finds the headers of a packet: the link layer here, IP and what it carries in {@link IpDecoder}.
 *
 * <p>A packet that is not IP is a packet with the fields of its link layer. One whose headers contradict themselves or
 * its length keeps the fields that are known and says what is wrong; one that the capture cut off has no value for the
 * fields that were lost, and is {@link Packet#isTruncated} if headers were.
 */
public final class PacketDecoder {
  static final int NULL = 0;
  static final int ETHERNET = 1;
  static final int LOOP = 108;
  static final int COOKED = 113;
  static final int IPV4 = 228;
  static final int IPV6 = 229;
  static final int COOKED2 = 276;

  private static final int TYPE_IPV4 = 0x0800;
  private static final int TYPE_IPV6 = 0x86dd;
  private static final long SRC_MAC = 1L << Packets.SRC_MAC;
  private static final long DST_MAC = 1L << Packets.DST_MAC;
  private static final long VLAN = 1L << Packets.VLAN;
  private static final long INNER_VLAN = 1L << Packets.INNER_VLAN;
  private static final long ETHER_TYPE = 1L << Packets.ETHER_TYPE;

  private final boolean needed;

  /**
   * @param wanted by ordinal, the columns that will be asked for, and behind the last one whether {@link
   *     Packet#problem} will be; null or an array without that last element: everything. Where nothing behind the
   *     capture's own record is wanted, packets are not looked into, and none is found malformed.
   */
  public PacketDecoder(boolean[] wanted) {
    needed = wanted == null || wanted.length <= Packets.COUNT || anyDecoded(wanted);
  }

  private static boolean anyDecoded(boolean[] wanted) {
    for (int i = Packets.SRC_MAC; i < Packets.FILE_OFFSET; i++) {
      if (wanted[i]) {
        return true;
      }
    }
    return wanted[Packets.COUNT];
  }

  /** Whether the link layer is one that is decoded. */
  static boolean knows(int linkType) {
    switch (linkType) {
      case NULL:
      case ETHERNET:
      case 12:
      case 14:
      case 101:
      case LOOP:
      case COOKED:
      case IPV4:
      case IPV6:
      case COOKED2:
        return true;
      default:
        return false;
    }
  }

  /** Finds the headers of a packet whose record and bytes are known. */
  void decode(Packet p) {
    if (!needed) {
      return;
    }
    switch (p.linkType) {
      case ETHERNET:
        ethernet(p);
        break;
      case 12:
      case 14:
      case 101:
        raw(p, 0);
        break;
      case IPV4:
        IpDecoder.ipv4(p, 0);
        break;
      case IPV6:
        IpDecoder.ipv6(p, 0);
        break;
      case NULL:
      case LOOP:
        loopback(p);
        break;
      case COOKED:
        cooked(p);
        break;
      case COOKED2:
        cooked2(p);
        break;
      default:
        break;
    }
  }

  private static void ethernet(Packet p) {
    p.dstMacAt = 0;
    p.srcMacAt = 6;
    if (p.captured < 14) {
      p.present |= (p.captured >= 6 ? DST_MAC : 0) | (p.captured >= 12 ? SRC_MAC : 0);
      cut(p, 14, "Ethernet");
      return;
    }
    p.present |= DST_MAC | SRC_MAC;
    typed(p, Bytes.u16(p.bytes, p.from + 12), 14);
  }

  /** What an EtherType announces. */
  private static void typed(Packet p, int first, int behind) {
    int type = first;
    int at = behind;
    for (int depth = 0; type == 0x8100 || type == 0x88a8 || type == 0x9100; depth++) {
      if (p.captured - at < 4) {
        cut(p, at + 4, "VLAN");
        return;
      }
      tag(p, depth, Bytes.u16(p.bytes, p.from + at) & 0xfff);
      type = Bytes.u16(p.bytes, p.from + at + 2);
      at += 4;
    }
    if (type < 0x600) {
      // A length (IEEE 802.3). SNAP says the type behind it; other frames have none.
      if (p.captured - at < 8 || Bytes.i32(p.bytes, p.from + at) != 0xaaaa0300 || p.bytes[p.from + at + 4] != 0
          || p.bytes[p.from + at + 5] != 0) {
        return;
      }
      type = Bytes.u16(p.bytes, p.from + at + 6);
      at += 8;
    }
    p.etherType = type;
    p.present |= ETHER_TYPE;
    if (type == TYPE_IPV4) {
      IpDecoder.ipv4(p, at);
    } else if (type == TYPE_IPV6) {
      IpDecoder.ipv6(p, at);
    }
  }

  private static void tag(Packet p, int depth, int vlan) {
    if (depth == 0) {
      p.vlan = vlan;
      p.present |= VLAN;
    } else if (depth == 1) {
      p.innerVlan = vlan;
      p.present |= INNER_VLAN;
    }
  }

  /** IP without a link layer: which version it is says its first byte. */
  private static void raw(Packet p, int at) {
    if (p.captured - at < 1) {
      cut(p, at + 1, "IP");
      return;
    }
    int version = Bytes.u8(p.bytes, p.from + at) >>> 4;
    if (version == 4) {
      IpDecoder.ipv4(p, at);
    } else if (version == 6) {
      IpDecoder.ipv6(p, at);
    } else {
      p.malformed("IP version " + version);
    }
  }

  /** BSD's loopback: an address family, in the order of the machine that captured. */
  private static void loopback(Packet p) {
    if (p.captured < 4) {
      cut(p, 4, "loopback");
      return;
    }
    int family = Bytes.i32(p.bytes, p.from);
    switch (family >>> 16 == 0 ? family : Integer.reverseBytes(family)) {
      case 2:
        IpDecoder.ipv4(p, 4);
        break;
      case 10: // Linux
      case 24: // NetBSD, OpenBSD
      case 28: // FreeBSD
      case 30: // macOS
        IpDecoder.ipv6(p, 4);
        break;
      default:
        break;
    }
  }

  private static void cooked(Packet p) {
    if (p.captured < 16) {
      cut(p, 16, "Linux cooked");
      return;
    }
    if (Bytes.u16(p.bytes, p.from + 4) == 6) {
      p.srcMacAt = 6;
      p.present |= SRC_MAC;
    }
    typed(p, Bytes.u16(p.bytes, p.from + 14), 16);
  }

  private static void cooked2(Packet p) {
    if (p.captured < 20) {
      cut(p, 20, "Linux cooked");
      return;
    }
    if (Bytes.u8(p.bytes, p.from + 11) == 6) {
      p.srcMacAt = 12;
      p.present |= SRC_MAC;
    }
    typed(p, Bytes.u16(p.bytes, p.from), 20);
  }

  /** A header that the capture does not have: cut off, or the packet itself is too short. */
  static void cut(Packet p, int end, String header) {
    if (p.wire < end) {
      p.malformed("the packet's " + p.wire + " bytes end in the " + header + " header");
    } else {
      p.truncated = true;
    }
  }
}
