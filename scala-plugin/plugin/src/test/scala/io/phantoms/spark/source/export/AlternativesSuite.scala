package io.phantoms.spark.source.`export`

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.source.wire.Policy

/** Columns that several fields of one record could fill. */
class AlternativesSuite extends AnyFunSuite {
  import Exports._

  private def flowOf(wanted: Array[Boolean], fields: ((Int, Int), Array[Byte])*) =
    read(
      v9(set(0, template(256, fields.map(_._1): _*)), set(256, fields.map(_._2): _*)),
      Policy.FAILFAST,
      wanted
    ).flow

  private def flow(fields: ((Int, Int), Array[Byte])*) = flowOf(All, fields: _*)

  private def only(columns: Int*) = Array.tabulate(Flows.COUNT)(columns.contains(_))

  test("a counter of 0 is a count, whatever another counter says") {
    Seq((1, 85, "octets"), (1, 231, "octets"), (85, 231, "octets"), (2, 86, "packets"), (2, 298, "packets")).foreach {
      case (first, second, column) =>
        Seq(
          flow(first -> 4 -> u32(0), second -> 4 -> u32(9000)),
          flow(second -> 4 -> u32(9000), first -> 4 -> u32(0))
        ).foreach { found =>
          assert(found(column) == 0, s"$first, $second")
          assert(found("other") == Map(ElementNames.of(0, second) -> "00002328"))
        }
    }
    assert(flow(85 -> 4 -> u32(9000))("octets") == 9000)
    assert(flow(1 -> 9 -> zeros(9), 85 -> 4 -> u32(9000))("octets") == 9000, "the first does not fit")
  }

  test("an interface of 0 is one, whatever number its port has") {
    Seq((10, 252, "input"), (14, 253, "output")).foreach { case (first, second, column) =>
      val found = flow(second -> 4 -> u32(7), first -> 2 -> u16(0))
      assert(found(column) == 0 && found("other") == Map(ElementNames.of(0, second) -> "00000007"))
      assert(flow(second -> 4 -> u32(7))(column) == 7)
    }
  }

  private def both(source: (String, String), destination: (String, String), hop: (String, String)) = Seq(
    8 -> 4 -> ip(source._1),
    27 -> 16 -> ip(source._2),
    12 -> 4 -> ip(destination._1),
    28 -> 16 -> ip(destination._2),
    15 -> 4 -> ip(hop._1),
    62 -> 16 -> ip(hop._2)
  )

  private val Zero = ("0.0.0.0", "::")

  test("templates of IPv4 and IPv6: 0.0.0.0 as a source, as DHCP has it") {
    val fields = both(Zero, ("255.255.255.255", "::"), Zero)
    Seq(fields, fields.reverse).foreach { f =>
      val found = flow(f: _*)
      assert(found("srcaddr") == "0.0.0.0" && found("dstaddr") == "255.255.255.255")
      assert(found("nexthop") == "0.0.0.0" && found("ip_version") == 4 && !found.contains("other"))
    }
  }

  test("templates of IPv4 and IPv6: :: as a source, as it asks whether an address is taken; as a destination") {
    val taken = flow(both(Zero, ("0.0.0.0", "ff02::1:ff00:1"), Zero): _*)
    assert(taken("srcaddr") == "0:0:0:0:0:0:0:0" && taken("dstaddr") == "ff02:0:0:0:0:1:ff00:1")
    assert(taken("nexthop") == "0:0:0:0:0:0:0:0" && taken("ip_version") == 6)
    val to = flow(both(("0.0.0.0", "2001:db8::1"), Zero, ("0.0.0.0", "fe80::1")): _*)
    assert(to("dstaddr") == "0:0:0:0:0:0:0:0" && to("nexthop") == "fe80:0:0:0:0:0:0:1" && to("ip_version") == 6)
  }

  test("templates of IPv4 and IPv6: networks follow their addresses") {
    val fields = both(Zero, ("0.0.0.0", "2001:db8::1"), Zero) ++
      Seq(45 -> 4 -> zeros(4), 169 -> 16 -> zeros(16), 9 -> 1 -> u8(0), 29 -> 1 -> u8(0))
    val found = flow(fields: _*)
    assert(found("dst_net") == "0:0:0:0:0:0:0:0" && found("src_net") == "0:0:0:0:0:0:0:0")
  }

