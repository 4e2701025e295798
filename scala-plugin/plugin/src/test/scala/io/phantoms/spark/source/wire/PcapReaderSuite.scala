package io.phantoms.spark.source.wire

import io.phantoms.spark.source.wire.Wire._

import org.scalatest.funsuite.AnyFunSuite

class PcapReaderSuite extends AnyFunSuite {
  private val frame = ethernet(0x800, ipv4(17, udp(1, 2, hex("0102"))))
  private def frames(n: Int): Seq[Kept] = (0 until n).map(i => Kept(1700000000L + i, i.toLong, frame))

  test("a file written down by hand") {
    val file = hex("""
      d4c3b2a1 0200 0400 00000000 00000000 ffff0000 01000000
      15cd5b07 40e20100 0e000000 3c000000 ffffffffffff 020000000001 88b5
      16cd5b07 00000000 00000000 05000000
    """)
    val rows = read(file, Policy.PERMISSIVE).rows
    assert(rows.map(r => (r("time_nanos"), r("caplen"), r("length"), r("_file_offset"))) ==
      Seq((123456789123456000L, 14, 60, 24), (123456790000000000L, 0, 5, 54)))
    assert(rows.head("dst_mac") == "ffffffffffff" && rows.head("ether_type") == 0x88b5)
  }

  test("microseconds and nanoseconds, both byte orders, however the bytes arrive") {
    for (order <- Seq(Big, Little); nano <- Seq(false, true); piece <- Seq(1, 7, 4096)) {
      val file = pcap(Seq(Kept(0xfffffff0L, 999999, frame, 70000), Kept(0, 1, frame)), order, nano)
      val result = read(file, piece = piece)
      val (first, second) = if (nano) (999999L, 1L) else (999999000L, 1000L)
      assert(result.rows.map(_("time_nanos")) == Seq(0xfffffff0L * 1000000000L + first, second))
      assert(result.rows.map(_("length")) == Seq(70000, frame.length))
      assert(result.rows.map(_("time")).last == (if (nano) 0 else 1), "rounded down to microseconds")
      assert(result.counters.bytes == file.length)
    }
  }

  test("the upper bits of the link type tell of something else") {
    val header = pcapHeader().updated(23, 0xf4.toByte)
    assert(read(header ++ record(Kept(1, 1, frame))).rows.map(_("link_type")) == Seq(1))
  }

  test("packets longer than snaplen, or longer captured than they were, are read as they are") {
    val long = ethernet(0x800, ipv4(17, udp(1, 2, new Array[Byte](60000))))
    val short = Kept(1, 1, frame, 10)
    val rows = read(pcap(Seq(Kept(1, 1, long), short)).updated(16, 64.toByte).updated(17, 0.toByte)).rows
    assert(rows.map(_("caplen")) == Seq(long.length, frame.length))
    assert(rows.map(_("payload_length")) == Seq(60000, 2))
  }

  test("a packet longer than the buffer") {
    val large = Kept(1, 1, ethernet(0x88b5, new Array[Byte](262000)))
    assert(read(pcap(Seq.fill(5)(large))).rows.map(_("_file_offset")) == (0 until 5).map(i => 24L + i * 262030L))
  }

  test("empty files and files without packets have no records") {
    for (policy <- Policy.values) {
      assert(read(Array.emptyByteArray, policy).rows.isEmpty)
      assert(read(pcapHeader(), policy).rows.isEmpty)
    }
  }

  test("what is no capture is an error whatever the policy, and the file is closed") {
    for (policy <- Policy.values; bytes <- Seq("This is a text file.\n".getBytes, "x".getBytes, new Array[Byte](100))) {
      val file = new Memory(bytes)
      val error = intercept[WireException](CaptureFiles.open(file, 0, file.length, policy, null))
      assert(error.getMessage.startsWith("memory:/capture, byte 0: is not a capture or flow export: it begins with "))
      assert(file.closed == file.opened.size)
    }
    val message = intercept[WireException](read("This is".getBytes)).getMessage
    assert(message.contains("54 68 69 73 20 69 73 (\"This is\")"))
  }

  private def byMode(file: Array[Byte]): (Result, Result, WireException) =
    (read(file, Policy.PERMISSIVE), read(file, Policy.DROPMALFORMED), intercept[WireException](read(file)))

