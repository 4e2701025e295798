package io.phantoms.spark.source.`export`

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.source.wire.Policy

/** The many ways in which IPFIX says when. */
class TimesSuite extends AnyFunSuite {
  import Exports._

  private val Second = 1000000L
  private val NtpOf1970 = 2208988800L

  private def flow(fields: ((Int, Int), Array[Byte])*) = {
    val datagram =
      ipfix(set(2, template(256, (4 -> 1) +: fields.map(_._1): _*)), set(256, u8(6) +: fields.map(_._2): _*))
    read(datagram, Policy.FAILFAST).flow
  }

  test("seconds and milliseconds since 1970") {
    val seconds = flow(150 -> 4 -> u32(0xfffffff0L), 151 -> 4 -> u32(1))
    assert(seconds("first") == 0xfffffff0L * Second && seconds("last") == Second)
    val millis = flow(152 -> 8 -> u64(1767323045123L), 153 -> 8 -> u64(0))
    assert(millis("first") == 1767323045123000L && millis("last") == 0)
  }

  test("times that microseconds since 1970 cannot hold stay as bytes") {
    val found = flow(152 -> 8 -> u64(Long.MaxValue), 153 -> 8 -> u64(-1), 150 -> 8 -> u64(1L << 62))
    assert(!found.contains("first") && !found.contains("last"))
    assert(found("other").asInstanceOf[Map[String, String]].size == 3)
  }

  test("seconds of 4 bytes, milliseconds of 8: others are no times") {
    Seq(150 -> 8 -> u64(Seconds), 150 -> 3 -> u8(1, 2, 3), 152 -> 4 -> u32(Seconds), 152 -> 7 -> zeros(7)).foreach {
      field =>
        val found = flow(field)
        assert(!found.contains("first"), field._1.toString)
        assert(found("other") == Map(ElementNames.of(0, field._1._1) -> show(field._2)))
    }
    assert(flow(152 -> 4 -> u32(5), 150 -> 4 -> u32(Seconds))("first") == Micros)
  }

  /** The fraction of a second as NTP has it. */
  private def fraction(numerator: Long, denominator: Long) = (numerator << 32) / denominator

  test("microseconds in NTP's format: exact, although the lower 11 bits of the fraction mean nothing") {
    (0L until 1000000L by 997).foreach { micros =>
      val cut = fraction(micros, 1000000) & ~0x7ffL
      Seq(cut, cut | 0x7ff).foreach { low =>
        val found = flow(154 -> 8 -> u32(NtpOf1970 + Seconds, low))
        assert(found("first") == Micros + micros)
      }
    }
  }

  test("nanoseconds in NTP's format, cut to microseconds") {
    Seq(0L, 1L, 999L, 1000L, 123456789L, 123457000L, 999999999L).foreach { nanos =>
      val found = flow(157 -> 8 -> u32(NtpOf1970 + Seconds, fraction(nanos, 1000000000)))
      assert(found("last") == Micros + nanos / 1000, s"$nanos ns")
    }
  }

  test("NTP's seconds wrap around in 2036; all zeros is no time") {
    assert(flow(156 -> 8 -> u32(16, 0))("first") == ((1L << 32) - NtpOf1970 + 16) * Second)
    assert(!flow(156 -> 8 -> u32(0, 0)).contains("first"))
  }

  test("microseconds before the export") {
    val found = flow(158 -> 4 -> u32(2500000), 159 -> 4 -> u32(0))
    assert(found("first") == Micros - 2500000 && found("last") == Micros)
  }

  test("uptime: by the exporter's start in the record, wherever it stands") {
    val init = 160 -> 8 -> u64(Seconds * 1000 - 100000)
    val found = flow(22 -> 4 -> u32(40000), init, 21 -> 4 -> u32(100000))
    assert(found("first") == Micros - 60 * Second && found("last") == Micros)
    assert(found("other").asInstanceOf[Map[String, String]].keySet == Set("systemInitTimeMilliseconds"))
  }

  test("uptime of an exporter that has run so long that its clock of 32 bits wrapped around, twice") {
    val wrap = 1L << 32
    val init = Seconds * 1000 - 2 * wrap - 5000
    val found = flow(160 -> 8 -> u64(init), 22 -> 4 -> u32(wrap - 1000), 21 -> 4 -> u32(4000))
    assert(found("first") == Micros - 6 * Second && found("last") == Micros - Second)
  }

  test("uptime: by the exporter's start in an option; without one it stays as bytes") {
    val option = set(3, ipfixOptions(257, 1, 149 -> 4, 160 -> 8))
    val templates = set(2, template(256, 22 -> 4))
    val before = ipfix(option, templates, set(256, u32(40000)))
    val after = ipfix(set(257, u32(1), u64(Seconds * 1000 - 100000)), set(256, u32(40000)))
    val decoded = read(bytes(before, after), Policy.FAILFAST)
    assert(decoded.column("first") == Seq(null, Micros - 60 * Second))
    assert(decoded.column("other") == Seq(Map("flowStartSysUpTime" -> "00009c40"), null))
  }

  test("uptime: an exporter's start of 0 is none") {
    assert(!flow(160 -> 8 -> u64(0), 22 -> 4 -> u32(40000)).contains("first"))
    val templates = set(2, template(256, 22 -> 4), template(258, 22 -> 4, 160 -> 8))
    val option = set(3, ipfixOptions(257, 1, 149 -> 4, 160 -> 8))
    def init(millis: Long) = set(257, u32(1), u64(millis))
    val start = Seconds * 1000 - 100000
    val data = set(256, u32(40000))
    assert(read(ipfix(option, templates, init(0), data)).column("first") == Seq(null))
    val decoded = read(ipfix(option, templates, init(start), init(0), data, set(258, u32(40000), u64(0))))
    assert(decoded.column("first") == Seq.fill(2)(Micros - 60 * Second))
  }

  test("of several forms the most exact counts") {
    val found = flow(150 -> 4 -> u32(Seconds), 152 -> 8 -> u64(Seconds * 1000 + 250), 158 -> 4 -> u32(0))
    assert(found("first") == Micros + 250000)
    assert(found("other").asInstanceOf[Map[String, String]].keySet == Set("flowStartSeconds"))
  }
}
