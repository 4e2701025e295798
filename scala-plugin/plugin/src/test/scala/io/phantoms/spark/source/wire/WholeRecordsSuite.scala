package io.phantoms.spark.source.wire

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, InputStream}
import java.util.zip.GZIPOutputStream

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** How far a capture in the making is followed. */
class WholeRecordsSuite extends AnyFunSuite {
  import Wire._

  /** The first bytes of a file that has more by the time it is read. */
  private final class Growing(bytes: Array[Byte], override val length: Long) extends CaptureFile {
    override def path(): String = "memory:/growing"
    override def open(offset: Long): InputStream =
      new ByteArrayInputStream(bytes, offset.toInt, bytes.length - offset.toInt)
  }

  private def packet(n: Int) = ethernet(0x0800, ipv4(17, udp(1, 2, new Array[Byte](n))))

  /** At all lengths, from all records on: as far as records are whole. */
  private def check(bytes: Array[Byte], ends: Seq[Int], kept: Boolean): Unit = {
    val whole = Seq.newBuilder[WholeRecords]
    for (length <- ends.head to bytes.length) {
      val cut = if (kept) bytes else bytes.take(length)
      val found = WholeRecords.of(new Growing(cut, length.toLong), 0, null)
      assert(found.end == ends.filter(_ <= length).last, length)
      if (ends.contains(length)) whole += found
    }
    val starts = whole.result()
    for (start <- starts; length <- start.end.toInt to bytes.length) {
      val found = WholeRecords.of(new Growing(bytes, length.toLong), start.end, start.headers)
      assert(found.end == ends.filter(_ <= length).last)
      assert(found.headers == starts.filter(_.end <= length).last.headers)
    }
  }

  test("pcap of either order, cut anywhere, and longer by now than it was") {
    for (order <- Seq(Big, Little); kept <- Seq(false, true)) {
      val packets = (0 until 6).map(i => Kept(1700000000L + i, 1, packet(i * 3)))
      val ends = packets.scanLeft(24)((at, p) => at + 16 + p.bytes.length)
      check(pcap(packets, order), ends, kept)
    }
  }

  test("pcapng: sections and interfaces are known where it goes on") {
    val blocks = Seq(
      interface(),
      enhanced(packet(3), 1),
      interface(link = 101),
      enhanced(packet(5), 2),
      section(Big),
      interface(order = Big),
      enhanced(packet(7), 3, order = Big)
    )
    val ends = blocks.scanLeft(28)(_ + _.length)
    val bytes = join(section() +: blocks: _*)
    check(bytes, ends, kept = false)
    check(bytes, ends, kept = true)
    val middle = WholeRecords.of(new Memory(bytes.take(ends(4))), 0, null)
    assert(middle.end == ends(4) && middle.headers.size == 3)
    val rest = readAll(CaptureFiles.open(
      new Memory(bytes.take(ends(4) + 0)),
      new Split(ends(3).toLong, ends(4).toLong, middle.headers),
      Policy.FAILFAST,
      null
    ))
    assert(rest.rows.size == 1)
  }

  test("a reader that is told where a record begins need not look for it") {
    val packets = (0 until 6).map(i => Kept(1700000000L + i, 1, packet(i * 3)))
    val file = new Memory(pcap(packets))
    val found = WholeRecords.of(new Growing(pcap(packets), 200), 0, null)
    file.opened = Nil
    val rest = CaptureFiles.open(file, new Split(found.end, file.length, found.headers), Policy.FAILFAST, null)
    val rows = readAll(rest).rows
    assert(
      rows.map(_("_file_offset")).head == found.end && rows.size < 6 && rows.last("caplen") == packets.last.bytes.length
    )
    assert(file.opened == Seq(0, found.end))
  }

  test("damage ends it") {
    val packets = (0 until 3).map(i => Kept(1700000000L + i, 1, packet(i)))
    val bytes = pcap(packets)
    val at = 24 + 16 + packets.head.bytes.length
    java.util.Arrays.fill(bytes, at + 8, at + 12, 0x7f.toByte)
    assert(WholeRecords.of(new Memory(bytes), 0, null).end == at)
  }

  test("past damage, as readers go that have read it; damage that leads nowhere is not whole") {
    val packets = (0 until 20).map(i => Kept(1700000000L + i, 1, packet(i)))
    val ends = packets.scanLeft(24)((at, p) => at + 16 + p.bytes.length)
    val bytes = pcap(packets)
    java.util.Arrays.fill(bytes, ends(3) + 8, ends(3) + 12, 0x7f.toByte)
    def found(length: Int) = WholeRecords.pastDamage(new Memory(bytes.take(length)), ends(1).toLong, null).end
    assert(found(bytes.length) == bytes.length && found(ends(3)) == ends(3))
    assert(found(ends(18) + 3) == ends(18))
    assert(found(ends(4)) == ends(3) && found(ends(5) + 3) == ends(3) && found(ends(5)) == ends(5))
  }

  test("other files are not followed") {
    val out = new ByteArrayOutputStream
    val zip = new GZIPOutputStream(out)
    zip.write(pcap(Seq(Kept(1, 1, packet(1)))))
    zip.close()
    Seq(out.toByteArray, Array.emptyByteArray, "a text that is long enough to be one".getBytes, pcapHeader().take(23))
      .foreach(b => assert(WholeRecords.of(new Memory(b), 0, null) == null))
  }

  test("a checksum tells two beginnings apart") {
    val bytes = new Array[Byte](600)
    new Random(1).nextBytes(bytes)
    def sum(of: Array[Byte]) = WholeRecords.checksum(new Memory(of), 512)
    assert(sum(bytes) == sum(bytes.take(512)) && sum(bytes.updated(511, (bytes(511) + 1).toByte)) != sum(bytes))
  }
}
