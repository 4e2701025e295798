package io.phantoms.spark.source.wire;

import java.util.Arrays;
import java.util.Map;

/**
 * A packet of a capture, used again for the next one. It keeps where the headers are, and reads a field when it is
 * asked for; offsets of headers count from the packet's first byte.
 */
public final class Packet implements WireRecord {
  static final long NO_TIME = ~(1L << Packets.TIME | 1L << Packets.TIME_NANOS);
  private static final long RECORD = 1L << Packets.TIME | 1L << Packets.TIME_NANOS | 1L << Packets.INTERFACE
      | 1L << Packets.CAPLEN | 1L << Packets.LENGTH | 1L << Packets.LINK_TYPE | 1L << Packets.FILE_OFFSET;

  byte[] bytes;
  int from;
  int captured;

  /** Bytes on the wire; never fewer than {@link #captured}. */
  int wire;

  int linkType;
  int dstMacAt;
  int srcMacAt;
  int vlan;
  int innerVlan;
  int etherType;
  int ipVersion;
  int ipAt;
  int ipLength;
  int protocol;
  int fragmentOffset;
  int moreFragments;
  int transportAt;
  int payloadAt;
  int payloadLength;

  /** How many bytes of the payload were captured; negative if not even its place was. */
  int payloadCaptured;

  /** Bits of the fields that have a value. */
  long present;

  boolean truncated;
  String problem;

  private long nanos;
  private int original;
  private int interfaceId;
  private long offset;

  Packet() {}

  /** Begins with a new packet, of which nothing is known but its record. */
  void record(long offset, long nanos, int captured, int original, int linkType, int interfaceId) {
    this.offset = offset;
    this.nanos = nanos;
    this.captured = captured;
    this.original = original;
    this.wire = Math.max(captured, original);
    this.linkType = linkType;
    this.interfaceId = interfaceId;
    this.present = RECORD;
    this.truncated = false;
    this.problem = null;
    this.payloadCaptured = 0;
    if (original < 0) {
      present &= ~(1L << Packets.LENGTH);
      problem = "a packet of " + (original & 0xffffffffL) + " bytes on the wire";
    }
  }

  /** Says when it was, where the record's numbers alone do not. */
  void time(long nanos) {
    this.nanos = nanos;
  }

  /** Where the packet's bytes are. */
  void at(byte[] bytes, int from) {
    this.bytes = bytes;
    this.from = from;
  }

  /** Begins with a place of the file that no packet can be made of. */
  void damage(long offset, String what) {
    this.offset = offset;
    this.captured = 0;
    this.present = 1L << Packets.FILE_OFFSET;
    this.truncated = false;
    this.problem = what;
    this.payloadCaptured = 0;
  }

  /** Keeps what is wrong first. */
  void malformed(String what) {
    if (problem == null) {
      problem = what;
    }
  }

  /** Nanoseconds since 1970-01-01 UTC. */
  public long timestampNanos() {
    return nanos;
  }

  public int capturedLength() {
    return captured;
  }

  public int originalLength() {
    return original;
  }

  public int linkType() {
    return linkType;
  }

  public int interfaceId() {
    return interfaceId;
  }

  /** Where in the file, after decompression, the packet's record begins. */
  public long offset() {
    return offset;
  }

  /** The array that holds the packet until the next one is asked for. */
  public byte[] array() {
    return bytes;
  }

  /** Where in {@link #array} the packet begins. */
  public int from() {
    return from;
  }

  /** Where in {@link #array} the transport's payload begins. */
  public int payloadFrom() {
    return from + payloadAt;
  }

  /** How many bytes of the payload were captured; 0 if it has none. */
  public int payloadCaptured() {
    return (present >>> Packets.PAYLOAD & 1) == 0 ? 0 : payloadCaptured;
  }

  /** Whether the capture kept too little of the packet for all of its headers. */
  public boolean isTruncated() {
    return truncated;
  }

  @Override
  public boolean isNull(int field) {
    return (present >>> field & 1) == 0;
  }

