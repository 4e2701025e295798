package io.phantoms.spark.bench

import java.io.{BufferedOutputStream, File, FileInputStream, FileOutputStream, InputStream}
import java.nio.ByteBuffer
import java.nio.file.{Files, Paths}
import java.util.{Locale, Random}

import io.phantoms.spark.source.wire.{CaptureFile, CaptureFiles, Packets, Policy}

/**
 * Packets a second of the decoder and of [[PlainPcapLoop]], on one core, over the same captures in the page cache: one
 * with whole packets, where much of the time goes into reading them, and one with little more than their headers.
 *
 * Usage: `CaptureReport FILE.json [packets]`. Both add up lengths, addresses and ports of TCP and UDP packets, and take
 * turns; the ratio is the median of the ratios within a turn. What the decoder needs for nothing but times is reported
 * beside it.
 */
object CaptureReport {
  private val WarmUp = 4
  private val Turns = 15

  private final case class Sums(packets: Long, lengths: Long, addresses: Long, ports: Long)

  def main(args: Array[String]): Unit = {
    val packets = args.drop(1).headOption.fold(1000000)(_.toInt)
    val points = Seq("whole packets" -> 65535, "headers" -> 96).map { case (name, snaplen) =>
      val file = File.createTempFile("phantoms-capture", ".pcap")
      try {
        write(file, packets, snaplen)
        measure(name, file, packets)
      } finally {
        val _ = file.delete()
      }
    }
    val text = points.mkString("{\n  \"name\": \"captures\",\n  \"points\": [\n", ",\n", "\n  ]\n}\n")
    print(text)
    val _ = Files.writeString(Paths.get(args.head), text)
  }

  private def measure(name: String, file: File, packets: Int): String = {
    val source = new Local(file)
    val turns = (1 to WarmUp + Turns).map { _ =>
      val (plain, expected) = timed(plainly(file))
      val (decoder, found) = timed(decoded(source))
      require(found == expected, s"the decoder adds up to $found, the plain loop to $expected")
      val (times, _) = timed(timesOnly(source))
      (plain, decoder, times)
    }.drop(WarmUp)
    def median(of: ((Double, Double, Double)) => Double): Double = turns.map(of).sorted.apply(Turns / 2)
    def perSecond(of: ((Double, Double, Double)) => Double): String = number("%.0f", packets / median(of))
    s"""    {"capture": "$name", "packets": $packets, "bytes": ${file.length}, """ +
      s""""plain_per_second": ${perSecond(_._1)}, "decoder_per_second": ${perSecond(_._2)}, """ +
      s""""times_only_per_second": ${perSecond(_._3)}, "ratio": ${number("%.2f", median(t => t._1 / t._2))}, """ +
      s""""turns": $Turns}"""
  }

  private def number(format: String, x: Double): String = String.format(Locale.ROOT, format, x)

  private def timed[A](body: => A): (Double, A) = {
    val start = System.nanoTime()
    val result = body
    ((System.nanoTime() - start) / 1e9, result)
  }

  private def plainly(file: File): Sums = {
    val in = new FileInputStream(file)
    try {
      val loop = new PlainPcapLoop
      loop.run(in)
      Sums(loop.packets, loop.lengths, loop.addresses, loop.ports)
    } finally in.close()
  }

  private def decoded(file: CaptureFile): Sums = {
    val reader = CaptureFiles.open(file, 0, file.length, Policy.PERMISSIVE, null)
    try {
      val record = reader.record()
      var (packets, lengths, addresses, ports) = (0L, 0L, 0L, 0L)
      while (reader.next()) {
        if (!record.isNull(Packets.SRCPORT)) {
          packets += 1
          lengths += record.number(Packets.IP_LENGTH)
          addresses += record.addressLow(Packets.SRCIP) + record.addressLow(Packets.DSTIP)
          ports += record.number(Packets.SRCPORT) + record.number(Packets.DSTPORT)
        }
      }
      Sums(packets, lengths, addresses, ports)
    } finally reader.close()
  }

  private def timesOnly(file: CaptureFile): Long = {
    val wanted = Array.tabulate(Packets.COUNT + 1)(_ == Packets.TIME)
    val reader = CaptureFiles.open(file, 0, file.length, Policy.PERMISSIVE, wanted)
    try {
      var times = 0L
      while (reader.next()) times += reader.record().number(Packets.TIME)
      times
    } finally reader.close()
  }

  private final class Local(file: File) extends CaptureFile {
    override def path(): String = file.getPath
    override def length(): Long = file.length
    override def open(offset: Long): InputStream = {
      val in = new FileInputStream(file)
      in.getChannel.position(offset)
      in
    }
  }

  /**
   * TCP and UDP over IPv4 in Ethernet: many small packets, some full ones, the rest between; here and there one of
   * IPv6.
   */
  private def write(file: File, packets: Int, snaplen: Int): Unit = {
    val out = new BufferedOutputStream(new FileOutputStream(file), 1 << 20)
    try {
      val header = ByteBuffer.allocate(24).order(java.nio.ByteOrder.LITTLE_ENDIAN)
      header.putInt(0xa1b2c3d4).putShort(2).putShort(4).putInt(0).putInt(0).putInt(snaplen).putInt(1)
      out.write(header.array)
      val random = new Random(1)
      val frame = new Array[Byte](1514)
      (0 until packets).foreach { i =>
        val length = random.nextInt(10) match {
          case n if n < 6 => 60 + random.nextInt(60)
          case n if n < 8 => 1514
          case _ => 120 + random.nextInt(1394)
        }
        val kept = length.min(snaplen)
        val record = ByteBuffer.allocate(16).order(java.nio.ByteOrder.LITTLE_ENDIAN)
        record.putInt(1700000000 + i / 100000).putInt(i % 100000 * 10).putInt(kept).putInt(length)
        out.write(record.array)
        val _ = fill(ByteBuffer.wrap(frame), length, random)
        out.write(frame, 0, kept)
      }
    } finally out.close()
  }

  private def fill(b: ByteBuffer, length: Int, random: Random): ByteBuffer = {
    val six = random.nextInt(50) == 0
    val tcp = random.nextInt(3) > 0
    val ip = length - 14
    b.putLong(0x0200000000020200L).putInt(1).putShort((if (six) 0x86dd else 0x800).toShort)
    if (six) {
      b.putInt(0x60000000).putShort((ip - 40).toShort).put((if (tcp) 59 else 50).toByte).put(64.toByte)
      b.putLong(1).putLong(random.nextLong()).putLong(2).putLong(random.nextLong())
    } else {
      b.putShort(0x4500).putShort(ip.toShort).putInt(0).put(64.toByte).put((if (tcp) 6 else 17).toByte).putShort(0)
      b.putInt(0x0a000000 | random.nextInt(100000)).putInt(0x0a000000 | random.nextInt(100000))
      b.putShort(random.nextInt().toShort).putShort(random.nextInt(1024).toShort)
      if (tcp)
        b.putInt(random.nextInt()).putInt(random.nextInt()).put(0x50.toByte).put(16.toByte).putShort(1000).putInt(0)
      else b.putShort((ip - 20).toShort).putShort(0)
    }
  }
}
