package io.phantoms.spark.source.wire

import scala.jdk.CollectionConverters._
import scala.util.Random

import io.phantoms.spark.source.wire.Wire._

import org.scalatest.funsuite.AnyFunSuite

/** What is compared of a record: enough to know it by. */
private final case class Seen(offset: Long, time: Long, length: Int, problem: String)

/** The parts of a file have every record once, and the same records as the whole, whatever the packets carry. */
class CaptureSplitsSuite extends AnyFunSuite {
  private val frame = ethernet(0x800, ipv4(17, udp(1, 2, hex("0102"))))

  private def seen(reader: CaptureReader, counters: WireCounters): Seq[Seen] =
    try {
      val out = Seq.newBuilder[Seen]
      while (reader.next()) {
        val p = reader.packet()
        out += Seen(p.offset, p.number(Packets.TIME_NANOS), p.capturedLength, p.problem)
      }
      counters.add(reader.counters())
      out.result()
    } finally reader.close()

  private def counted(c: WireCounters): Seq[Long] =
    Seq(c.packets, c.decoded, c.malformed, c.truncated, c.bytes, c.unreadableBytes)

  /**
   * Checks every division into parts of these sizes; answers how many parts were found without the file's beginning.
   */
  private def check(bytes: Array[Byte], sizes: Seq[Int], policy: Policy = Policy.FAILFAST): Int = {
    val all = new WireCounters
    val whole = seen(CaptureFiles.open(new Memory(bytes), 0, bytes.length.toLong, policy, null), all)
    assert(whole.nonEmpty)
    sizes.map { size =>
      val sum = new WireCounters
      val file = new Memory(bytes)
      val parts = CaptureFiles.splits(file, size.toLong).asScala.toSeq
      assert(parts.head.start == 0 && parts.last.end == bytes.length)
      assert(parts.zip(parts.tail).forall { case (a, b) => a.end == b.start })
      val union = parts.flatMap { part =>
        val records = seen(CaptureFiles.open(file, part, policy, null), sum)
        assert(records.forall(r => r.offset >= part.start && r.offset < part.end))
        records
      }
      assert(union == whole, s"parts of $size bytes")
      assert(counted(sum) == counted(all), s"parts of $size bytes")
      assert(file.closed == file.opened.size)
      parts.tail.count { p =>
        val before = file.opened.size
        CaptureFiles.open(file, p.start, p.end, policy, null).close()
        !file.opened.drop(before + 1).contains(24L)
      }
    }.sum
  }

  private def traffic(random: Random, n: Int, payload: => Array[Byte]): Seq[Kept] = {
    var time = 1700000000L * 1000000
    (0 until n).map { _ =>
      time += random.nextInt(2000)
      Kept(time / 1000000, time % 1000000, ethernet(0x800, ipv4(17, udp(1, 2, payload))))
    }
  }

  private def noise(random: Random, most: Int): Array[Byte] = {
    val bytes = new Array[Byte](random.nextInt(most))
    random.nextBytes(bytes)
    bytes
  }

  test("a small file in parts of every size") {
    val random = new Random(1)
    val file = pcap(traffic(random, 12, noise(random, 40)))
    check(file, 1 to file.length + 1)
    val ng = section() ++ interface() ++ join(traffic(random, 12, noise(random, 40)).map(k => enhanced(k.bytes, 7)): _*)
    check(ng, 1 to ng.length + 1)
  }

  test("ordinary traffic: records are found without the file's beginning") {
    val random = new Random(2)
    for (order <- Seq(Little, Big)) {
      val file = pcap(traffic(random, 6000, noise(random, 1400)), order)
      val sizes = Seq(300000, 777777)
      val expected = sizes.map(size => (size until file.length by size).count(_ > PcapStart.REACH + 24)).sum
      assert(check(file, sizes) == expected)
    }
  }

  test("payloads of zeros, of small numbers, of text") {
    val random = new Random(3)
    val payloads = Seq[() => Array[Byte]](
      () => new Array[Byte](random.nextInt(1400)),
      () => join((0 until random.nextInt(350)).map(i => Little.u32(i.toLong)): _*),
      () => ("GET / HTTP/1.1\r\n" * random.nextInt(80)).getBytes
    )
    val file = pcap(traffic(random, 6000, payloads(random.nextInt(3))()))
    assert(check(file, Seq(250000, 611111)) > 0)
  }

