package io.phantoms.spark.source.wire

import java.io.{ByteArrayInputStream, InputStream}
import java.util.HexFormat

/** Bytes of packets and captures, laid out by hand as the formats' specifications draw them. */
object Wire {
  final case class Order(little: Boolean) {
    def u16(n: Int): Array[Byte] = turned(Array((n >>> 8).toByte, n.toByte))
    def u32(n: Long): Array[Byte] = turned(Array(24, 16, 8, 0).map(s => (n >>> s).toByte))
    def u64(n: Long): Array[Byte] = turned((56 to 0 by -8).map(s => (n >>> s).toByte).toArray)
    private def turned(b: Array[Byte]) = if (little) b.reverse else b
  }
  val Big: Order = Order(little = false)
  val Little: Order = Order(little = true)

  /** Text of hexadecimal digits; blanks and line ends between them are for the reader's eyes. */
  def hex(text: String): Array[Byte] = HexFormat.of.parseHex(text.replaceAll("\\s+", ""))

  def text(bytes: Array[Byte]): String = if (bytes == null) null else HexFormat.of.formatHex(bytes)

  def join(parts: Array[Byte]*): Array[Byte] = parts.toArray.flatten

  val Macs: Array[Byte] = hex("020000000002 020000000001")

  def ethernet(etherType: Int, rest: Array[Byte]): Array[Byte] = join(Macs, Big.u16(etherType), rest)

  def ipv4(
      protocol: Int,
      payload: Array[Byte],
      src: String = "0a000001",
      dst: String = "0a000002",
      fragment: Int = 0,
      options: Array[Byte] = Array.emptyByteArray,
      length: Int = -1
  ): Array[Byte] = {
    val header = 20 + options.length
    val total = if (length < 0) header + payload.length else length
    join(
      Array((0x40 | header / 4).toByte, 0x2e.toByte),
      Big.u16(total),
      hex("1234"),
      Big.u16(fragment),
      Array(63.toByte, protocol.toByte, 0, 0),
      hex(src),
      hex(dst),
      options,
      payload
    )
  }

  def ipv6(next: Int, payload: Array[Byte], length: Int = -1): Array[Byte] = join(
    hex("6 b8 abcde"),
    Big.u16(if (length < 0) payload.length else length),
    Array(next.toByte, 61.toByte),
    hex("20010db8 00000000 00000000 00000001 20010db8 ffffffff ffffffff fffffffe"),
    payload
  )

  def udp(from: Int, to: Int, payload: Array[Byte]): Array[Byte] =
    join(Big.u16(from), Big.u16(to), Big.u16(8 + payload.length), hex("0000"), payload)

  def tcp(from: Int, to: Int, flags: Int, payload: Array[Byte], options: Array[Byte] = Array.emptyByteArray) = join(
    Big.u16(from),
    Big.u16(to),
    hex("fffffff0 80000001"),
    Array(((20 + options.length) / 4 << 4).toByte, flags.toByte),
    hex("fffe 0000 0000"),
    options,
    payload
  )

  /** A packet of a pcap file. */
  final case class Kept(seconds: Long, fraction: Long, bytes: Array[Byte], length: Long = -1) {
    def onWire: Long = if (length < 0) bytes.length.toLong else length
  }

  def pcapHeader(order: Order = Little, nano: Boolean = false, link: Int = 1): Array[Byte] = join(
    order.u32(if (nano) 0xa1b23c4dL else 0xa1b2c3d4L),
    order.u16(2),
    order.u16(4),
    order.u32(0),
    order.u32(0),
    order.u32(65535),
    order.u32(link.toLong)
  )

  def record(k: Kept, order: Order = Little): Array[Byte] =
    join(order.u32(k.seconds), order.u32(k.fraction), order.u32(k.bytes.length.toLong), order.u32(k.onWire), k.bytes)

  def pcap(packets: Seq[Kept], order: Order = Little, nano: Boolean = false, link: Int = 1): Array[Byte] =
    join(pcapHeader(order, nano, link) +: packets.map(record(_, order)): _*)

