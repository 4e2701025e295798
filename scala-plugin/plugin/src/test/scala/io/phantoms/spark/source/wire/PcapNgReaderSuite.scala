package io.phantoms.spark.source.wire

import io.phantoms.spark.source.wire.Wire._

import org.scalatest.funsuite.AnyFunSuite

class PcapNgReaderSuite extends AnyFunSuite {
  private val frame = ethernet(0x800, ipv4(17, udp(1, 2, hex("0102"))))

  private def resolution(n: Int): Array[Byte] = option(9, Array(n.toByte))

  test("a file written down by hand") {
    val file = hex("""
      0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c
      00000001 00000014 0001 0000 00000000 00000014
      00000006 00000030 00000000 000462d5 3c8ae1c0 0000000e 00000040 ffffffffffff 020000000001 88b5 0000 00000030
    """)
    val rows = read(file).rows
    assert(rows.size == 1)
    val row = rows.head
    assert(row("time_nanos") == 0x462d53c8ae1c0L * 1000)
    assert((row("caplen"), row("length"), row("interface"), row("link_type"), row("_file_offset"), row("ether_type")) ==
      ((14, 64, 0, 1, 48, 0x88b5)))
  }

  test("sections of either byte order, interfaces of each their own") {
    val parts = Seq(Little, Big, Little).map { o =>
      join(
        section(o),
        interface(1, order = o),
        interface(
          101,
          options = option(2, "eth0".getBytes, o) ++ option(9, Array(9.toByte), o) ++ option(0, Array(), o),
          order = o
        ),
        enhanced(frame, 5, 0, order = o),
        block(5, new Array[Byte](8), o),
        enhanced(frame.drop(14), 6, 1, options = option(1, "a comment".getBytes, o), order = o)
      )
    }
    for (piece <- Seq(1, 13, 100000)) {
      val result = read(join(parts: _*), piece = piece)
      assert(result.rows.map(r => (r("interface"), r("link_type"), r("time_nanos"), r("srcport"))) ==
        Seq.fill(3)(Seq((0, 1, 5000, 1), (1, 101, 6, 1))).flatten)
      assert(result.counters.bytes == parts.map(_.length).sum && result.counters.unreadableBytes == 0)
    }
  }

  test("resolutions: powers of ten and of two, offsets, and times that do not fit") {
    def nanos(time: Long, options: Array[Byte]): Any =
      read(section() ++ interface(options = options) ++ enhanced(frame, time), Policy.PERMISSIVE).rows.head
        .getOrElse("time_nanos", "none")
    assert(nanos(1234567, Array()) == 1234567000L)
    assert(nanos(3, resolution(0)) == 3000000000L)
    assert(nanos(1234567, resolution(3)) == 1234567000000L)
    assert(nanos(1234567, resolution(9)) == 1234567L)
    assert(nanos(1234567, resolution(12)) == 1234L)
    assert(nanos(-1, resolution(10)) == 1844674407370955161L, "unsigned")
    assert(nanos(-1, resolution(27)) == 18L)
    assert(nanos(-1, resolution(40)) == 0L)
    assert(nanos(3, resolution(0x80)) == 3000000000L)
    assert(nanos(3L << 20, resolution(0x80 | 21)) == 1500000000L)
    assert(nanos((1700000000L << 32) | (1L << 31), resolution(0x80 | 32)) == 1700000000500000000L)
    assert(nanos(-1, resolution(0x80 | 64)) == 999999999L)
    assert(nanos(-1, resolution(0x80 | 127)) == 0L)
    assert(nanos(-1, resolution(6)) == "none")
    assert(nanos(-1, resolution(0x80)) == "none")
    assert(nanos(1L << 62, resolution(0x80 | 2)) == "none")
    assert(nanos(7, resolution(9) ++ option(14, Little.u64(1700000000L))) == 1700000000000000007L)
    assert(nanos(7, option(14, Little.u64(-2))) == -2000000000L + 7000)
    assert(nanos(7, option(14, Little.u64(Long.MaxValue))) == "none")
    assert(nanos(7, option(14, Little.u64(Long.MinValue))) == "none")
    assert(nanos(7, option(0, Array()) ++ resolution(9)) == 7000L, "behind the end of options")
    assert(nanos(7, Little.u16(9) ++ Little.u16(60000)) == 7000L, "an option that is longer than its block")
    val row = read(section() ++ interface(options = option(14, Little.u64(-2))) ++ enhanced(frame, 7)).rows.head
    assert(row("time") == -1999993L)
  }

