package io.phantoms.spark.source

import java.net.InetAddress
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path}

import scala.util.Random

/** A packet to write; the IP packet has this length, of which the capture keeps `kept` bytes with the Ethernet header. */
final case class TestPacket(
    micros: Long,
    src: String,
    dst: String,
    prot: Int,
    sport: Int,
    dport: Int,
    payload: Array[Byte],
    tos: Int = 0,
    kept: Int = 65535,
    damaged: Boolean = false
)

/** Captures and exports byte by byte, for tests of what is above the decoders. */
object TestCaptures {
  private val Tcp = 6

  def frame(p: TestPacket): Array[Byte] = {
    val (src, dst) = (InetAddress.getByName(p.src).getAddress, InetAddress.getByName(p.dst).getAddress)
    val transport = ByteBuffer.allocate((if (p.prot == Tcp) 20 else 8) + p.payload.length)
    transport.putShort(p.sport.toShort).putShort(p.dport.toShort)
    if (p.prot == Tcp) transport.putInt(7).putInt(9).putShort(0x5018).putShort(1024).putInt(0)
    else transport.putShort((8 + p.payload.length).toShort).putShort(0)
    transport.put(p.payload)
    val body = transport.array
    val ip =
      if (src.length == 4) {
        val first = if (p.damaged) 0x43 else 0x45 // a header shorter than one can be
        ByteBuffer.allocate(20 + body.length).put(first.toByte).put(p.tos.toByte).putShort((20 + body.length).toShort)
          .putInt(0).put(64.toByte).put(p.prot.toByte).putShort(0).put(src).put(dst).put(body)
      } else
        ByteBuffer.allocate(40 + body.length).putInt(0x60000000 | p.tos << 20).putShort(body.length.toShort)
          .put(p.prot.toByte).put(64.toByte).put(src).put(dst).put(body)
    val ether = ByteBuffer.allocate(14 + ip.capacity).put(Array.tabulate(12)(_.toByte))
      .putShort((if (src.length == 4) 0x0800 else 0x86dd).toShort).put(ip.array)
    ether.array
  }

  def pcap(packets: Seq[TestPacket]): Array[Byte] = {
    val records = packets.map { p =>
      val whole = frame(p)
      val kept = whole.take(p.kept)
      ByteBuffer.allocate(16 + kept.length).order(ByteOrder.LITTLE_ENDIAN)
        .putInt((p.micros / 1000000).toInt).putInt((p.micros % 1000000).toInt)
        .putInt(kept.length).putInt(whole.length).put(kept).array
    }
    val header = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN)
      .putInt(0xa1b2c3d4).putShort(2).putShort(4).putInt(0).putInt(0).putInt(65535).putInt(1).array
    (header +: records).toArray.flatten
  }

  /** Packets of a few hosts, IPv4 and IPv6, TCP and UDP, some cut off, some damaged if wanted. */
  def random(n: Int, seed: Int, damaged: Boolean = false): Seq[TestPacket] = {
    val random = new Random(seed)
    (0 until n).map { i =>
      val isV6 = random.nextInt(5) == 0
      def host() = {
        val h = math.min(random.nextInt(40), random.nextInt(40))
        if (isV6) f"2001:db8::${h + 1}%x" else s"10.0.${h % 3}.$h"
      }
      val prot = if (random.nextInt(3) == 0) 17 else Tcp
      TestPacket(
        1700000000000000L + i * 137L + random.nextInt(100),
        host(),
        host(),
        prot,
        1024 + random.nextInt(20),
        Seq(53, 80, 443, 2055)(random.nextInt(4)),
        new Array[Byte](random.nextInt(60)),
        random.nextInt(3) * 4,
        kept = if (random.nextInt(10) == 0) 36 else 65535,
        damaged = damaged && !isV6 && random.nextInt(15) == 0
      )
    }
  }

  final case class TestFlow(src: String, dst: String, sport: Int, dport: Int, prot: Int, packets: Int, octets: Int)

  /** NetFlow v5: up to 30 flows a datagram. */
  def v5(flows: Seq[TestFlow]): Seq[Array[Byte]] = flows.grouped(30).zipWithIndex.map { case (some, i) =>
    val b = ByteBuffer.allocate(24 + 48 * some.size)
    b.putShort(5).putShort(some.size.toShort).putInt(1000000).putInt(1700000000).putInt(0).putInt(i * 30).putInt(0)
    some.foreach { f =>
      b.put(InetAddress.getByName(f.src).getAddress).put(InetAddress.getByName(f.dst).getAddress).putInt(0)
        .putShort(1).putShort(2).putInt(f.packets).putInt(f.octets).putInt(900000).putInt(950000)
        .putShort(f.sport.toShort).putShort(f.dport.toShort).put(0.toByte).put(0.toByte).put(f.prot.toByte)
        .put(0.toByte).putShort(0).putShort(0).put(24.toByte).put(16.toByte).putShort(0)
    }
    b.array
  }.toSeq

  def flows(n: Int, seed: Int): Seq[TestFlow] = {
    val random = new Random(seed)
    Seq.fill(n) {
      def host() = s"192.168.${random.nextInt(3)}.${random.nextInt(20)}"
      val packets = 1 + random.nextInt(100)
      TestFlow(host(), host(), random.nextInt(9000), Seq(53, 80, 443)(random.nextInt(3)), 6, packets, packets * 77)
    }
  }

  def write(to: Path, bytes: Array[Byte]): String = {
    Files.createDirectories(to.getParent)
    Files.write(to, bytes).toString
  }
}
