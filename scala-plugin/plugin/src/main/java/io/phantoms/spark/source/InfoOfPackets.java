package io.phantoms.spark.source;

import io.phantoms.spark.source.wire.Packets;
import io.phantoms.spark.source.wire.WireRecord;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Packets added up by interface and link layer. */
final class InfoOfPackets {
  private final Map<Long, Interface> interfaces = new TreeMap<>();

  private static final class Interface {
    private final long number;
    private final long linkType;
    private final Span span = new Span();
    private final Map<Long, Long> etherTypes = new TreeMap<>();
    private final Map<Long, Long> protocols = new TreeMap<>();
    private long packets;
    private long octets;
    private long captured;
    private long notIp;

    Interface(long number, long linkType) {
      this.number = number;
      this.linkType = linkType;
    }
  }

  void add(WireRecord packet) {
    if (packet.isNull(Packets.LINK_TYPE)) {
      return; // a place of the file that no packet could be made of
    }
    long number = packet.number(Packets.INTERFACE);
    long linkType = packet.number(Packets.LINK_TYPE);
    Interface of = interfaces.computeIfAbsent(number << 32 | linkType, k -> new Interface(number, linkType));
    of.packets++;
    of.octets += packet.number(Packets.LENGTH);
    of.captured += packet.number(Packets.CAPLEN);
    of.span.add(packet, Packets.TIME);
    if (!packet.isNull(Packets.ETHER_TYPE)) {
      of.etherTypes.merge(packet.number(Packets.ETHER_TYPE), 1L, Long::sum);
    }
    if (packet.isNull(Packets.IP_VERSION)) {
      of.notIp++;
    }
    if (!packet.isNull(Packets.PROT)) {
      of.protocols.merge(packet.number(Packets.PROT), 1L, Long::sum);
    }
  }

  List<Map<String, Object>> toList() {
    List<Map<String, Object>> all = new ArrayList<>();
    for (Interface of : interfaces.values()) {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("interface", of.number);
      one.put("link_type", of.linkType);
      one.put("packets", of.packets);
      one.put("octets", of.octets);
      one.put("captured_octets", of.captured);
      one.put("first", of.span.first());
      one.put("last", of.span.last());
      one.put("not_ip", of.notIp);
      one.put("ether_types", of.etherTypes);
      one.put("protocols", of.protocols);
      all.add(one);
    }
    return all;
  }
}