  test("a file that ends in the middle: the packets before, and one problem") {
    val whole = pcap(frames(3))
    val last = 24 + 2 * (16 + frame.length)
    for (end <- last + 1 until whole.length) {
      val (permissive, dropping, error) = byMode(whole.take(end))
      assert(permissive.rows.size == 3 && dropping.rows == permissive.rows.take(2))
      assert(permissive.rows.last.keySet == Set("_file_offset", "problem"))
      assert(permissive.rows.last("_file_offset") == last)
      assert(error.offset == last && error.file == "memory:/capture" && error.getMessage.contains("the file ends in"))
      for (c <- Seq(permissive.counters, dropping.counters)) {
        assert((c.packets, c.decoded, c.malformed, c.unreadableBytes, c.bytes) == ((3, 2, 1, end - last, end)))
      }
    }
    val (inHeader, _, _) = byMode(whole.take(23))
    assert(inHeader.rows.map(_("problem")) == Seq("the file ends in the header of a pcap file"))
    assert(inHeader.counters.unreadableBytes == 23 && inHeader.counters.bytes == 23)
  }

  test("a damaged length: what follows is found again") {
    val size = 16 + frame.length
    for (broken <- Seq(0xffffffffL, 0x7fffffffL, 0x80000000L, 262145L)) {
      val file = pcap(frames(30))
      Array.copy(Little.u32(broken), 0, file, 24 + 9 * size + 8, 4)
      val (permissive, dropping, error) = byMode(file)
      assert(error.offset == 24 + 9 * size)
      assert(error.getMessage.contains(s"a packet of $broken bytes, where at most 262144 are possible"))
      assert(dropping.rows.map(_("time")) == (0 until 30).filterNot(_ == 9).map(i => (1700000000L + i) * 1000000 + i))
      assert(permissive.rows.size == 30 && permissive.rows(9)("_file_offset") == 24 + 9 * size)
      val c = permissive.counters
      assert((c.packets, c.decoded, c.malformed, c.unreadableBytes) == ((30, 29, 1, size)))
      assert(c.bytes == file.length)
    }
  }

  test("damage near the end: a short chain that ends with the file is enough") {
    val size = 16 + frame.length
    val file = pcap(frames(10))
    Array.copy(Little.u32(-1), 0, file, 24 + 8 * size + 8, 4)
    assert(read(file, Policy.DROPMALFORMED).rows.size == 9)
    Array.copy(Little.u32(-1), 0, file, 24 + 9 * size + 8, 4)
    val lost = read(file, Policy.PERMISSIVE)
    assert(lost.rows.size == 9 && lost.counters.unreadableBytes == 2 * size)
  }

  test("zeros behind the last packet, as an interrupted capture leaves them") {
    val file = pcap(frames(3)) ++ new Array[Byte](1000)
    val (permissive, _, error) = byMode(file)
    assert(permissive.rows.map(_.get("problem").orNull) == Seq(null, null, null, "a record of zeros"))
    assert(permissive.counters.unreadableBytes == 1000)
    assert(error.getMessage.contains("a record of zeros"))
  }

  test("malformed packets by policy") {
    val bad = Kept(3, 3, ethernet(0x800, hex("40") ++ new Array[Byte](40)))
    val (permissive, dropping, error) = byMode(pcap(frames(2) ++ Seq(bad) ++ frames(1)))
    assert(permissive.rows.map(_.contains("problem")) == Seq(false, false, true, false))
    assert(permissive.rows(2)("src_mac") == "020000000001")
    assert(dropping.rows == permissive.rows.filterNot(_.contains("problem")))
    assert(error.offset == 24 + 2 * (16 + frame.length) && error.getMessage.contains("an IPv4 header of 0 bytes"))
    for (c <- Seq(permissive.counters, dropping.counters))
      assert((c.packets, c.decoded, c.malformed, c.skipped) == ((4, 3, 1, 0)))
  }

  test("a length on the wire that no number of SQL's INT can say") {
    val row = read(pcap(Seq(Kept(1, 1, frame, 0xfffffffeL))), Policy.PERMISSIVE).rows.head
    assert(!row.contains("length") && row("srcport") == 1)
    assert(row("problem") == "a packet of 4294967294 bytes on the wire")
  }
}
