package io.phantoms.spark.source.wire

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.wire.Wire._

import org.scalatest.funsuite.AnyFunSuite

/** What packets of a pcapng file are said to be once damage hid what their interfaces or sections are. */
class PcapNgDamageSuite extends AnyFunSuite {
  private val frame = ethernet(0x800, ipv4(17, udp(1, 2, hex("0102"))))
  private def nanos(order: Wire.Order = Little) =
    interface(options = option(9, Array(9.toByte), order), order = order)
  private def packets(n: Int, from: Int, number: Int = 0, order: Wire.Order = Little): Array[Byte] =
    join((from until from + n).map(i => enhanced(frame, i.toLong, number.toLong, order = order)): _*)

  /** Nanoseconds of packets, and problems of others. */
  private def seen(file: Array[Byte]): Seq[Any] = {
    val whole = read(file, Policy.PERMISSIVE).rows
    for (size <- Seq(1, 100, 333)) {
      val parts = CaptureFiles.splits(new Memory(file), size.toLong).asScala.toSeq.flatMap { part =>
        readAll(CaptureFiles.open(new Memory(file), part, Policy.PERMISSIVE, null)).rows
      }
      assert(parts == whole, s"parts of $size")
    }
    whole.map(r => r.getOrElse("problem", r("time_nanos")))
  }

  private def openEnded(block: Array[Byte]): Array[Byte] =
    block.updated(block.length - 4, (block(block.length - 4) ^ 0x40).toByte)

  private def unknown(n: Int, number: Int = 0): Seq[String] = Seq.fill(n)(s"interface $number is not described")

  test("interfaces behind a damaged one are not known by another's number") {
    for (broken <- Seq(openEnded(interface()), interface().patch(4, Little.u32(0), 4))) {
      val file = join(
        section(),
        interface(),
        broken,
        nanos(),
        packets(9, 0),
        packets(9, 9, 1),
        packets(9, 18, 2),
        section(),
        nanos(),
        packets(3, 5)
      )
      val rows = seen(file)
      assert(rows.patch(0, Nil, 1) ==
        (0 until 9).map(_ * 1000L) ++ unknown(9, 1) ++ unknown(9, 2) ++ Seq(5L, 6L, 7L))
      assert(rows.head.toString.contains(if (broken(4) == 0) "no block can begin so"
      else "does not end with its length"))
    }
  }

  test("interfaces of a section whose header is damaged do not go to the section before") {
    for (order <- Seq(Little, Big)) {
      val whole = section(order)
      val damaged = Seq(
        "the length at its end" -> openEnded(whole),
        "its length" -> whole.patch(4, order.u32(0), 4),
        "a length of others" -> whole.patch(4, order.u32(24), 4),
        "its magic" -> whole.patch(8, order.u32(7), 4),
        "its type and length" -> whole.patch(0, order.u32(77), 4).patch(4, order.u32(3), 4),
        "all of it" -> new Array[Byte](28)
      )
      for ((what, header) <- damaged) {
        val file = join(
          section(),
          interface(),
          interface(),
          packets(2, 0, 1),
          header,
          nanos(order),
          nanos(order),
          packets(9, 9, 0, order),
          packets(9, 9, 1, order),
          section(),
          nanos(),
          packets(1, 5)
        )
        val rows = seen(file)
        assert(rows.patch(2, Nil, 1) == Seq(0L, 1000L) ++ unknown(9) ++ unknown(9, 1) :+ 5L, s"$what, $order")
        assert(rows(2).toString.contains("block"))
      }
    }
  }

  test("the file's first header is damaged") {
    for (order <- Seq(Little, Big)) {
      val file = section(order).patch(4, order.u32(0), 4) ++ nanos(order) ++ packets(9, 0, 0, order)
      val rows = seen(file)
      assert(rows.size == 10 && rows.tail == unknown(9))
    }
  }

  test("damaged packets leave the interfaces as they are") {
    val broken = enhanced(frame, 1)
    for (packet <- Seq(openEnded(broken), broken.patch(4, Little.u32(0), 4), broken.patch(4, Little.u32(0x10000), 4))) {
      val file = join(section(), nanos(), packets(3, 0), packet, interface(), packets(9, 3), packets(9, 12, 1))
      assert(seen(file).patch(3, Nil, 1) == (0 until 12).map(_.toLong) ++ (12 until 21).map(_ * 1000L))
    }
  }

  test("a capture in a damaged packet is not read") {
    val inner = section() ++ nanos() ++ packets(20, 500)
    for (shift <- 0 until 4) {
      val outer = enhanced(frame ++ new Array[Byte](shift) ++ inner, 3)
      for (broken <- Seq(openEnded(outer), outer.patch(4, Little.u32(0), 4))) {
        val file = join(section(), nanos(), packets(3, 0), broken, packets(9, 4))
        assert(seen(file).patch(3, Nil, 1) == (0 until 13).filterNot(_ == 3).map(_.toLong))
      }
    }
  }

  test("a simple packet has no time that could be beyond what can be said") {
    val simple = block(3, Little.u32(frame.length.toLong) ++ padded(frame))
    val file = section() ++ interface(options = option(14, Little.u64(Long.MinValue))) ++ simple
    val row = read(file).rows.head
    assert(row("srcport") == 1 && row("caplen") == frame.length && !row.contains("time"))
  }
}
