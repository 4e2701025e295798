package io.phantoms.spark.source.`export`

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataOutputStream}
import java.net.InetAddress

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.wire.{ByteSupply, FieldKind, Policy, WireCounters, WireRecord}

/** What a reader made of an export: flows by column name, NULLs left out; problems; counts. */
final case class Decoded(flows: Seq[Map[String, Any]], problems: Seq[Problem], counters: WireCounters) {
  def flow: Map[String, Any] = {
    assert(flows.size == 1, s"${flows.size} flows, $problems")
    flows.head
  }

  /** One column of all flows, in order. */
  def column(name: String): Seq[Any] = flows.map(_.getOrElse(name, null))

  def problem: String = {
    assert(problems.size == 1, s"$problems")
    problems.head.text
  }
}

final case class Problem(text: String, known: Map[String, Any])

/** Bytes of exports, by hand. */
object Exports {
  val All: Array[Boolean] = Array.fill(Flows.COUNT)(true)

  /** 2026-01-02 03:04:05 UTC. */
  val Seconds = 1767323045L
  val Micros: Long = Seconds * 1000000

  def bytes(parts: Array[Byte]*): Array[Byte] = parts.foldLeft(Array.emptyByteArray)(_ ++ _)

  private def written(write: DataOutputStream => Unit): Array[Byte] = {
    val out = new ByteArrayOutputStream
    write(new DataOutputStream(out))
    out.toByteArray
  }

  def u8(values: Int*): Array[Byte] = values.map(_.toByte).toArray

  def u16(values: Int*): Array[Byte] = written(out => values.foreach(v => out.writeShort(v)))

  def u32(values: Long*): Array[Byte] = written(out => values.foreach(v => out.writeInt(v.toInt)))

  def u64(values: Long*): Array[Byte] = written(out => values.foreach(v => out.writeLong(v)))

  def hex(text: String): Array[Byte] =
    text.filterNot(_.isWhitespace).grouped(2).map(Integer.parseInt(_, 16).toByte).toArray

  def zeros(n: Int): Array[Byte] = new Array[Byte](n)

  /** Addresses as text, IPv4 or IPv6. */
  def ip(texts: String*): Array[Byte] = bytes(texts.map(InetAddress.getByName(_).getAddress): _*)

  def v5Header(
      count: Int,
      uptime: Long = 1000000,
      seconds: Long = Seconds,
      nanos: Long = 0,
      sequence: Long = 7,
      engine: Int = 0,
      sampling: Int = 0
  ): Array[Byte] =
    bytes(u16(5, count), u32(uptime, seconds, nanos, sequence), u16(engine, sampling))

  /** A record in the layout of Cisco's NetFlow v5: 48 bytes. */
  def v5Record(
      source: String = "10.1.2.3",
      destination: String = "192.0.2.77",
      hop: String = "10.0.0.1",
      packets: Long = 10,
      octets: Long = 1000,
      first: Long = 900000,
      last: Long = 990000,
      ports: (Int, Int) = (51515, 443),
      prot: Int = 6,
      masks: (Int, Int) = (24, 16)
  ): Array[Byte] =
    bytes(
      ip(source, destination, hop),
      u16(3, 4),
      u32(packets, octets, first, last),
      u16(ports._1, ports._2),
      u8(0xaa, 27, prot, 8),
      u16(64512, 65535),
      u8(masks._1, masks._2),
      u16(0xbbbb)
    )

  def v9(sets: Array[Byte]*): Array[Byte] = v9With()(sets: _*)

  def v9With(source: Long = 1, uptime: Long = 1000000, seconds: Long = Seconds, sequence: Long = 7)(
      sets: Array[Byte]*
  ): Array[Byte] = bytes(u16(9, sets.size), u32(uptime, seconds, sequence, source), bytes(sets: _*))

  def ipfix(sets: Array[Byte]*): Array[Byte] = ipfixWith()(sets: _*)

  def ipfixWith(domain: Long = 1, seconds: Long = Seconds, sequence: Long = 7)(sets: Array[Byte]*): Array[Byte] = {
    val body = bytes(sets: _*)
    bytes(u16(10, 16 + body.length), u32(seconds, sequence, domain), body)
  }

  def set(id: Int, parts: Array[Byte]*): Array[Byte] = {
    val body = bytes(parts: _*)
    bytes(u16(id, 4 + body.length), body)
  }

  /** A template: element and length of each field. */
  def template(id: Int, fields: (Int, Int)*): Array[Byte] =
    bytes(u16(id, fields.size), bytes(fields.map(f => u16(f._1, f._2)): _*))