  /** Records of the same time and kind as the file's own. */
  private def inner(random: Random, n: Int): Array[Byte] =
    join(traffic(random, n, noise(random, 100)).map(record(_)): _*)

  test("captures within packets, at every alignment, with and without a header, ending with the packet or before") {
    val random = new Random(4)
    for (tail <- Seq(0, 1, 16)) {
      var alignment = 0
      val file = pcap(traffic(
        random,
        4000, {
          alignment += 1
          val within =
            if (random.nextBoolean()) pcap(Seq(Kept(1700000000L, 5, frame))) else inner(random, 1 + random.nextInt(12))
          new Array[Byte](alignment % 64) ++ within ++ noise(random, tail + 1)
        }
      ))
      check(file, Seq(200003, 431111))
    }
  }

  test("a capture in large packets: its records outnumber the file's own") {
    val random = new Random(5)
    val file = pcap(traffic(random, 40, { noise(random, 64) ++ inner(random, 500) }))
    check(file, Seq(100001, 333333))
  }

  test("damage where a part begins, before and behind it") {
    val random = new Random(6)
    val packets = traffic(random, 4000, noise(random, 600))
    val starts = packets.scanLeft(24)((at, k) => at + 16 + k.bytes.length)
    for (round <- 1 to 6) {
      val file = pcap(packets)
      for (_ <- 1 to round * 3) {
        val at = starts(random.nextInt(packets.size))
        Array.copy(Little.u32(Seq(0L, 1L, 3000L, 0x7fffffffL, 0xffffffffL)(random.nextInt(5))), 0, file, at + 8, 4)
      }
      check(file, Seq(111111, 500000), Policy.PERMISSIVE)
      check(file, Seq(150001), Policy.DROPMALFORMED)
    }
  }

  test("damage among packets that carry captures: no row of those, wherever parts begin") {
    val random = new Random(10)
    // Times before any of the file's own.
    def captures: Array[Byte] =
      join((0 until 1 + random.nextInt(12)).map(i => record(Kept(1600000000L + i, 1, frame))): _*)
    val packets = traffic(random, 6000, captures ++ new Array[Byte](1 + random.nextInt(900)))
    val starts = packets.scanLeft(24)((at, k) => at + 16 + k.bytes.length)
    for (damages <- 1 to 4) {
      val file = pcap(packets)
      val damaged = Seq.fill(damages)(starts(300 + random.nextInt(packets.size - 300))).distinct
      damaged.foreach(at => Array.copy(Little.u32(-1) ++ Little.u32(-1), 0, file, at + 8, 8))
      val whole = CaptureFiles.open(new Memory(file), 0, file.length.toLong, Policy.DROPMALFORMED, null)
      val rows = seen(whole, new WireCounters)
      val own = starts.zip(packets).filterNot(p => damaged.contains(p._1)).map { case (at, k) =>
        Seen(at.toLong, k.seconds * 1000000000L + k.fraction * 1000, k.bytes.length, null)
      }
      assert(rows.toSet.subsetOf(own.toSet), "rows of captures within packets")
      assert(rows.take(300) == own.take(300))
      if (damages == 1) {
        // All chains have met within two steps; what lies before is unreadable.
        val from = damaged.head
        def far(all: Seq[Seen]) = all.filter(r => r.offset < from || r.offset > from + 2 * PcapStart.STEP)
        assert(far(rows) == far(own) && far(own).size > 5000)
      }
      check(file, Seq(111111, 700001), Policy.PERMISSIVE)
    }
  }

  test("a clock that jumps by decades") {
    val random = new Random(7)
    val packets = traffic(random, 4000, noise(random, 600)).zipWithIndex.map { case (k, i) =>
      if (i / 700 % 2 == 1) k.copy(seconds = i.toLong) else k
    }
    check(pcap(packets), Seq(200000))
  }

