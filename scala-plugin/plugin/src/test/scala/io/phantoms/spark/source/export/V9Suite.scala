package io.phantoms.spark.source.`export`

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.source.wire.{Policy, WireException}

class V9Suite extends AnyFunSuite {
  import Exports._

  test("the example of RFC 3954, section 7") {
    val templates = hex("0000 001c 0100 0005 0008 0004 000c 0004 000f 0004 0002 0004 0001 0004")
    val data = hex(
      """0100 0040
         c6a8010c 0a050cfe c0a80101 00001391 00518c81
         c0a8011b 0a050c17 c0a80101 000002ec 0005ef46
         c0a80138 0a050c41 c0a80101 00000005 00001986"""
    )
    val options = hex("0001 0018 0101 0004 0008 0003 0004 0029 0002 002a 0002 0000")
    val optionData = hex("0101 0014 00000001 0159 27d9 00000002 02b2 4fb0")
    val decoded = read(v9(templates, data, options, optionData), Policy.FAILFAST)
    assert(decoded.column("srcaddr") == Seq("198.168.1.12", "192.168.1.27", "192.168.1.56"))
    assert(decoded.column("dstaddr") == Seq("10.5.12.254", "10.5.12.23", "10.5.12.65"))
    assert(decoded.column("packets") == Seq(5009, 748, 5))
    assert(decoded.column("octets") == Seq(5344385, 388934, 6534))
    assert(decoded.counters.packets == 1 && decoded.counters.decoded == 1 && decoded.counters.flows == 3)
    assert(
      decoded.flows.head == Map(
        "srcaddr" -> "198.168.1.12",
        "dstaddr" -> "10.5.12.254",
        "nexthop" -> "192.168.1.1",
        "packets" -> 5009,
        "octets" -> 5344385,
        "ip_version" -> 4,
        "export_time" -> Micros,
        "version" -> 9,
        "domain" -> 1,
        "template" -> 256,
        "sequence" -> 7,
        "_file_offset" -> 0
      )
    )
  }

  test("every field that has a column, in one template") {
    val fields = Seq(
      (27 -> 16, ip("2001:db8::1"), "srcaddr" -> "2001:db8:0:0:0:0:0:1"),
      (28 -> 16, ip("2001:db8:1:2:3::"), "dstaddr" -> "2001:db8:1:2:3:0:0:0"),
      (62 -> 16, ip("fe80::9"), "nexthop" -> "fe80:0:0:0:0:0:0:9"),
      (10 -> 4, u32(0xfffffffeL), "input" -> 0xfffffffeL),
      (14 -> 2, u16(17), "output" -> 17),
      (2 -> 8, u64(1L << 40), "packets" -> (1L << 40)),
      (1 -> 8, u64(Long.MaxValue), "octets" -> Long.MaxValue),
      (22 -> 4, u32(400000), "first" -> (Micros - 600000 * 1000L)),
      (21 -> 4, u32(999999), "last" -> (Micros - 1000)),
      (7 -> 2, u16(65535), "srcport" -> 65535),
      (11 -> 2, u16(53), "dstport" -> 53),
      (4 -> 1, u8(17), "prot" -> 17),
      (5 -> 1, u8(255), "tos" -> 255),
      (6 -> 2, u16(0x1ff), "tcp_flags" -> 0x1ff),
      (16 -> 4, u32(4200000000L), "src_as" -> 4200000000L),
      (17 -> 2, u16(65000), "dst_as" -> 65000),
      (29 -> 1, u8(32), "src_mask" -> 32),
      (30 -> 1, u8(80), "dst_mask" -> 80),
      (58 -> 2, u16(4094), "vlan" -> 4094),
      (56 -> 6, hex("00005e005301"), "src_mac" -> "00005e005301"),
      (80 -> 6, hex("ffffffffffff"), "dst_mac" -> "ffffffffffff"),
      (139 -> 2, u16(0x8700), "icmp_type_code" -> 0x8700),
      (61 -> 1, u8(1), "direction" -> 1),
      (60 -> 1, u8(6), "ip_version" -> 6),
      (31 -> 4, u32(0xfffff), "flow_label" -> 0xfffff),
      (24 -> 4, u32(9), "out_packets" -> 9),
      (23 -> 4, u32(900), "out_octets" -> 900),
      (136 -> 1, u8(3), "flow_end_reason" -> 3),
      (34 -> 4, u32(1000), "sampling" -> 1000)
    )
    val datagram = v9(set(0, template(300, fields.map(_._1): _*)), set(300, fields.map(_._2): _*))
    val flow = read(datagram, Policy.FAILFAST).flow
    fields.foreach { case (_, _, (column, value)) => assert(flow(column) == value, column) }
    assert(flow("src_net") == "2001:db8:0:0:0:0:0:0" && flow("dst_net") == "2001:db8:1:2:3:0:0:0")
    assert(!flow.contains("other") && !flow.contains("exporter"))
    assert(flow.size == fields.size + 2 + 6, "networks, and what the header says")
  }

