package io.phantoms.spark.source.`export`

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.source.wire.{Policy, WireException}

class V5Suite extends AnyFunSuite {
  import Exports._

  test("a record, byte by byte") {
    // Header: version, count, uptime 100 s, 2026-01-02 03:04:05.25, sequence, engine type 1 ID 2, mode 1 interval 100.
    val header = hex("0005 0001 000186a0 695735a5 0ee6b280 00000010 01 02 4064")
    val record = hex(
      "0a010203 c000024d 0a000001 0003 0004 0000000a 000003e8 00015f90 000182b8 c93b 01bb 00 1b 06 08 fc00 ffff 18 10 0000"
    )
    assert(record.length == 48 && header.length == 24)
    val decoded = read(header ++ record, Policy.FAILFAST)
    val exported = Seconds * 1000000 + 250000
    assert(
      decoded.flow == Map(
        "srcaddr" -> "10.1.2.3",
        "dstaddr" -> "192.0.2.77",
        "nexthop" -> "10.0.0.1",
        "input" -> 3,
        "output" -> 4,
        "packets" -> 10,
        "octets" -> 1000,
        "first" -> (exported - 10000 * 1000L),
        "last" -> (exported - 1000 * 1000L),
        "srcport" -> 51515,
        "dstport" -> 443,
        "prot" -> 6,
        "tos" -> 8,
        "tcp_flags" -> 27,
        "src_as" -> 64512,
        "dst_as" -> 65535,
        "src_mask" -> 24,
        "dst_mask" -> 16,
        "src_net" -> "10.1.2.0",
        "dst_net" -> "192.0.0.0",
        "ip_version" -> 4,
        "export_time" -> exported,
        "version" -> 5,
        "domain" -> 0x102,
        "sequence" -> 16,
        "sampling" -> 100,
        "_file_offset" -> 0
      )
    )
    assert(decoded.counters.packets == 1 && decoded.counters.decoded == 1 && decoded.counters.flows == 1)
    assert(decoded.counters.bytes == 72)
  }

  test("unsigned values") {
    val big =
      v5Record("255.255.255.255", "128.0.0.1", packets = 0xffffffffL, octets = 0xfffffffeL, ports = (65535, 65534))
    val flow = read(v5Header(1, sequence = 0xffffffffL) ++ big).flow
    assert(flow("srcaddr") == "255.255.255.255" && flow("dstaddr") == "128.0.0.1")
    assert(flow("packets") == 0xffffffffL && flow("octets") == 0xfffffffeL)
    assert(flow("srcport") == 65535 && flow("dstport") == 65534 && flow("sequence") == 0xffffffffL)
  }

  test("an uptime that wrapped around, and a flow that ended after the header was made") {
    val flow = read(v5Header(1, uptime = 500) ++ v5Record(first = 0xffffffffL - 499, last = 600)).flow
    assert(flow("first") == Micros - 1000 * 1000L)
    assert(flow("last") == Micros + 100 * 1000L)
  }

  test("a flow that is weeks old") {
    val days = 40L * 24 * 3600 * 1000
    val flow = read(v5Header(1, uptime = days) ++ v5Record(first = 0, last = days - 1)).flow
    assert(flow("first") == Micros - days * 1000 && flow("last") == Micros - 1000)
  }

  test("times after 2038") {
    val late = 0xf0000000L
    val flow = read(v5Header(1, seconds = late) ++ v5Record(last = 1000000)).flow
    assert(flow("last") == late * 1000000 && flow("export_time") == late * 1000000)
  }

  test("ICMP has type and code in the destination port; other protocols have none") {
    val datagram = v5Header(2) ++ v5Record(prot = 1, ports = (0, 0x0301)) ++ v5Record(prot = 17, ports = (0, 0x0301))
    assert(read(datagram).column("icmp_type_code") == Seq(0x301, null))
    assert(read(datagram).column("dstport") == Seq(0x301, 0x301))
  }

