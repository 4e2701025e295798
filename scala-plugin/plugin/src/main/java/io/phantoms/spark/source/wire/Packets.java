package io.phantoms.spark.source.wire;

import io.phantoms.spark.source.wire.RecordSchema.Field;
import java.util.List;

/** The columns of packets. */
public final class Packets {
  public static final int TIME = 0;
  public static final int TIME_NANOS = 1;
  public static final int INTERFACE = 2;
  public static final int CAPLEN = 3;
  public static final int LENGTH = 4;
  public static final int LINK_TYPE = 5;
  public static final int SRC_MAC = 6;
  public static final int DST_MAC = 7;
  public static final int VLAN = 8;
  public static final int INNER_VLAN = 9;
  public static final int ETHER_TYPE = 10;
  public static final int IP_VERSION = 11;
  public static final int SRCIP = 12;
  public static final int DSTIP = 13;
  public static final int PROT = 14;
  public static final int TOS = 15;
  public static final int TTL = 16;
  public static final int IP_LENGTH = 17;
  public static final int IP_ID = 18;
  public static final int FRAGMENT_OFFSET = 19;
  public static final int MORE_FRAGMENTS = 20;
  public static final int FLOW_LABEL = 21;
  public static final int SRCPORT = 22;
  public static final int DSTPORT = 23;
  public static final int TCP_FLAGS = 24;
  public static final int TCP_SEQ = 25;
  public static final int TCP_ACK = 26;
  public static final int TCP_WINDOW = 27;
  public static final int ICMP_TYPE = 28;
  public static final int ICMP_CODE = 29;
  public static final int PAYLOAD_LENGTH = 30;
  public static final int PAYLOAD = 31;
  public static final int FILE_OFFSET = 32;

  /** How many columns there are. */
  public static final int COUNT = 33;

  /** All columns in order. */
  public static final RecordSchema SCHEMA = new RecordSchema("packets", List.of(
      new Field("time", FieldKind.TIMESTAMP, "when the packet was captured; microseconds, rounded down"),
      new Field("time_nanos", FieldKind.LONG, "when the packet was captured; nanoseconds since 1970-01-01 UTC"),
      new Field("interface", FieldKind.INT, "number of the interface in its section of a pcapng file; 0 in pcap"),
      new Field("caplen", FieldKind.INT, "bytes of the packet that the capture kept"),
      new Field("length", FieldKind.INT, "bytes of the packet on the wire, link layer included"),
      new Field("link_type", FieldKind.INT, "the capture's link layer, a LINKTYPE_ number: 1 is Ethernet"),
      new Field("src_mac", FieldKind.BYTES, "hardware address of the sender, 6 bytes"),
      new Field("dst_mac", FieldKind.BYTES, "hardware address of the receiver, 6 bytes"),
      new Field("vlan", FieldKind.INT, "VLAN of the outermost tag"),
      new Field("inner_vlan", FieldKind.INT, "VLAN of the second tag"),
      new Field("ether_type", FieldKind.INT, "EtherType behind all VLAN tags: 2048 is IPv4, 34525 IPv6, 2054 ARP"),
      new Field("ip_version", FieldKind.INT, "4 or 6; NULL for other packets"),
      new Field("srcip", FieldKind.ADDRESS, "address of the sender"),
      new Field("dstip", FieldKind.ADDRESS, "address of the receiver"),
      new Field("prot", FieldKind.INT, "protocol above IP, behind IPv6's extension headers: 6 is TCP, 17 UDP"),
      new Field("tos", FieldKind.INT, "type of service, or IPv6's traffic class: DSCP and ECN, 8 bits"),
      new Field("ttl", FieldKind.INT, "time to live, or IPv6's hop limit"),
      new Field("ip_length", FieldKind.INT,
          "bytes of the IP packet with its header; by the length on the wire where the header says 0 (offloading)"),
      new Field("ip_id", FieldKind.INT, "IPv4's identification"),
      new Field("fragment_offset", FieldKind.INT,
          "where a fragment belongs in its packet, in bytes; NULL for IPv6 without a fragment header"),
      new Field("more_fragments", FieldKind.INT, "1 if more fragments follow, else 0; NULL like fragment_offset"),
      new Field("flow_label", FieldKind.INT, "IPv6's flow label, 20 bits"),
      new Field("srcport", FieldKind.INT, "port of the sender: TCP, UDP, UDP-Lite, SCTP; not in later fragments"),
      new Field("dstport", FieldKind.INT, "port of the receiver, likewise"),
      new Field("tcp_flags", FieldKind.INT, "CWR, ECE, URG, ACK, PSH, RST, SYN, FIN from 128 down to 1"),
      new Field("tcp_seq", FieldKind.LONG, "TCP's sequence number, unsigned"),
      new Field("tcp_ack", FieldKind.LONG, "TCP's acknowledgement number, unsigned"),
      new Field("tcp_window", FieldKind.INT, "TCP's window as sent, not scaled"),
      new Field("icmp_type", FieldKind.INT, "type of an ICMP or ICMPv6 message"),
      new Field("icmp_code", FieldKind.INT, "code of an ICMP or ICMPv6 message"),
      new Field("payload_length", FieldKind.INT,
          "bytes behind the transport header (8 bytes of ICMP) by the IP header, without Ethernet's padding"),
      new Field("payload", FieldKind.BYTES, "what the capture kept of these bytes; NULL if nothing"),
      new Field("_file_offset", FieldKind.LONG, "where the packet's record is in its file, after decompression")));

  private Packets() {}
}
