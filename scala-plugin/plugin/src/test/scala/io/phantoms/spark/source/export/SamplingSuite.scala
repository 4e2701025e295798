package io.phantoms.spark.source.`export`

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.source.wire.Policy

/** What exporters say of the packets that they did not look at. */
class SamplingSuite extends AnyFunSuite {
  import Exports._

  private val plain = set(0, template(300, 7 -> 2))
  private val sampled = set(0, template(301, 7 -> 2, 48 -> 1))
  private val interfaces = set(0, template(302, 7 -> 2, 10 -> 4))

  private def sampling(sets: Array[Byte]*) = read(v9(sets: _*), Policy.FAILFAST).column("sampling")

  test("one interval for all: v9's options of the system") {
    val option = bytes(set(1, v9Options(260, 1, 1 -> 4, 34 -> 4, 35 -> 1)), set(260, u32(0), u32(1000), u8(2)))
    assert(sampling(plain, option, set(300, u16(1), u16(2))) == Seq(1000, 1000))
    // In force from then on, for this source ID only.
    val file =
      bytes(v9(plain, set(300, u16(1))), v9(option, set(300, u16(2))), v9With(source = 2)(plain, set(300, u16(3))))
    assert(read(file, Policy.FAILFAST).column("sampling") == Seq(null, 1000, null))
    // And until another is said.
    val twice = bytes(v9(plain, option, set(300, u16(1))), v9(set(260, u32(0), u32(10), u8(2)), set(300, u16(2))))
    assert(read(twice, Policy.FAILFAST).column("sampling") == Seq(1000, 10))
  }

  test("samplers by number, as Cisco's exporters have them") {
    val option = bytes(
      set(1, v9Options(260, 1, 1 -> 4, 48 -> 1, 49 -> 1, 50 -> 4)),
      set(260, u32(0), u8(1, 2), u32(100), u32(0), u8(2, 2), u32(2000))
    )
    assert(sampling(sampled, option, set(301, u16(1), u8(1), u16(2), u8(2), u16(3), u8(9))) == Seq(100, 2000, null))
    // Which of the two?
    assert(sampling(plain, option, set(300, u16(1))) == Seq(null))
  }

  test("the exporter's only sampler need not be named by templates that name none") {
    val option = bytes(set(1, v9Options(260, 1, 1 -> 4, 48 -> 1, 50 -> 4)), set(260, u32(0), u8(1), u32(100), u8(0)))
    assert(sampling(plain, option, set(300, u16(1))) == Seq(100))
    assert(sampling(sampled, option, set(301, u16(1), u8(1), u16(2), u8(2))) == Seq(100, null))
    // Of a cache, or of a selector: not of everybody.
    val cache = bytes(set(1, v9Options(260, 1, 4 -> 4, 48 -> 1, 50 -> 4)), set(260, u32(0), u8(1), u32(100), u8(0)))
    assert(sampling(plain, sampled, cache, set(300, u16(1)), set(301, u16(2), u8(1))) == Seq(null, 100))
    val selector = bytes(set(3, ipfixOptions(260, 1, 302 -> 8, 34 -> 4)), set(260, u64(1), u32(100)))
    val records = set(2, template(300, 7 -> 2), template(301, 7 -> 2, 302 -> 65535))
    val decoded = read(ipfix(records, selector, set(300, u16(1)), set(301, u16(2), u8(0), u16(3), u8(1, 1))))
    assert(decoded.column("sampling") == Seq(null, null, 100))
    val system = bytes(set(3, ipfixOptions(260, 1, 149 -> 4, 302 -> 8, 34 -> 4)), set(260, u32(1), u64(1), u32(100)))
    val said = read(ipfix(records, system, set(300, u16(1)), set(301, u16(2), u8(0), u16(3), u8(1, 1))))
    assert(said.column("sampling") == Seq(100, null, 100))
  }

