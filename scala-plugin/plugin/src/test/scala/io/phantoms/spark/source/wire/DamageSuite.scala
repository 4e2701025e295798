package io.phantoms.spark.source.wire

import io.phantoms.spark.source.wire.Wire._

import org.scalatest.funsuite.AnyFunSuite

/** Which packets are read behind damage, and that no others are: by their values. */
class DamageSuite extends AnyFunSuite {
  private val frame = ethernet(0x800, ipv4(17, udp(1, 2, hex("0102"))))
  private def frames(n: Int): Seq[Kept] = (0 until n).map(i => Kept(1700000000L + i, i.toLong, frame))
  private def time(i: Int): Long = (1700000000L + i) * 1000000 + i

  /** Times of the packets, and for what is none its problem. */
  private def seen(file: Array[Byte]): Seq[Any] =
    read(file, Policy.PERMISSIVE).rows.map(r => r.getOrElse("problem", r("time")))

  private def good(rows: Seq[Any]): Seq[Any] = rows.filterNot(_.isInstanceOf[String])

  private def overwrite(file: Array[Byte], at: Int, bytes: Array[Byte]): Array[Byte] =
    file.patch(at, bytes, bytes.length)

  /** A packet with ten records of a capture in its 1400 bytes of payload, and others around it. */
  private def nested(tail: Int): (Array[Byte], Int) = {
    val inner = join((0 until 10).map(i => record(Kept(1700000500L + i, 7, frame))): _*)
    val payload = new Array[Byte](1400 - inner.length - tail) ++ inner ++ new Array[Byte](tail)
    val outer = Kept(1700000003L, 3, ethernet(0x800, ipv4(17, udp(1, 2, payload))))
    (pcap(frames(40).updated(3, outer)), 24 + 3 * (16 + frame.length))
  }

  test("a capture in a damaged packet is not read, whatever is left of the packet's record") {
    val expected = (0 until 40).filterNot(_ == 3).map(time)
    for (tail <- Seq(0, 1, 16, 300)) {
      val (file, at) = nested(tail)
      assert(
        good(seen(overwrite(file, at + 8, Little.u32(-1)))) == expected,
        s"$tail behind it, length on the wire whole"
      )
      if (tail > 0) {
        val both = overwrite(file, at + 8, Little.u32(-1) ++ Little.u32(-1))
        assert(good(seen(both)) == expected, s"$tail behind it, both lengths damaged")
      }
    }
  }

  test("a capture that ends with the file: its packets, or the file's own? None, where nothing tells") {
    val (outer, _) = nested(0)
    val last = Kept(1700000040L, 40, ethernet(0x800, ipv4(17, udp(1, 2, outer.drop(24)))))
    val file = pcap(frames(40) :+ last)
    val at = 24 + 5 * (16 + frame.length)
    assert(good(seen(overwrite(file, at + 8, Little.u32(-1)))) == (0 to 40).filterNot(_ == 5).map(time))
    val unknown = read(overwrite(file, at + 8, Little.u32(-1) ++ Little.u32(-1)), Policy.PERMISSIVE)
    assert(unknown.rows.map(_.get("time").orNull) == (0 until 5).map(time) :+ null)
    assert(unknown.counters.unreadableBytes == file.length - at)
  }

  test("both lengths damaged, and the file cut off in its last record") {
    val file = overwrite(pcap(frames(40)), 24 + 5 * (16 + frame.length) + 8, Little.u32(-1) ++ Little.u32(-1))
    assert(good(seen(file.dropRight(20))) == (0 until 39).filterNot(_ == 5).map(time))
  }

  test("packets without a byte do not hinder") {
    val some = frames(4000).zipWithIndex.map { case (k, i) =>
      if (i % 50 == 49) k.copy(bytes = Array(), length = frame.length.toLong)
      else k.copy(bytes = frame ++ new Array[Byte](600))
    }
    val at = some.take(20).map(16 + _.bytes.length).sum + 24
    assert(good(seen(overwrite(pcap(some), at + 8, Little.u32(-1) ++ Little.u32(-1)))) ==
      (0 until 4000).filterNot(_ == 20).map(time))
  }

  test("a length that is possible, but more than the packet had") {
    val size = 16 + frame.length
    for (wrong <- Seq(frame.length + 1L, 3L * size, 100000L, 262144L)) {
      val file = overwrite(pcap(frames(30)), 24 + 9 * size + 8, Little.u32(wrong))
      assert(good(seen(file)) == (0 until 30).filterNot(_ == 9).map(time), wrong)
      assert(seen(file)(9) ==
        s"a packet of ${frame.length} bytes of which $wrong were captured, and no record behind them")
    }
    val longer = pcap(frames(30).map(_.copy(length = 10)))
    assert(read(longer).rows.map(_("time")) == (0 until 30).map(time), "a writer that always says so")
  }

  test("a first packet from a clock that was not set") {
    for (first <- Seq(0L, 5L, 631151999L)) {
      val file = pcap(Kept(first, 1, frame) +: frames(30))
      val at = 24 + 9 * (16 + frame.length)
      val rows = seen(overwrite(file, at + 8, Little.u32(-1)))
      assert(good(rows) == (first * 1000000 + 1) +: (0 until 30).filterNot(_ == 8).map(time))
    }
    val packets = frames(6000).map(k => k.copy(bytes = frame ++ new Array[Byte](700)))
    val bytes = pcap(Kept(0, 1, frame) +: packets)
    val file = new Memory(bytes)
    val part = readAll(CaptureFiles.open(file, 3000000, bytes.length.toLong, Policy.FAILFAST, null))
    assert(!file.opened.contains(24L), "found without the file's beginning")
    val first = 1 + (3000000 - 24 - 16 - frame.length + 761) / (16 + frame.length + 700)
    assert(part.rows.map(_("time")).headOption.contains(time(first - 1)) && part.rows.last("time") == time(5999))
  }

  test("files one behind the other") {
    val (a, b) = frames(20).splitAt(8)
    for (order <- Seq(Little, Big); nano <- Seq(false, true)) {
      val rows = read(pcap(a, order, nano) ++ pcap(b, order, nano)).rows
      assert(rows.map(_("time_nanos")) ==
        (0 until 20).map(i => (1700000000L + i) * 1000000000L + i * (if (nano) 1 else 1000)))
    }
    val others = Seq(pcap(b, Big), pcap(b, nano = true), pcap(b, link = 101))
    for (other <- others; policy <- Seq(Policy.PERMISSIVE, Policy.DROPMALFORMED)) {
      val result = read(pcap(a) ++ other, policy)
      assert(result.rows.take(8).map(_("time")) == (0 until 8).map(time))
      assert(result.rows.drop(8).map(r => (r("_file_offset"), r("problem").toString.take(29))) ==
        (if (policy == Policy.PERMISSIVE) Seq((pcap(a).length, "the header of another capture")) else Nil))
      assert(result.counters.unreadableBytes == other.length && result.counters.bytes == pcap(a).length + other.length)
    }
    for (other <- others) assert(intercept[WireException](read(pcap(a) ++ other)).offset == pcap(a).length)
    assert(seen(pcap(a) ++ pcapHeader().take(20)).drop(8) == Seq("the file ends in the header of another capture"))
  }
}