  test("fields without a column keep name and bytes") {
    val fields = template(256, 4 -> 1, 82 -> 4, 40001 -> 2, 89 -> 1, 240 -> 3, 82 -> 4, 210 -> 2)
    val datagram =
      v9(
        set(0, fields),
        set(256, u8(6), "eth0".getBytes, u16(500), u8(64), "abc".getBytes, "eth1".getBytes, u16(0xffff))
      )
    val other = Map(
      "interfaceName" -> show("eth0".getBytes),
      "ie40001" -> "01f4",
      "forwardingStatus" -> "40",
      "interfaceName#2" -> show("eth1".getBytes)
    )
    val flow = read(datagram).flow
    assert(flow("prot") == 6)
    val found = flow("other").asInstanceOf[Map[String, String]]
    assert(other.toSet.subsetOf(found.toSet), found.toString)
    assert(found.size == 5, "padding is no field")
  }

  test("values that do not fit their column stay as bytes") {
    val fields = template(256, 1 -> 8, 2 -> 9, 7 -> 4, 8 -> 5, 56 -> 7, 22 -> 8, 31 -> 4)
    val data = bytes(u64(-1), zeros(9), u32(0x80000000L), zeros(5), zeros(7), u64(1), u32(0x7fffffffL))
    val flow = read(v9(set(0, fields), set(256, data))).flow
    Seq("octets", "packets", "srcport", "srcaddr", "src_mac", "first").foreach(c => assert(!flow.contains(c), c))
    assert(flow("flow_label") == Int.MaxValue)
    assert(
      flow("other") == Map(
        "octetDeltaCount" -> "ffffffffffffffff",
        "packetDeltaCount" -> "000000000000000000",
        "sourceTransportPort" -> "80000000",
        "sourceIPv4Address" -> "0000000000",
        "sourceMacAddress" -> "00000000000000",
        "flowStartSysUpTime" -> "0000000000000001"
      )
    )
  }

  test(
    "alternatives: the first address that is not zero counts, the first counter always, and a second that says something else stays as bytes"
  ) {
    val fields = template(256, 27 -> 16, 8 -> 4, 18 -> 4, 15 -> 4, 85 -> 4, 1 -> 4)
    def record(v6: String, v4: String, bgp: String, hop: String, total: Long, delta: Long) =
      bytes(ip(v6, v4, bgp, hop), u32(total, delta))
    val decoded = read(
      v9(
        set(0, fields),
        set(
          256,
          record("::", "192.0.2.1", "0.0.0.0", "10.0.0.1", 9000, 100),
          record("2001:db8::1", "0.0.0.0", "10.0.0.2", "0.0.0.0", 9000, 0),
          record("2001:db8::1", "192.0.2.1", "10.0.0.2", "10.0.0.1", 0, 0)
        )
      )
    )
    assert(decoded.column("srcaddr") == Seq("192.0.2.1", "2001:db8:0:0:0:0:0:1", "192.0.2.1"))
    assert(decoded.column("nexthop") == Seq("10.0.0.1", "10.0.0.2", "10.0.0.1"))
    assert(decoded.column("octets") == Seq(100, 0, 0))
    assert(decoded.column("ip_version") == Seq(4, 6, 4))
    assert(
      decoded.column("other") == Seq(
        Map("octetTotalCount" -> "00002328"),
        Map("octetTotalCount" -> "00002328"),
        Map("sourceIPv6Address" -> "20010db8000000000000000000000001", "bgpNextHopIPv4Address" -> "0a000002")
      )
    )
  }

  test("a template that changes, and one that is repeated") {
    val first = v9(set(0, template(256, 7 -> 2, 11 -> 2)), set(256, u16(1, 2)))
    val again = v9(set(0, template(256, 7 -> 2, 11 -> 2)), set(256, u16(3, 4)))
    val swapped = v9(set(0, template(256, 11 -> 2, 7 -> 2)), set(256, u16(5, 6)))
    val decoded = read(bytes(first, again, swapped), Policy.FAILFAST)
    assert(decoded.column("srcport") == Seq(1, 3, 6))
    assert(decoded.column("dstport") == Seq(2, 4, 5))
  }

  test("templates hold for the exporter, its port and its source ID that sent them") {
    def datagram(source: Long, fields: (Int, Int)*) = v9With(source = source)(set(0, template(256, fields: _*)))
    def data(source: Long) = v9With(source = source)(set(256, u16(1, 2)))
    val decoded = receive(
      Policy.PERMISSIVE,
      Sent(datagram(1, 7 -> 2, 11 -> 2)),
      Sent(datagram(2, 11 -> 2, 7 -> 2)),
      Sent(datagram(1, 11 -> 2, 7 -> 2), from = "2001:db8::5"),
      Sent(data(1)),
      Sent(data(2)),
      Sent(data(1), from = "2001:db8::5"),
      Sent(data(1), port = 4001)
    )
    assert(decoded.column("srcport") == Seq(1, 2, 2))
    assert(decoded.problem.contains("no template 256 of exporter 198.51.100.1, port 4001, domain 1 came"))
    assert(decoded.counters.withoutTemplate == 1)
  }