  test("an interval of a part is not that of all") {
    Seq(3, 4, 5).foreach { scope =>
      val option = bytes(set(1, v9Options(260, 1, scope -> 4, 34 -> 4)), set(260, u32(7), u32(1000)))
      assert(sampling(plain, interfaces, option, set(300, u16(1)), set(302, u16(2), u32(7))) == Seq(null, null))
    }
    val records = set(2, template(300, 7 -> 2), template(302, 7 -> 2, 10 -> 4))
    Seq(14, 253, 138, 141, 142, 145, 148).foreach { scope =>
      val option = bytes(set(3, ipfixOptions(260, 1, scope -> 4, 34 -> 4)), set(260, u32(7), u32(1000)))
      val decoded = read(ipfix(records, option, set(300, u16(1)), set(302, u16(2), u32(7))))
      assert(decoded.column("sampling") == Seq(null, null), s"scope $scope")
    }
    Seq(0L, 32473L).foreach { enterprise =>
      val option = set(3, u16(260, 2, 1, 0x8000 + 10, 4), u32(enterprise), u16(34, 4))
      val decoded = read(ipfix(records, option, set(260, u32(7), u32(1000)), set(302, u16(2), u32(7))))
      assert(decoded.column("sampling") == Seq(null))
    }
    // Of two scopes the narrower.
    val two = bytes(set(3, ipfixOptions(260, 2, 149 -> 4, 145 -> 2, 34 -> 4)), set(260, u32(1), u16(9), u32(1000)))
    assert(read(ipfix(records, two, set(300, u16(1)))).column("sampling") == Seq(null))
    Seq(143, 144, 149).foreach { scope =>
      val option = bytes(set(3, ipfixOptions(260, 1, scope -> 4, 34 -> 4)), set(260, u32(7), u32(1000)))
      assert(read(ipfix(records, option, set(300, u16(1)))).column("sampling") == Seq(1000))
    }
  }

  test("an interface that is no scope is whose interval it is, all the same") {
    val option = bytes(set(1, v9Options(260, 1, 1 -> 4, 10 -> 4, 34 -> 4)), set(260, u32(0), u32(7), u32(70)))
    assert(sampling(plain, interfaces, option, set(300, u16(1)), set(302, u16(2), u32(7), u16(3), u32(8))) ==
      Seq(null, 70, null))
    // On which packets go out: not the one on which they come in, and not all.
    val out = bytes(set(1, v9Options(260, 1, 1 -> 4, 14 -> 4, 34 -> 4)), set(260, u32(0), u32(7), u32(70)))
    assert(sampling(plain, interfaces, out, set(300, u16(1)), set(302, u16(2), u32(7))) == Seq(null, null))
  }

  test("a selector's number may have all 64 bits") {
    val records = set(2, template(300, 7 -> 2, 302 -> 8))
    val option = bytes(set(3, ipfixOptions(260, 1, 302 -> 8, 34 -> 4)), set(260, u64(-1), u32(100), u64(5), u32(50)))
    val decoded = read(ipfix(records, option, set(300, u16(1), u64(-1), u16(2), u64(5), u16(3), u64(6))))
    assert(decoded.column("sampling") == Seq(100, 50, null))
  }

  test("intervals of interfaces") {
    val option = bytes(set(1, v9Options(260, 1, 2 -> 4, 34 -> 2)), set(260, u32(7), u16(70), u32(8), u16(80)))
    assert(sampling(interfaces, option, set(302, u16(1), u32(8), u16(2), u32(7), u16(3), u32(9))) == Seq(80, 70, null))
    assert(sampling(plain, option, set(300, u16(1))) == Seq(null))
  }

  test("IPFIX: taken and left out, out of a population, by selector") {
    def read10(sets: Array[Byte]*) = read(ipfix(sets: _*), Policy.FAILFAST).column("sampling")
    val templates = set(2, template(300, 7 -> 2, 302 -> 8))
    val option = bytes(
      set(3, ipfixOptions(260, 1, 302 -> 8, 305 -> 4, 306 -> 4), ipfixOptions(261, 1, 302 -> 8, 309 -> 4, 310 -> 4)),
      set(260, u64(1), u32(1, 999)),
      set(261, u64(2), u32(5, 500))
    )
    assert(read10(templates, option, set(300, u16(1), u64(1), u16(2), u64(2), u16(3), u64(3))) == Seq(1000, 100, null))
  }

  test("the record's own word comes first") {
    val option = bytes(set(1, v9Options(260, 1, 1 -> 4, 34 -> 4)), set(260, u32(0), u32(1000)))
    val own = set(0, template(303, 7 -> 2, 34 -> 4), template(304, 7 -> 2, 305 -> 4, 306 -> 4))
    assert(sampling(own, option, set(303, u16(1), u32(5)), set(304, u16(1), u32(2, 18))) == Seq(5, 10))
  }

  test("counts are as exported, and 0 is no interval") {
    val counted = set(0, template(305, 2 -> 4, 1 -> 4))
    val option = bytes(set(1, v9Options(260, 1, 1 -> 4, 34 -> 4)), set(260, u32(0), u32(1000)))
    val flow = read(v9(counted, option, set(305, u32(3, 300)))).flow
    assert(flow("packets") == 3 && flow("octets") == 300 && flow("sampling") == 1000)
    val zero = bytes(set(1, v9Options(260, 1, 1 -> 4, 34 -> 4)), set(260, u32(0), u32(0)))
    assert(sampling(plain, zero, set(300, u16(1))) == Seq(null))
  }
}