  /** An options template of v9: the first fields are scopes. */
  def v9Options(id: Int, scopes: Int, fields: (Int, Int)*): Array[Byte] =
    bytes(u16(id, 4 * scopes, 4 * (fields.size - scopes)), bytes(fields.map(f => u16(f._1, f._2)): _*))

  /** An options template of IPFIX. */
  def ipfixOptions(id: Int, scopes: Int, fields: (Int, Int)*): Array[Byte] =
    bytes(u16(id, fields.size, scopes), bytes(fields.map(f => u16(f._1, f._2)): _*))

  def reader(file: Array[Byte], policy: Policy = Policy.PERMISSIVE, wanted: Array[Boolean] = All): ExportReader =
    new ExportReader(new ByteSupply("flows.nf", new ByteArrayInputStream(file), 0), policy, wanted)

  /** Reads a file of datagrams. */
  def read(file: Array[Byte], policy: Policy = Policy.PERMISSIVE, wanted: Array[Boolean] = All): Decoded =
    drain(reader(file, policy, wanted))

  /** Reads datagrams as they come from their exporters. */
  def receive(policy: Policy, datagrams: Sent*): Decoded = {
    val counters = new WireCounters
    drain(new ExportReader("udp", new Wire(datagrams), counters, policy, All))
  }

  def drain(reader: ExportReader): Decoded = {
    val flows = Seq.newBuilder[Map[String, Any]]
    val problems = Seq.newBuilder[Problem]
    while (reader.next()) {
      val record = reader.record()
      if (record.problem == null) flows += values(record) else problems += Problem(record.problem, values(record))
    }
    assert(!reader.next())
    reader.close()
    Decoded(flows.result(), problems.result(), reader.counters())
  }

  /** The columns that have a value. */
  def values(record: WireRecord): Map[String, Any] =
    Flows.SCHEMA.fields.asScala.zipWithIndex.flatMap { case (field, i) =>
      if (record.isNull(i)) {
        assert(
          record.number(i) == 0 && record.bytes(i) == null && record.map(i) == null && record.addressLength(i) == 0
        )
        None
      } else Some(field.name -> value(record, field.kind, i))
    }.toMap

  private def value(record: WireRecord, kind: FieldKind, i: Int): Any = kind match {
    case FieldKind.INT | FieldKind.LONG | FieldKind.TIMESTAMP => record.number(i)
    case FieldKind.ADDRESS =>
      val bytes = record.bytes(i)
      assert(bytes.length == record.addressLength(i))
      val (high, low) = (record.addressHigh(i), record.addressLow(i))
      assert(bytes.toSeq == (if (bytes.length == 4) u32(low) else u64(high, low)).toSeq)
      InetAddress.getByAddress(bytes).getHostAddress
    case FieldKind.BYTES => show(record.bytes(i))
    case FieldKind.MAP => record.map(i).asScala.map { case (k, v) => k -> show(v) }.toMap
    case FieldKind.TEXT => new String(record.bytes(i), "UTF-8")
  }

  def show(bytes: Array[Byte]): String = bytes.map(b => f"${b & 0xff}%02x").mkString
}

/** A datagram and who sent it. */
final case class Sent(bytes: Array[Byte], from: String = "198.51.100.1", port: Int = 4000)

/** Datagrams as a socket has them: in the middle of an array that is used again and again. */
final class Wire(datagrams: Seq[Sent]) extends DatagramSource {
  private val room = new Array[Byte](3 + 65535 + 3)
  private var rest = datagrams
  private var now: Sent = _
  private var high, low = 0L

  override def next(): Boolean = {
    val any = rest.nonEmpty
    if (any) {
      now = rest.head
      rest = rest.tail
      java.util.Arrays.fill(room, 0x5a.toByte)
      System.arraycopy(now.bytes, 0, room, 3, now.bytes.length)
      val address = Exports.ip(now.from)
      def word(from: Int) = address.slice(from, from + 8).foldLeft(0L)((v, b) => v << 8 | b & 0xff)
      high = if (address.length == 16) word(0) else 0
      low = word(address.length - 8 max 0)
    }
    any
  }

  override def bytes(): Array[Byte] = room
  override def from(): Int = 3
  override def length(): Int = now.bytes.length
  override def offset(): Long = 0
  override def exporterHigh(): Long = high
  override def exporterLow(): Long = low
  override def exporterLength(): Int = Exports.ip(now.from).length
  override def exporterPort(): Int = now.port
  override def close(): Unit = ()
}