  test("data before its template waits for it, in order, as its own datagram said it") {
    val early = v9With(sequence = 1, seconds = Seconds)(set(256, u16(1), u32(999000)))
    val earlier = v9With(sequence = 2, seconds = Seconds + 1, uptime = 1001000)(set(256, u16(2), u32(999000)))
    val late = v9With(sequence = 3)(set(0, template(256, 7 -> 2, 22 -> 4)), set(256, u16(3), u32(999000)))
    val decoded = read(bytes(early, earlier, late), Policy.FAILFAST)
    assert(decoded.column("srcport") == Seq(1, 2, 3))
    assert(decoded.column("sequence") == Seq(1, 2, 3))
    assert(decoded.column("first") == Seq.fill(3)(Micros - 1000000))
    assert(decoded.column("_file_offset") == Seq(0, early.length, 2 * early.length))
    assert(decoded.counters.withoutTemplate == 0 && decoded.counters.decoded == 3)
  }

  test("data whose template never comes: a problem each, nothing, or an error") {
    val file = bytes(v9(set(256, u16(1))), v9(set(257, u16(1)), set(257, u16(2))), v9(set(0, template(256, 7 -> 2))))
    val decoded = read(file)
    assert(decoded.column("srcport") == Seq(1))
    assert(decoded.counters.withoutTemplate == 2 && decoded.counters.decoded == 3)
    assert(decoded.problems.map(_.text).forall(_.contains("no template 257 of domain 1 came")))
    assert(decoded.problems.map(_.known("template")) == Seq(257, 257))
    assert(decoded.problems.map(_.known("_file_offset")) == Seq(26, 26))
    assert(read(file, Policy.DROPMALFORMED).counters.withoutTemplate == 2)
    assert(intercept[WireException](read(file, Policy.FAILFAST)).offset == 26)
  }

  test("data that waited and is not whole: its datagram is malformed, once, and no longer decoded") {
    val early = v9(set(256, u32(1, 2), u32(3)), set(257, u32(1, 2), u32(3)), set(258, u32(7)))
    val wide = Seq(256, 257).map(id => v9(set(0, template(id, 1 -> 8, 2 -> 8))))
    val file = bytes(early, wide(0), wide(1), v9(set(0, template(258, 1 -> 4))))
    Policy.values.filter(_ != Policy.FAILFAST).foreach { policy =>
      val decoded = read(file, policy)
      assert(decoded.column("octets") == Seq(7))
      assert(decoded.counters.packets == 4 && decoded.counters.decoded == 3 && decoded.counters.malformed == 1)
      assert(decoded.problems.size == (if (policy == Policy.PERMISSIVE) 2 else 0))
    }
    // A datagram that was malformed already, and one that brings the template itself.
    val already = v9(set(256, u32(1, 2), u32(3)), u16(300, 99))
    val itself = v9(set(256, u32(1, 2), u32(3)), set(0, template(256, 1 -> 8, 2 -> 8)))
    Seq(Seq(already, wide(0)), Seq(itself)).foreach { datagrams =>
      val counters = receive(Policy.DROPMALFORMED, datagrams.map(Sent(_)): _*).counters
      assert(counters.packets == datagrams.size && counters.malformed == 1)
      assert(counters.decoded == datagrams.size - 1)
    }
  }

  test("padding, and what is none") {
    val templates = set(0, template(256, 7 -> 2, 4 -> 1))
    assert(read(v9(templates, set(256, u16(1), u8(6), u8(0)))).column("srcport") == Seq(1))
    // Up to three bytes may hold anything.
    val wide = set(0, template(256, 7 -> 2, 4 -> 1, 240 -> 4))
    assert(read(v9(wide, set(256, u16(1), u8(6), u32(0), u8(1, 2, 3))), Policy.FAILFAST).flows.size == 1)
    val decoded = read(v9(wide, set(256, u16(1), u8(6), u32(0), u32(1)), set(256, u16(2), u8(6), u32(0))))
    assert(decoded.column("srcport") == Seq(1, 2), "the next set is read all the same")
    assert(decoded.problem.contains("4 bytes at the end of a set are no record of its template 256"))
    // A set of a template that is longer than it.
    assert(read(v9(wide, set(256, u16(1)))).problem.contains("2 bytes"))
    assert(read(v9(wide, set(256))).problems.isEmpty)
    // Templates padded to four bytes, as an odd options template needs.
    assert(read(v9(set(1, v9Options(257, 1, 1 -> 4, 34 -> 4), u16(0)), templates), Policy.FAILFAST).flows.isEmpty)
  }

  test("several templates in one set") {
    val both = set(0, template(256, 7 -> 2), template(257, 11 -> 2))
    val decoded = read(v9(both, set(257, u16(9)), set(256, u16(8))))
    assert(decoded.column("dstport") == Seq(9, null) && decoded.column("srcport") == Seq(null, 8))
  }
}