  test("what is found is the chain's, or nothing where another could be") {
    val random = new Random(8)
    val format = PcapFormat.read(pcap(Seq(Kept(1700000000L, 1, frame))), 0, true)
    def survey(records: Seq[Array[Byte]], start: Int, whole: Boolean = false): Int = {
      val before = new Array[Byte](300)
      random.nextBytes(before)
      val window = join(before +: records: _*)
      new PcapStart(window, whole, format).survey(start, if (whole) window.length else start.max(window.length - 200))
    }
    val own = (0 until 100).map(i => record(Kept(1700000000L + i, 500000, frame)))
    val size = own.head.length
    for (start <- 400 to 600) {
      val window = join(new Array[Byte](300) +: own: _*)
      assert(new PcapStart(window, false, format).survey(start, 3000) == 300 + (start - 300 + size - 1) / size * size)
    }
    assert(survey(own, 2000) > 0)
    assert(survey(own.take(7), 350) == -1, "too short")
    // Two records within a packet, the second of which ends with it: their chain goes on as the file's own.
    val within = record(Kept(1700000000L, 500000, new Array[Byte](20)))
    val outer = record(Kept(1700000000L, 500000, new Array[Byte](50) ++ within ++ within))
    val nested = own.patch(20, Seq(outer), 1)
    val at = 300 + 20 * size
    assert(survey(nested, at + 66 + 1) == -1, "the next record is the second within, or the one behind both")
    assert(survey(nested, at + 66) == at + outer.length)
    assert(survey(nested, at + 66 + within.length + 1) == at + outer.length, "both chains have met")
    assert(survey(own.patch(50, Seq(new Array[Byte](16)), 1), 2000) == -1, "damage")
    assert(survey(own.patch(50, Seq(record(Kept(5, 1, frame))), 1), 2000) == -1, "an odd time")
    assert(survey(own, 2000, whole = true) > 0)
    assert(survey(own :+ new Array[Byte](1), 2000, whole = true) == -1)
    assert(survey(Seq(noise(random, 5000)), 2000) == -1)
  }

  test("pcapng: parts begin with a block, and know section and interfaces") {
    val random = new Random(9)
    val parts = (0 until 6).flatMap { s =>
      val o = if (s % 2 == 0) Little else Big
      val interfaces = (0 to s).map { i =>
        interface(if (i % 2 == 0) 1 else 101, options = option(9, Array((6 + i).toByte), o), order = o)
      }
      val packets = (0 until 300).map { i =>
        val n = random.nextInt(s + 1)
        val bytes = if (n % 2 == 0) frame else frame.drop(14)
        // A capture within a packet.
        val more = if (i % 10 == 0) section() ++ interface() ++ enhanced(frame, 1) else noise(random, 300)
        enhanced(bytes ++ more, i.toLong, n.toLong, order = o)
      }
      val late = interface(228, order = o) +: Seq(enhanced(frame.drop(14), 9, s + 1L, order = o))
      section(o) +: (interfaces ++ packets ++ late)
    }
    val file = join(parts: _*)
    check(file, Seq(1, 999, 5000, 100000))
    val broken = file.clone()
    for (_ <- 1 to 20) broken(random.nextInt(broken.length - 100) + 100) = random.nextInt().toByte
    check(broken, Seq(997, 40000), Policy.PERMISSIVE)
    // Whoever cuts anywhere gets the same, more slowly.
    val whole = read(file).rows.map(_("_file_offset"))
    val cuts = (0 to file.length by 77777) :+ file.length
    val union = cuts.zip(cuts.tail).flatMap { case (a, b) =>
      val part = CaptureFiles.open(new Memory(file), a.toLong, b.toLong, Policy.FAILFAST, null)
      readAll(part).rows.map(_("_file_offset"))
    }
    assert(union == whole)
  }

  test("a pcapng file that changed since it was divided") {
    val file = section() ++ interface() ++ join(Seq.fill(50)(enhanced(frame, 1)): _*)
    val part = CaptureFiles.splits(new Memory(file), 1000).get(1)
    val changed = new Memory(file.updated(0, 0.toByte).updated(32, 3.toByte).patch(0, hex("0a0d0d0a"), 4))
    val error = intercept[WireException](readAll(CaptureFiles.open(changed, part, Policy.PERMISSIVE, null)))
    assert(error.getMessage.contains("Was the file changed meanwhile?"))
    assert(changed.closed == changed.opened.size)
  }
}
