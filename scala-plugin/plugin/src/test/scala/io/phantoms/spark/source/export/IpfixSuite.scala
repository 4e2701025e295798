package io.phantoms.spark.source.`export`

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.source.wire.Policy

class IpfixSuite extends AnyFunSuite {
  import Exports._

  private val templateA2 = hex("0002 001c 0100 0005 0008 0004 000c 0004 000f 0004 0002 0004 0001 0004")
  private val dataA3 = hex(
    """0100 0040
       c000020c c00002fe c0000201 00001391 00518c81
       c000021b c0000217 c0000202 000002ec 0005ef46
       c0000238 c0000241 c0000203 00000005 00001986"""
  )
  private val optionsA4 = hex("0003 0018 0102 0003 0001 008d 0004 0029 0002 002a 0002 0000")
  private val optionDataA4 = hex("0102 0014 00000001 0159 27d9 00000002 02b2 4fb0")

  test("the message of RFC 7011, appendix A") {
    val message =
      bytes(hex("000a 0098"), u32(Seconds, 0x11223344L, 0x55667788L), templateA2, dataA3, optionsA4, optionDataA4)
    assert(message.length == 152)
    val decoded = read(message, Policy.FAILFAST)
    assert(decoded.column("srcaddr") == Seq("192.0.2.12", "192.0.2.27", "192.0.2.56"))
    assert(decoded.column("dstaddr") == Seq("192.0.2.254", "192.0.2.23", "192.0.2.65"))
    assert(decoded.column("nexthop") == Seq("192.0.2.1", "192.0.2.2", "192.0.2.3"))
    assert(decoded.column("packets") == Seq(5009, 748, 5))
    assert(decoded.column("octets") == Seq(5344385, 388934, 6534))
    val flow = decoded.flows.head
    assert(flow("version") == 10 && flow("template") == 256 && flow("export_time") == Micros)
    assert(flow("domain") == 0x55667788L && flow("sequence") == 0x11223344L)
  }

  test("a field of an enterprise, as in appendix A.2.2") {
    val templates = hex("0002 0020 0101 0005 0008 0004 000c 0004 800f 0004 00007ed9 0002 0004 0001 0004")
    val data = set(257, ip("192.0.2.12", "192.0.2.254", "192.0.2.1"), u32(5009, 5344385))
    val flow = read(ipfix(templates, data), Policy.FAILFAST).flow
    assert(flow("srcaddr") == "192.0.2.12" && flow("octets") == 5344385)
    assert(!flow.contains("nexthop"))
    assert(flow("other") == Map("ie32473.15" -> "c0000201"))
  }

  test("enterprise number 0 is not IANA") {
    val templates = set(2, u16(256, 2, 0x8001, 4), u32(0), u16(7, 2))
    val flow = read(ipfix(templates, set(256, u32(5), u16(80))), Policy.FAILFAST).flow
    assert(flow("srcport") == 80 && !flow.contains("octets"))
    assert(flow("other") == Map("ie0.1" -> "00000005"))
  }

  test("options of an enterprise, as in appendix A.4") {
    val scoped = hex("0003 001c 0103 0003 0001 807b 0004 00007ed9 0029 0002 002a 0002 0000")
    val decoded = read(ipfix(scoped, set(259, u32(1), u16(345, 10201)), templateA2, dataA3), Policy.FAILFAST)
    assert(decoded.flows.size == 3 && decoded.counters.decoded == 1)
  }

  test("the other direction of a flow (RFC 5103)") {
    val templates = set(2, u16(256, 3, 1, 4), u16(0x8001, 4), u32(29305), u16(0x8000 + 5000, 2), u32(29305))
    val other = read(ipfix(templates, set(256, u32(1, 2), u16(3)))).flow("other")
    assert(other == Map("reverseOctetDeltaCount" -> "00000002", "ie29305.5000" -> "0003"))
  }

  test("fields of variable length, short and long, as in appendix A.5") {
    val templates = set(2, template(256, 7 -> 2, 82 -> 65535, 460 -> 65535, 11 -> 2))
    val long = Array.fill(1000)('x'.toByte)
    val data = set(
      256,
      bytes(u16(1), u8(5), "12345".getBytes, u8(255), u16(1000), long, u16(2)),
      bytes(u16(3), u8(0), u8(255), u16(1), "y".getBytes, u16(4)),
      zeros(3)
    )
    val decoded = read(ipfix(templates, data), Policy.FAILFAST)
    assert(decoded.column("srcport") == Seq(1, 3) && decoded.column("dstport") == Seq(2, 4))
    assert(
      decoded.column("other") == Seq(
        Map("interfaceName" -> show("12345".getBytes), "httpRequestHost" -> show(long)),
        Map("httpRequestHost" -> show("y".getBytes))
      )
    )
  }

  test("numbers and addresses of variable length") {
    val templates = set(2, template(256, 1 -> 65535, 8 -> 65535, 152 -> 65535))
    val data = set(
      256,
      bytes(u8(3, 1, 0, 0), u8(4), ip("10.0.0.1"), u8(8), u64(1500)),
      bytes(u8(0), u8(16), ip("::1"), u8(0))
    )
    val decoded = read(ipfix(templates, data), Policy.FAILFAST)
    assert(decoded.column("octets") == Seq(65536, null))
    assert(decoded.column("srcaddr") == Seq("10.0.0.1", "0:0:0:0:0:0:0:1"))
    assert(decoded.column("first") == Seq(1500000, null))
  }