  def padded(b: Array[Byte]): Array[Byte] = b.padTo((b.length + 3) / 4 * 4, 0.toByte)

  def block(kind: Long, body: Array[Byte], order: Order = Little): Array[Byte] = {
    val length = order.u32(12L + padded(body).length)
    join(order.u32(kind), length, padded(body), length)
  }

  def section(order: Order = Little): Array[Byte] =
    block(0x0a0d0d0aL, join(order.u32(0x1a2b3c4dL), order.u16(1), order.u16(0), order.u64(-1)), order)

  def option(code: Int, value: Array[Byte], order: Order = Little): Array[Byte] =
    join(order.u16(code), order.u16(value.length), padded(value))

  def interface(
      link: Int = 1,
      snaplen: Long = 0,
      options: Array[Byte] = Array.emptyByteArray,
      order: Order = Little
  ): Array[Byte] =
    block(1, join(order.u16(link), order.u16(0), order.u32(snaplen), options), order)

  def enhanced(
      bytes: Array[Byte],
      time: Long,
      interface: Long = 0,
      length: Long = -1,
      options: Array[Byte] = Array.emptyByteArray,
      order: Order = Little
  ): Array[Byte] = {
    val onWire = if (length < 0) bytes.length.toLong else length
    block(
      6,
      join(
        order.u32(interface),
        order.u32(time >>> 32),
        order.u32(time),
        order.u32(bytes.length.toLong),
        order.u32(onWire),
        padded(bytes),
        options
      ),
      order
    )
  }

  /** A file in memory; streams come in pieces, as from a network, and count what was opened. */
  final class Memory(bytes: Array[Byte], piece: Int = Int.MaxValue) extends CaptureFile {
    var opened: Seq[Long] = Nil
    var closed = 0
    override def path(): String = "memory:/capture"
    override def length(): Long = bytes.length.toLong
    override def open(offset: Long): InputStream = {
      opened :+= offset
      new ByteArrayInputStream(bytes, offset.toInt, bytes.length - offset.toInt) {
        override def read(to: Array[Byte], from: Int, length: Int): Int = super.read(to, from, length.min(piece))
        override def available(): Int = 0
        private var open = true
        override def close(): Unit = if (open) {
          open = false
          closed += 1
        }
      }
    }
  }

  /** What a reader says of a packet: fields by name, those that have a value. */
  def fields(r: WireRecord): Map[String, Any] = {
    val all = (0 until Packets.COUNT).filterNot(r.isNull).map { i =>
      val f = Packets.SCHEMA.fields.get(i)
      f.name -> (f.kind match {
        case FieldKind.BYTES | FieldKind.ADDRESS => text(r.bytes(i))
        case _ => r.number(i)
      })
    }
    all.toMap ++ Option(r.problem).map("problem" -> _)
  }

  final case class Result(rows: Seq[Map[String, Any]], counters: WireCounters)

  def readAll(reader: RecordReader): Result =
    try {
      val rows = Seq.newBuilder[Map[String, Any]]
      while (reader.next()) rows += fields(reader.record())
      Result(rows.result(), reader.counters())
    } finally reader.close()

  def read(bytes: Array[Byte], policy: Policy = Policy.FAILFAST, piece: Int = Int.MaxValue): Result = {
    val file = new Memory(bytes, piece)
    readAll(CaptureFiles.open(file, 0, file.length, policy, null))
  }

  /** The fields of one packet, cut off after so many bytes. */
  def decode(bytes: Array[Byte], link: Int = 1, keep: Int = Int.MaxValue): Map[String, Any] = {
    val kept = Kept(1700000000L, 123456, bytes.take(keep), bytes.length.toLong)
    read(pcap(Seq(kept), link = link), Policy.PERMISSIVE).rows match {
      case Seq(row) => row
      case rows => throw new AssertionError(s"${rows.size} rows")
    }
  }
}
