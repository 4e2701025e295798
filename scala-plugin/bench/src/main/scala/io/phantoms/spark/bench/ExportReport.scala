package io.phantoms.spark.bench

import java.io.ByteArrayInputStream
import java.nio.ByteBuffer
import java.nio.file.{Files, Paths}

import scala.util.Random

import io.phantoms.spark.source.`export`.{ExportReader, Flows}
import io.phantoms.spark.source.wire.{ByteSupply, Policy}

/**
 * How many flow records a core decodes in a second, of v5, v9 and IPFIX, with all columns and with six of them, beside a
 * plain loop that adds up the octets of the same bytes at places that it knows.
 *
 * Usage: `ExportReport [FILE.json]`. Exports of a million records lie in memory; every case has its turn in each of a few
 * rounds, and the median counts.
 */
object ExportReport {
  private val Records = 1000000
  private val Rounds = 9
  private val PerDatagram = 28

  private final case class Case(name: String, run: () => Long)

  def main(args: Array[String]): Unit = {
    val all = Array.fill(Flows.COUNT)(true)
    val six = new Array[Boolean](Flows.COUNT)
    Seq(Flows.SRCADDR, Flows.DSTADDR, Flows.SRCPORT, Flows.DSTPORT, Flows.PACKETS, Flows.OCTETS).foreach(six(_) = true)
    val exports = Seq("v5" -> v5(), "v9" -> templated(9), "ipfix" -> templated(10))
    val cases = exports.flatMap { case (name, file) =>
      Seq(
        Case(s"$name all columns", () => decode(file, all)),
        Case(s"$name six columns", () => decode(file, six)),
        Case(s"$name plain loop", () => plain(file, name == "v5"))
      )
    }
    val expected = cases.head.run()
    val times = (1 to Rounds).flatMap { _ =>
      cases.map { c =>
        val started = System.nanoTime
        val octets = c.run()
        val time = (System.nanoTime - started).toDouble
        require(octets == expected, s"${c.name}: $octets octets, not $expected")
        c.name -> time
      }
    }.groupMap(_._1)(_._2)
    val rates = cases.map(c => c.name -> Records * 1e3 / median(times(c.name).drop(2)))
    rates.foreach { case (name, rate) => println(f"$name%-20s $rate%7.1f million records/s") }
    args.headOption.foreach { out =>
      val rows = rates.map { case (name, rate) => f"""    {"case": "$name", "million_per_second": $rate%.2f}""" }
      val _ = Files.writeString(
        Paths.get(out),
        rows.mkString("{\n  \"name\": \"exports\",\n  \"cases\": [\n", ",\n", "\n  ]\n}\n")
      )
    }
  }

  private def median(values: Seq[Double]): Double = values.sorted.apply(values.size / 2)

  private def decode(file: Array[Byte], wanted: Array[Boolean]): Long = {
    val supply = new ByteSupply("memory", new ByteArrayInputStream(file), 0)
    val reader = new ExportReader(supply, Policy.FAILFAST, wanted)
    var octets = 0L
    while (reader.next()) octets += reader.record().number(Flows.OCTETS)
    octets
  }

  /** Datagrams of one kind, all but the last as long as the first. */
  private def plain(file: Array[Byte], v5: Boolean): Long = {
    val buffer = ByteBuffer.wrap(file)
    var octets = 0L
    var at = 0
    while (at < file.length) {
      val version = buffer.getShort(at)
      val (header, length, count) =
        if (v5) (24, 24 + 48 * buffer.getShort(at + 2), buffer.getShort(at + 2).toInt)
        else {
          val first = at + (if (version == 9) 20 else 16)
          val template = if (buffer.getShort(first) < 256) buffer.getShort(first + 2).toInt else 0
          val set = first + template
          val bytes = buffer.getShort(set + 2) & 0xffff
          (set + 4 - at, set + bytes - at, (bytes - 4) / 48)
        }
      var i = 0
      while (i < count) {
        octets += buffer.getInt(at + header + 48 * i + 20) & 0xffffffffL
        i += 1
      }
      at += length
    }
    octets
  }

  private def record(random: Random, out: ByteBuffer): Unit = {
    val (source, destination) = (random.nextInt(), random.nextInt())
    val first = random.nextInt(900000)
    out.putInt(source).putInt(destination).putInt(0x0a000001).putShort(3).putShort(4)
    out.putInt(1 + random.nextInt(100)).putInt(40 + random.nextInt(100000)).putInt(first).putInt(first + 10000)
    out.putShort(random.nextInt(65536).toShort).putShort(443).put(0.toByte).put(27.toByte).put(6.toByte).put(0.toByte)
    val _ = out.putShort(100).putShort(200).put(24.toByte).put(16.toByte).putShort(0)
  }

  private def v5(): Array[Byte] = {
    val random = new Random(1)
    val out = ByteBuffer.allocate(Records * 50)
    (0 until Records).grouped(PerDatagram).foreach { group =>
      out.putShort(5).putShort(group.size.toShort).putInt(1000000).putInt(1767323045).putInt(0)
      out.putInt(group.head).putShort(0).putShort(0)
      group.foreach(_ => record(random, out))
    }
    java.util.Arrays.copyOf(out.array, out.position())
  }

  /** The fields of v5 by a template that every hundredth datagram repeats. */
  private def templated(version: Int): Array[Byte] = {
    val fields = Seq(
      8 -> 4,
      12 -> 4,
      15 -> 4,
      10 -> 2,
      14 -> 2,
      2 -> 4,
      1 -> 4,
      22 -> 4,
      21 -> 4,
      7 -> 2,
      11 -> 2,
      210 -> 1,
      6 -> 1,
      4 -> 1,
      5 -> 1,
      16 -> 2,
      17 -> 2,
      9 -> 1,
      13 -> 1,
      210 -> 2
    )
    val random = new Random(1)
    val out = ByteBuffer.allocate(Records * 52)
    (0 until Records).grouped(PerDatagram).zipWithIndex.foreach { case (group, i) =>
      val template = if (i % 100 == 0) 8 + 4 * fields.size else 0
      val data = 4 + 48 * group.size
      if (version == 9)
        out.putShort(9).putShort(group.size.toShort).putInt(1000000).putInt(1767323045).putInt(i).putInt(1)
      else out.putShort(10).putShort((16 + template + data).toShort).putInt(1767323045).putInt(group.head).putInt(1)
      if (template > 0) {
        out.putShort(if (version == 9) 0 else 2).putShort(template.toShort).putShort(256).putShort(fields.size.toShort)
        fields.foreach { case (element, length) => out.putShort(element.toShort).putShort(length.toShort) }
      }
      out.putShort(256).putShort(data.toShort)
      group.foreach(_ => record(random, out))
    }
    java.util.Arrays.copyOf(out.array, out.position())
  }
}