  test("simple and obsolete packet blocks, unknown blocks") {
    val simple = block(3, Little.u32(frame.length.toLong) ++ padded(frame))
    val cut = block(3, Little.u32(frame.length.toLong) ++ padded(frame.take(20)))
    val obsolete = block(
      2,
      join(
        Little.u16(1),
        Little.u16(7),
        Little.u32(0),
        Little.u32(9),
        Little.u32(frame.length.toLong),
        Little.u32(1000),
        padded(frame),
        option(1, "x".getBytes)
      )
    )
    val unknown = block(0x80001234L, new Array[Byte](100))
    val file = section() ++ unknown ++ interface(snaplen = 20) ++ interface(1, 0) ++ cut ++ unknown ++ obsolete
    val rows = read(file).rows
    assert(rows.map(_.get("time_nanos").orNull) == Seq(null, 9000L))
    assert(rows.map(_("caplen")) == Seq(20, frame.length))
    assert(rows.map(_("length")) == Seq(frame.length, 1000))
    assert(rows.map(_("interface")) == Seq(0, 1))
    assert(read(section() ++ interface() ++ simple).rows.map(r => (r("caplen"), r("srcport"))) ==
      Seq((frame.length, 1)))
  }

  private def problems(file: Array[Byte]) =
    read(file, Policy.PERMISSIVE).rows.flatMap(r => r.get("problem").map(p => (r("_file_offset"), p)))

  test("packets whose block does not make sense") {
    val start = section() ++ interface()
    val at = start.length
    assert(problems(start ++ enhanced(frame, 1, interface = 1)) == Seq((at, "interface 1 is not described")))
    assert(problems(start ++ enhanced(frame, 1, interface = -1)) == Seq((at, "interface 4294967295 is not described")))
    assert(problems(section() ++ section() ++ enhanced(frame, 1)) == Seq((56, "interface 0 is not described")))
    assert(problems(section() ++ block(1, Array()) ++ enhanced(frame, 1)) ==
      Seq((40, "interface 0 is not described")))
    val tooLong = enhanced(frame, 1).patch(20, Little.u32(45), 4)
    assert(problems(start ++ tooLong ++ enhanced(frame, 1)) ==
      Seq((at, "a packet of 45 bytes in a block with room for 44")))
    assert(problems(start ++ block(6, new Array[Byte](16))) == Seq((at, "a packet block of 28 bytes")))
    assert(problems(start ++ block(3, Array())) == Seq((at, "a packet block of 12 bytes")))
    assert(problems(start ++ block(2, Array())) == Seq((at, "a packet block of 12 bytes")))
    assert(problems(start ++ block(3, Little.u32(-1) ++ padded(frame))) ==
      Seq((at, "a packet of 4294967295 bytes on the wire")))
  }

  test("damaged blocks: what follows is found again") {
    val start = section() ++ interface()
    val good = enhanced(frame, 1)
    for (
      broken <- Seq(
        good.patch(good.length - 4, Little.u32(4), 4),
        good.patch(4, Little.u32(0), 4),
        good.patch(4, Little.u32(11), 4),
        good.patch(4, Little.u32(good.length + 1L), 4),
        good.patch(4, Little.u32(0x7fffffffL), 4),
        good.patch(4, Little.u32(-1), 4),
        good.dropRight(4),
        good.drop(3),
        hex("0a0d0d0a 1c000000 00000000") ++ good.drop(12)
      )
    ) {
      val file = join(start +: Seq.fill(3)(good) :+ broken :++ Seq.fill(9)(good): _*)
      val permissive = read(file, Policy.PERMISSIVE)
      assert(permissive.rows.size == 13, text(broken))
      assert(permissive.rows.count(_.contains("problem")) == 1)
      assert(permissive.rows(3)("_file_offset") == start.length + 3 * good.length)
      val c = permissive.counters
      assert((c.packets, c.decoded, c.malformed, c.unreadableBytes, c.bytes) ==
        ((13, 12, 1, broken.length, file.length)))
      assert(read(file, Policy.DROPMALFORMED).rows.size == 12)
      assert(intercept[WireException](read(file)).offset == start.length + 3 * good.length)
    }
  }

  test("a file that ends in the middle") {
    val start = section() ++ interface()
    val file = start ++ enhanced(frame, 1) ++ enhanced(frame, 2)
    val last = start.length + enhanced(frame, 1).length
    for (end <- last + 1 until file.length) {
      val result = read(file.take(end), Policy.PERMISSIVE)
      assert(result.rows.map(_("_file_offset")) == Seq(start.length, last))
      assert(result.counters.unreadableBytes == end - last && result.counters.bytes == end)
      assert(intercept[WireException](read(file.take(end))).offset == last)
    }
    for (end <- 12 until 28)
      assert(problems(section().take(end)).map(_._1) == Seq(0))
    val error = intercept[WireException](read(section().take(11), Policy.PERMISSIVE))
    assert(error.getMessage.contains("is not a capture"))
  }

  test("hostile numbers of interfaces are bounded") {
    val many = 70000
    val packets = Seq(65535L, 65536L).map(enhanced(frame, 1, _))
    val file = join((section() +: Seq.fill(many)(interface())) ++ packets: _*)
    assert(read(file, Policy.PERMISSIVE).rows.map(_.contains("problem")) == Seq(false, true))
  }
}