  test("reduced-size encoding: every length of an unsigned number") {
    val value = 0x0102030405060708L
    (1 to 8).foreach { n =>
      val datagram = ipfix(set(2, template(256, 1 -> n, 4 -> 1)), set(256, u64(value).takeRight(n), u8(6)))
      val expected = if (n == 8) value else value & (1L << 8 * n) - 1
      assert(read(datagram, Policy.FAILFAST).flow("octets") == expected, s"$n bytes")
    }
  }

  test("templates are withdrawn: one, all, and all of options") {
    val define =
      ipfix(set(2, template(256, 7 -> 2), template(257, 7 -> 2)), set(3, ipfixOptions(258, 1, 149 -> 4, 34 -> 4)))
    def data(port: Int) = ipfix(set(256, u16(port)), set(257, u16(port)))
    def after(withdrawal: Array[Byte]) = read(bytes(define, data(1), withdrawal, data(2)))
    val one = after(ipfix(set(2, u16(256, 0))))
    assert(one.column("srcport") == Seq(1, 1, 2) && one.counters.withoutTemplate == 1)
    val all = after(ipfix(set(2, u16(2, 0))))
    assert(all.column("srcport") == Seq(1, 1) && all.counters.withoutTemplate == 2)
    val ofOptions = after(ipfix(set(3, u16(3, 0))))
    assert(ofOptions.column("srcport") == Seq(1, 1, 2, 2) && ofOptions.problems.isEmpty)
    // Withdrawn and defined anew in one set; withdrawn although it never was.
    val anew = after(ipfix(set(2, u16(256, 0), template(256, 11 -> 2), u16(999, 0))))
    assert(anew.column("dstport") == Seq(null, null, 2, null) && anew.problems.isEmpty)
    assert(after(ipfix(set(2, u16(7, 0)))).problem.contains("number 7 is withdrawn"))
  }

  test("an options template takes the number of a template, and back") {
    val file = bytes(
      ipfix(set(2, template(256, 7 -> 2)), set(256, u16(1))),
      ipfix(set(3, ipfixOptions(256, 1, 7 -> 2)), set(256, u16(2))),
      ipfix(set(2, template(256, 7 -> 2)), set(256, u16(3)))
    )
    assert(read(file, Policy.FAILFAST).column("srcport") == Seq(1, 3))
  }

  test("options data that waited for their template count as options") {
    val file = bytes(
      ipfix(set(258, u32(1), u32(100))),
      ipfix(set(3, ipfixOptions(258, 1, 149 -> 4, 34 -> 4)), set(2, template(256, 7 -> 2)), set(256, u16(3)))
    )
    val decoded = read(file, Policy.FAILFAST)
    assert(decoded.column("srcport") == Seq(3) && decoded.column("sampling") == Seq(100))
  }

  test("lengths that are not true") {
    val good = ipfix(set(2, template(256, 7 -> 2)), set(256, u16(1)))
    def patched(at: Int, value: Int) = good.patch(at, u16(value), 2)
    Seq(
      (patched(2, 15), 0, "says it has 15 bytes"),
      (patched(2, good.length + 1), 1, s"says it has ${good.length + 1} bytes"),
      (patched(2, good.length - 1), 0, "1 bytes follow an IPFIX message"),
      (patched(18, 3), 0, "set 2 says it has 3 bytes: its header has 4, and 18 are left"),
      (patched(18, 0), 0, "set 2 says it has 0 bytes"),
      (patched(18, 0xffff), 0, "set 2 says it has 65535 bytes"),
      (patched(22, 2), 0, "2 fields, more than its set has room for"),
      (patched(22, 0xffff), 0, "65535 fields, more than"),
      (patched(20, 255), 0, "a template has the number 255"),
      (patched(16, 4), 0, "a set has the number 4, which means nothing in IPFIX"),
      (good ++ u8(1), 1, "1 bytes follow an IPFIX message")
    ).foreach { case (datagram, flows, what) =>
      val decoded = receive(Policy.PERMISSIVE, Sent(datagram))
      val texts = decoded.problems.map(_.text)
      assert(texts.exists(_.contains(what)), s"$what: $texts")
      assert(decoded.flows.size == flows, what)
      assert(decoded.counters.malformed == 1 && decoded.counters.packets == 1)
    }
  }

  test("options templates that contradict themselves") {
    Seq(
      u16(256, 2, 0, 149, 4, 34, 4) -> "0 scopes among 2 fields",
      u16(256, 2, 3, 149, 4, 34, 4) -> "3 scopes among 2 fields",
      u16(256, 1) -> "within the header of an options template"
    ).foreach { case (body, what) =>
      assert(receive(Policy.PERMISSIVE, Sent(ipfix(set(3, body)))).problem.contains(what))
    }
    Seq(
      u16(256, 3, 4, 1, 4, 34, 4) -> "fields have 4 bytes each",
      u16(256, 4, 8, 1, 4, 34, 4) -> "3 fields, more than",
      u16(256, 4) -> "within the header of an options template"
    ).foreach { case (body, what) =>
      assert(receive(Policy.PERMISSIVE, Sent(v9(set(1, body)))).problem.contains(what))
    }
  }
}