  test("templates of IPv4 and IPv6: any one column is what it is among all") {
    val fields = both(Zero, ("0.0.0.0", "2001:db8::1"), Zero)
    assert(flowOf(only(Flows.SRCADDR), fields: _*)("srcaddr") == "0:0:0:0:0:0:0:0")
    assert(flowOf(only(Flows.NEXTHOP), fields: _*)("nexthop") == "0:0:0:0:0:0:0:0")
    assert(flowOf(only(Flows.IP_VERSION), fields: _*)("ip_version") == 6)
  }

  test("an address that has one form only is as it was sent") {
    val found = flow(8 -> 4 -> zeros(4), 12 -> 4 -> zeros(4), 28 -> 16 -> ip("2001:db8::1"), 15 -> 4 -> zeros(4))
    assert(found("srcaddr") == "0.0.0.0" && found("dstaddr") == "2001:db8:0:0:0:0:0:1")
    assert(found("nexthop") == "0.0.0.0")
  }

  test("ICMP's type and code as two fields") {
    val (three, one) = (176 -> 1 -> u8(3), 177 -> 1 -> u8(1))
    Seq(
      flow(three, one),
      flow(one, three),
      flow(three, one, 139 -> 2 -> u16(0)),
      flow(three, 32 -> 2 -> u16(0), one),
      flow(32 -> 2 -> u16(0), three, one),
      flow(three, one, 178 -> 1 -> u8(0), 179 -> 1 -> u8(0)),
      flow(176 -> 1 -> u8(0), 177 -> 1 -> u8(0), 178 -> 1 -> u8(3), 179 -> 1 -> u8(1))
    ).foreach { found =>
      assert(found("icmp_type_code") == 0x301)
      assert(!found.contains("other"))
    }
    assert(flow(176 -> 1 -> u8(0), 177 -> 1 -> u8(0))("icmp_type_code") == 0)
    assert(flowOf(only(Flows.ICMP_TYPE_CODE), three, one)("icmp_type_code") == 0x301)
  }

  test("ICMP's type and code beside a column that says something else are not mixed into it") {
    val found = flow(176 -> 1 -> u8(3), 177 -> 1 -> u8(1), 32 -> 2 -> u16(0x0800))
    assert(found("icmp_type_code") == 0x800)
    assert(found("other") == Map("icmpTypeIPv4" -> "03", "icmpCodeIPv4" -> "01"))
  }

  test("a type without a code, of two bytes, or twice stays as bytes") {
    val alone = flow(176 -> 1 -> u8(3))
    assert(!alone.contains("icmp_type_code") && alone("other") == Map("icmpTypeIPv4" -> "03"))
    val crossed = flow(176 -> 1 -> u8(0), 179 -> 1 -> u8(4))
    assert(!crossed.contains("icmp_type_code"))
    assert(crossed("other") == Map("icmpTypeIPv4" -> "00", "icmpCodeIPv6" -> "04"))
    val wide = flow(176 -> 2 -> u16(3), 177 -> 1 -> u8(1))
    assert(!wide.contains("icmp_type_code") && wide("other").asInstanceOf[Map[String, String]].size == 2)
    val twice = flow(176 -> 1 -> u8(3), 176 -> 1 -> u8(5), 177 -> 1 -> u8(1))
    assert(twice("icmp_type_code") == 0x301 && twice("other") == Map("icmpTypeIPv4" -> "05"))
    // One record's parts are not the next one's.
    val fields = set(0, template(256, 7 -> 2, 176 -> 1), template(257, 7 -> 2, 177 -> 1))
    val apart = read(v9(fields, set(256, u16(1), u8(3)), set(257, u16(2), u8(1))), Policy.FAILFAST)
    assert(apart.column("icmp_type_code") == Seq(null, null))
  }

  test("MAC addresses that the packet has afterwards are not those that it was seen with") {
    val macs = flow(81 -> 6 -> hex("00005e005301"), 57 -> 6 -> hex("00005e005302"))
    assert(!macs.contains("src_mac") && !macs.contains("dst_mac"))
    assert(macs("other") == Map(
      "postSourceMacAddress" -> "00005e005301",
      "postDestinationMacAddress" -> "00005e005302"
    ))
  }
}
