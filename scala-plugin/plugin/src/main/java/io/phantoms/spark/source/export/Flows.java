package io.phantoms.spark.source.export;

import static io.phantoms.spark.source.wire.FieldKind.ADDRESS;
import static io.phantoms.spark.source.wire.FieldKind.BYTES;
import static io.phantoms.spark.source.wire.FieldKind.INT;
import static io.phantoms.spark.source.wire.FieldKind.LONG;
import static io.phantoms.spark.source.wire.FieldKind.MAP;
import static io.phantoms.spark.source.wire.FieldKind.TIMESTAMP;

import java.util.List;

import io.phantoms.spark.source.wire.FieldKind;
import io.phantoms.spark.source.wire.RecordSchema;

/**
 * The columns of flow records, whichever protocol carried them. A record has NULL where its template has no such field.
 * A value that does not fit its column (a counter of 2^63 and more, a field of an unusual length) is NULL there, and
 * its bytes are in {@code other}: nothing is cut off or wraps around.
 */
public final class Flows {
  public static final int SRCADDR = 0;
  public static final int DSTADDR = 1;
  public static final int NEXTHOP = 2;
  public static final int INPUT = 3;
  public static final int OUTPUT = 4;
  public static final int PACKETS = 5;
  public static final int OCTETS = 6;
  public static final int FIRST = 7;
  public static final int LAST = 8;
  public static final int SRCPORT = 9;
  public static final int DSTPORT = 10;
  public static final int PROT = 11;
  public static final int TOS = 12;
  public static final int TCP_FLAGS = 13;
  public static final int SRC_AS = 14;
  public static final int DST_AS = 15;
  public static final int SRC_MASK = 16;
  public static final int DST_MASK = 17;
  public static final int SRC_NET = 18;
  public static final int DST_NET = 19;
  public static final int VLAN = 20;
  public static final int SRC_MAC = 21;
  public static final int DST_MAC = 22;
  public static final int ICMP_TYPE_CODE = 23;
  public static final int DIRECTION = 24;
  public static final int IP_VERSION = 25;
  public static final int FLOW_LABEL = 26;
  public static final int OUT_PACKETS = 27;
  public static final int OUT_OCTETS = 28;
  public static final int FLOW_END_REASON = 29;
  public static final int EXPORTER = 30;
  public static final int EXPORT_TIME = 31;
  public static final int VERSION = 32;
  public static final int DOMAIN = 33;
  public static final int TEMPLATE = 34;
  public static final int SEQUENCE = 35;
  public static final int SAMPLING = 36;
  public static final int OTHER = 37;
  public static final int FILE_OFFSET = 38;

  /** How many columns there are. */
  public static final int COUNT = 39;

  public static final RecordSchema SCHEMA =
      new RecordSchema(
          "flows",
          List.of(
              field("srcaddr", ADDRESS, "source address"),
              field("dstaddr", ADDRESS, "destination address"),
              field("nexthop", ADDRESS, "address of the next router (of BGP's, where the record names only that)"),
              field("input", LONG, "number (ifIndex) of the interface on which the flow came in"),
              field("output", LONG, "number (ifIndex) of the interface on which the flow went out"),
              field("packets", LONG, "packets as exported: not multiplied by the sampling interval"),
              field("octets", LONG, "bytes of these packets, as exported: not multiplied by the sampling interval"),
              field("first", TIMESTAMP, "when the first packet of the flow was seen"),
              field("last", TIMESTAMP, "when the last packet of the flow was seen"),
              field("srcport", INT, "source port of TCP, UDP or SCTP"),
              field("dstport", INT, "destination port; of ICMP in v5: 256 * type + code"),
              field("prot", INT, "number of the IP protocol: 6 is TCP, 17 UDP, 1 ICMP"),
              field("tos", INT, "type of service (traffic class) byte of the IP header"),
              field("tcp_flags", INT, "flags of all TCP packets of the flow, or-ed"),
              field("src_as", LONG, "number of the source's autonomous system"),
              field("dst_as", LONG, "number of the destination's autonomous system"),
              field("src_mask", INT, "length of the source's network prefix in bits"),
              field("dst_mask", INT, "length of the destination's network prefix in bits"),
              field("src_net", ADDRESS, "source network: srcaddr under src_mask"),
              field("dst_net", ADDRESS, "destination network: dstaddr under dst_mask"),
              field("vlan", INT, "VLAN of the packets that came in"),
              field("src_mac", BYTES, "source MAC address, 6 bytes"),
              field("dst_mac", BYTES, "destination MAC address, 6 bytes"),
              field("icmp_type_code", INT, "256 * type + code of ICMP or ICMPv6"),
              field("direction", INT, "0: seen coming in, 1: seen going out"),
              field("ip_version", INT, "4 or 6"),
              field("flow_label", INT, "flow label of the IPv6 header"),
              field("out_packets", LONG, "packets that went out (postPacketDeltaCount), as exported"),
              field("out_octets", LONG, "bytes that went out (postOctetDeltaCount), as exported"),
              field("flow_end_reason", INT, "1 idle, 2 active timeout, 3 end of flow seen, 4 forced, 5 no room"),
              field("exporter", ADDRESS, "who sent the packet that carried the record, else what the record says"),
              field("export_time", TIMESTAMP, "when the record was exported, by the exporter's clock"),
              field("version", INT, "5, 9 or 10 (IPFIX)"),
              field("domain", LONG, "observation domain; source ID of v9; 256 * engine type + engine ID of v5"),
              field("template", INT, "number of the template that describes the record; none in v5"),
              field("sequence", LONG, "sequence number of the datagram that carried the record"),
              field("sampling", LONG, "one packet out of this many was looked at; NULL if nothing was said about it"),
              field("other", MAP, "fields that have no column: name of the information element, or ie<number>, or "
                  + "ie<enterprise>.<number>, and the bytes as they were sent"),
              field("_file_offset", LONG, "where in the file the datagram begins, in bytes after decompression")));

  private Flows() {}

  private static RecordSchema.Field field(String name, FieldKind kind, String comment) {
    return new RecordSchema.Field(name, kind, comment);
  }
}