  @Override
  public long number(int field) {
    if ((present >>> field & 1) == 0) {
      return 0;
    }
    switch (field) {
      case Packets.TIME:
        return Math.floorDiv(nanos, 1000L);
      case Packets.TIME_NANOS:
        return nanos;
      case Packets.INTERFACE:
        return interfaceId;
      case Packets.CAPLEN:
        return captured;
      case Packets.LENGTH:
        return original;
      case Packets.LINK_TYPE:
        return linkType;
      case Packets.VLAN:
        return vlan;
      case Packets.INNER_VLAN:
        return innerVlan;
      case Packets.ETHER_TYPE:
        return etherType;
      case Packets.IP_VERSION:
        return ipVersion;
      case Packets.PROT:
        return protocol;
      case Packets.FILE_OFFSET:
        return offset;
      case Packets.PAYLOAD_LENGTH:
        return payloadLength;
      case Packets.SRCIP:
      case Packets.DSTIP:
        return addressLow(field);
      default:
        return field < Packets.SRCPORT ? ofIp(field) : ofTransport(field);
    }
  }

  private long ofIp(int field) {
    int at = from + ipAt;
    switch (field) {
      case Packets.TOS:
        return ipVersion == 4 ? Bytes.u8(bytes, at + 1) : Bytes.u16(bytes, at) >>> 4 & 0xff;
      case Packets.TTL:
        return Bytes.u8(bytes, ipVersion == 4 ? at + 8 : at + 7);
      case Packets.IP_LENGTH:
        return ipLength;
      case Packets.IP_ID:
        return Bytes.u16(bytes, at + 4);
      case Packets.FRAGMENT_OFFSET:
        return fragmentOffset;
      case Packets.MORE_FRAGMENTS:
        return moreFragments;
      case Packets.FLOW_LABEL:
        return Bytes.i32(bytes, at) & 0xfffff;
      default:
        return 0;
    }
  }

  private long ofTransport(int field) {
    int at = from + transportAt;
    switch (field) {
      case Packets.SRCPORT:
        return Bytes.u16(bytes, at);
      case Packets.DSTPORT:
        return Bytes.u16(bytes, at + 2);
      case Packets.TCP_FLAGS:
        return Bytes.u8(bytes, at + 13);
      case Packets.TCP_SEQ:
        return Bytes.u32(bytes, at + 4);
      case Packets.TCP_ACK:
        return Bytes.u32(bytes, at + 8);
      case Packets.TCP_WINDOW:
        return Bytes.u16(bytes, at + 14);
      case Packets.ICMP_TYPE:
        return Bytes.u8(bytes, at);
      case Packets.ICMP_CODE:
        return Bytes.u8(bytes, at + 1);
      default:
        return 0;
    }
  }

  @Override
  public byte[] bytes(int field) {
    if ((present >>> field & 1) == 0) {
      return null;
    }
    switch (field) {
      case Packets.SRC_MAC:
        return copy(srcMacAt, 6);
      case Packets.DST_MAC:
        return copy(dstMacAt, 6);
      case Packets.SRCIP:
      case Packets.DSTIP:
        return copy(addressAt(field), addressLength(field));
      case Packets.PAYLOAD:
        return copy(payloadAt, payloadCaptured);
      default:
        return null;
    }
  }

  private byte[] copy(int at, int length) {
    return Arrays.copyOfRange(bytes, from + at, from + at + length);
  }

  private int addressAt(int field) {
    if (ipVersion == 4) {
      return field == Packets.SRCIP ? ipAt + 12 : ipAt + 16;
    }
    return field == Packets.SRCIP ? ipAt + 8 : ipAt + 24;
  }

  @Override
  public int addressLength(int field) {
    if ((present >>> field & 1) == 0) {
      return 0;
    }
    return ipVersion == 4 ? 4 : 16;
  }

  @Override
  public long addressHigh(int field) {
    if ((present >>> field & 1) == 0 || ipVersion == 4) {
      return 0;
    }
    return Bytes.i64(bytes, from + addressAt(field));
  }

  @Override
  public long addressLow(int field) {
    if ((present >>> field & 1) == 0) {
      return 0;
    }
    int at = from + addressAt(field);
    return ipVersion == 4 ? Bytes.u32(bytes, at) : Bytes.i64(bytes, at + 8);
  }

  @Override
  public Map<String, byte[]> map(int field) {
    return null;
  }

  @Override
  public String problem() {
    return problem;
  }
}
