package io.phantoms.spark.source.export;

import java.util.Arrays;

import io.phantoms.spark.source.export.Kind.Register;

/**
 * Which column an information element of IANA (or a field type of v9, which has the same numbers) fills. Where several
 * elements fill one column, the rank says which is asked first: the one that says more, or that is meant more exactly.
 */
final class ElementMap {
  private static final int SIZE = 512;
  private static final int[] KIND = new int[SIZE];
  private static final int[] COLUMN = new int[SIZE];
  private static final int[] RANK = new int[SIZE];

  static {
    Arrays.fill(KIND, Kind.OTHER);
    map(Flows.SRCADDR, Kind.ADDRESS, 8, 27);
    map(Flows.DSTADDR, Kind.ADDRESS, 12, 28);
    // The router's next hop, then BGP's.
    map(Flows.NEXTHOP, Kind.ADDRESS, 15, 62, 18, 63);
    // Interfaces as routed, then as plugged.
    map(Flows.INPUT, Kind.NUMBER, 10, 252);
    map(Flows.OUTPUT, Kind.NUMBER, 14, 253);
    // Since the last record, then since the flow's begin, then those of a connection's initiator.
    map(Flows.PACKETS, Kind.NUMBER, 2, 86, 298);
    map(Flows.OCTETS, Kind.NUMBER, 1, 85, 231);
    map(Flows.SRCPORT, Kind.NUMBER, 7, 182, 180);
    map(Flows.DSTPORT, Kind.NUMBER, 11, 183, 181);
    map(Flows.PROT, Kind.NUMBER, 4);
    map(Flows.TOS, Kind.NUMBER, 5);
    map(Flows.TCP_FLAGS, Kind.NUMBER, 6);
    map(Flows.SRC_AS, Kind.NUMBER, 16);
    map(Flows.DST_AS, Kind.NUMBER, 17);
    map(Flows.SRC_MASK, Kind.NUMBER, 9, 29);
    map(Flows.DST_MASK, Kind.NUMBER, 13, 30);
    map(Flows.SRC_NET, Kind.ADDRESS, 44, 170);
    map(Flows.DST_NET, Kind.ADDRESS, 45, 169);
    map(Flows.VLAN, Kind.NUMBER, 58, 243);
    // Not those that the packet has afterwards, 81 and 57: the flow was seen with these.
    map(Flows.SRC_MAC, Kind.MAC, 56);
    map(Flows.DST_MAC, Kind.MAC, 80);
    map(Flows.ICMP_TYPE_CODE, Kind.NUMBER, 32, 139);
    put(176, Icmp.TYPE, Kind.ICMP, 0);
    put(177, Icmp.CODE, Kind.ICMP, 0);
    put(178, Icmp.TYPE_V6, Kind.ICMP, 0);
    put(179, Icmp.CODE_V6, Kind.ICMP, 0);
    map(Flows.DIRECTION, Kind.NUMBER, 61);
    map(Flows.IP_VERSION, Kind.NUMBER, 60);
    map(Flows.FLOW_LABEL, Kind.NUMBER, 31);
    map(Flows.OUT_PACKETS, Kind.NUMBER, 24);
    map(Flows.OUT_OCTETS, Kind.NUMBER, 23);
    map(Flows.FLOW_END_REASON, Kind.NUMBER, 136);
    map(Flows.EXPORTER, Kind.ADDRESS, 130, 131);
    map(Flows.SAMPLING, Kind.NUMBER, 34, 50);
    time(Flows.FIRST, 156, 154, 152, 158, 22, 150);
    time(Flows.LAST, 157, 155, 153, 159, 21, 151);
    register(48, Register.SAMPLER);
    register(302, Register.SAMPLER);
    register(305, Register.TAKEN);
    register(306, Register.LEFT_OUT);
    register(309, Register.SIZE);
    register(310, Register.POPULATION);
    register(160, Register.INIT_MILLIS);
    KIND[210] = Kind.PADDING;
  }

  private ElementMap() {}

  private static void map(int column, int kind, int... elements) {
    for (int rank = 0; rank < elements.length; rank++) {
      put(elements[rank], column, kind, rank);
    }
  }

  /** The six forms of a time, most exact first. */
  private static void time(int column, int nanos, int micros, int millis, int delta, int uptime, int seconds) {
    put(nanos, column, Kind.NTP_NANOS, 0);
    put(micros, column, Kind.NTP_MICROS, 1);
    put(millis, column, Kind.MILLIS, 2);
    put(delta, column, Kind.BEFORE_EXPORT, 3);
    put(uptime, column, Kind.UPTIME, 4);
    put(seconds, column, Kind.SECONDS, 5);
  }

  private static void register(int element, int register) {
    put(element, register, Kind.REGISTER, 0);
  }

  private static void put(int element, int column, int kind, int rank) {
    KIND[element] = kind;
    COLUMN[element] = column;
    RANK[element] = rank;
  }

  static int kind(long enterprise, int element) {
    return enterprise == 0 && element < SIZE ? KIND[element] : Kind.OTHER;
  }

  /** The column, the register, or the part of {@link Icmp}, of an element that has one. */
  static int column(int element) {
    return COLUMN[element];
  }

  static int rank(int element) {
    return RANK[element];
  }

  /** Whether an address element is of IPv6: they come in pairs, IPv4's first. */
  static boolean isIpv6(int element) {
    return RANK[element] % 2 == 1;
  }
}