  test("networks: no bits, all bits, and more bits than an address has") {
    val datagram = v5Header(2) ++ v5Record(masks = (0, 32)) ++ v5Record(masks = (33, 1))
    val decoded = read(datagram)
    assert(decoded.column("src_net") == Seq("0.0.0.0", null))
    assert(decoded.column("dst_net") == Seq("192.0.2.77", "128.0.0.0"))
    assert(decoded.column("src_mask") == Seq(0, 33))
  }

  test("no interval is no sampling") {
    assert(!read(v5Header(1, sampling = 0x4000) ++ v5Record()).flow.contains("sampling"))
    assert(read(v5Header(1, sampling = 0xffff) ++ v5Record()).flow("sampling") == 0x3fff)
  }

  test("only the columns that are wanted, and what they are made of") {
    val datagram = v5Header(1) ++ v5Record(prot = 1)
    def only(names: String*) =
      read(datagram, wanted = Array.tabulate(Flows.COUNT)(i => names.contains(Flows.SCHEMA.fields.get(i).name))).flow
    val all = read(datagram).flow
    Flows.SCHEMA.fields.asScala.foreach { f =>
      assert(only(f.name).get(f.name) == all.get(f.name), f.name)
    }
    assert(!only("srcaddr").contains("dstaddr"))
  }

  test("thirty records, and a count that is not true") {
    val thirty = Array.fill(30)(v5Record()).flatten
    assert(receive(Policy.FAILFAST, Sent(v5Header(30) ++ thirty)).flows.size == 30)
    Seq(
      (v5Header(31) ++ thirty ++ v5Record(), 31, "31 records: there are at most 30"),
      (v5Header(65535) ++ thirty, 30, "65535 records: there are 30"),
      (v5Header(30) ++ thirty.dropRight(1), 29, "30 records: there are 29"),
      (v5Header(2) ++ thirty, 2, "1344 bytes follow the 2 records")
    ).foreach { case (datagram, flows, what) =>
      val decoded = receive(Policy.PERMISSIVE, Sent(datagram))
      assert(decoded.flows.size == flows)
      assert(decoded.problem.contains(what))
      assert(decoded.counters.packets == 1 && decoded.counters.malformed == 1 && decoded.counters.flows == flows)
      val dropped = receive(Policy.DROPMALFORMED, Sent(datagram))
      assert(dropped.flows == decoded.flows && dropped.problems.isEmpty && dropped.counters.malformed == 1)
      val error = intercept[WireException](receive(Policy.FAILFAST, Sent(datagram)))
      assert(error.getMessage.contains(what))
    }
  }

  test("zeros after the records are padding; no records are none") {
    assert(receive(Policy.FAILFAST, Sent(v5Header(1) ++ v5Record() ++ zeros(480))).flows.size == 1)
    assert(receive(Policy.FAILFAST, Sent(v5Header(0))).flows.isEmpty)
  }

  test("who sent it") {
    val datagram = v5Header(1) ++ v5Record()
    assert(receive(Policy.FAILFAST, Sent(datagram)).flow("exporter") == "198.51.100.1")
    assert(receive(Policy.FAILFAST, Sent(datagram, "2001:db8::7")).flow("exporter") == "2001:db8:0:0:0:0:0:7")
  }

  test("what is no datagram of ours") {
    Seq(
      Array.emptyByteArray -> "0 bytes",
      u8(0) -> "1 bytes",
      u16(7, 1) -> "version 5, 9 or 10",
      u16(5, 1) -> "version 5 has only 4 bytes",
      v9().dropRight(1) -> "version 9 has only 19 bytes",
      v9().patch(2, u16(3), 2) -> "says it has 3 records: there is no set",
      ipfix().dropRight(1) -> "version 10 has only 15 bytes"
    ).foreach { case (datagram, what) =>
      val decoded = receive(Policy.PERMISSIVE, Sent(datagram), Sent(v5Header(1) ++ v5Record()))
      assert(decoded.flows.size == 1 && decoded.problem.contains(what))
      assert(decoded.counters.packets == 2 && decoded.counters.malformed == 1 && decoded.counters.decoded == 1)
    }
  }
}
