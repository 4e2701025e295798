package io.phantoms.spark.source.wire

import java.io.ByteArrayOutputStream
import java.util.zip.GZIPOutputStream

import scala.util.Random

import com.github.luben.zstd.Zstd
import io.phantoms.spark.source.wire.Wire._

import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/**
 * Captures of all kinds, changed at random: rows or a [[WireException]], never another error, never without an end, and
 * nothing lost silently.
 *
 * `-Dphantoms.fuzz.captures=N` runs N files, `-Dphantoms.fuzz.captures.from=S` starts at seed S; a failure names its
 * seed.
 */
class CaptureFuzzSuite extends AnyFunSuite {
  private def property(name: String): Option[String] = sys.props.get(s"phantoms.fuzz.captures$name").filter(_.nonEmpty)
  private val count = property("").fold(500)(_.toInt)
  private val from = property(".from").fold(1L)(_.toLong)

  test(s"$count changed captures from seed $from") {
    var readable = 0
    var problems = 0
    for (seed <- from until from + count) {
      val random = new Random(seed)
      val Changed(bytes, clean, same) = RandomCaptures.changed(random)
      try {
        permissive(bytes, random, clean, same).foreach { c =>
          readable += 1
          if (c.malformed > 0) problems += 1
        }
        try failFast(bytes)
        catch { case _: WireException => }
      } catch { case e: Throwable => throw new AssertionError(s"seed $seed: $e", e) }
    }
    info(s"$readable were captures still, $problems of them with problems")
    assert(readable > count / 2 && (count < 100 || problems > count / 5 && problems < readable), "they prove little")
  }

  private def failFast(bytes: Array[Byte]): Unit = {
    val reader = CaptureFiles.open(new Memory(bytes), 0, bytes.length.toLong, Policy.FAILFAST, null)
    try while (reader.next()) assert(touch(reader.record()) == null)
    finally reader.close()
  }

  /** What was counted, or nothing if it is no capture any more. */
  private def permissive(bytes: Array[Byte], random: Random, clean: Array[Byte], same: Int): Option[WireCounters] = {
    val file = new Memory(bytes)
    val reader =
      try CaptureFiles.open(file, 0, bytes.length.toLong, Policy.PERMISSIVE, null)
      catch {
        case e: WireException =>
          assert(e.getMessage.contains("is not a capture"))
          assert(file.closed == 1)
          return None
      }
    val limit = RandomCaptures.plain(bytes)
    var (rows, malformed) = (0L, 0L)
    val found = Seq.newBuilder[Map[String, Any]]
    try {
      while (reader.next()) {
        rows += 1
        if (touch(reader.record()) != null) malformed += 1
        found += fields(reader.record())
        assert(rows <= limit / 4 + 2, "more rows than bytes can hold")
      }
      assert(!reader.next())
    } finally reader.close()
    val c = reader.counters()
    assert(c.packets == c.decoded + c.malformed + c.skipped && c.packets == rows && c.malformed == malformed)
    assert(c.truncated <= c.decoded && c.unreadableBytes >= 0 && c.unreadableBytes <= c.bytes)
    if (!RandomCaptures.compressed(bytes)) assert(c.bytes == bytes.length, "every byte is accounted for")
    assert(reader.supply.buffer().length <= ByteSupply.SIZE.max(4 * limit), "memory as the file is large")
    val all = found.result()
    assertUndamaged(all, clean, same)
    val _ = assertParts(bytes, all, random)
    Some(c)
  }

  /** Packets that end before the first changed byte are the clean capture's, in every value. */
  private def assertUndamaged(rows: Seq[Map[String, Any]], clean: Array[Byte], same: Int): Unit = {
    val expected = read(clean, Policy.PERMISSIVE).rows
    val ends = expected.drop(1).map(offset) :+ clean.length.toLong
    val before = expected.zip(ends).collect { case (row, end) if end <= same => row }
    val _ = assert(rows.take(before.size) == before, s"the first $same bytes are the clean capture's")
  }

  private def offset(row: Map[String, Any]): Long = row("_file_offset").asInstanceOf[Long]

  private def assertParts(bytes: Array[Byte], whole: Seq[Map[String, Any]], random: Random): Assertion = {
    val file = new Memory(bytes)
    val size = 1L + random.nextInt(bytes.length.max(1))
    val parts = Seq.newBuilder[Map[String, Any]]
    CaptureFiles.splits(file, size).forEach { part =>
      val reader = CaptureFiles.open(file, part, Policy.PERMISSIVE, null)
      try while (reader.next()) parts += fields(reader.record())
      finally reader.close()
    }
    assert(parts.result() == whole, s"parts of $size bytes")
    assert(file.closed == file.opened.size)
  }

  /** Asks for every field, and answers the problem. */
  private def touch(r: WireRecord): String = {
    for (f <- 0 until Packets.COUNT) {
      val none = r.isNull(f)
      Packets.SCHEMA.fields.get(f).kind match {
        case FieldKind.BYTES => assert(none == (r.bytes(f) == null))
        case FieldKind.ADDRESS =>
          assert(none == (r.bytes(f) == null) && r.addressLength(f) == (if (none) 0 else r.bytes(f).length))
          assert(!none || r.addressHigh(f) == 0 && r.addressLow(f) == 0)
        case FieldKind.INT =>
          val n = r.number(f)
          assert(n >= 0 && n <= Int.MaxValue && (!none || n == 0), Packets.SCHEMA.fields.get(f).name)
        case _ => assert(!none || r.number(f) == 0)
      }
    }
    r.problem
  }
}

/**
 * A changed capture, the one that it was, and how many of their first bytes, decompressed, are the same; none where the
 * compressed bytes were changed.
 */
private final case class Changed(bytes: Array[Byte], clean: Array[Byte], same: Int)

/** Seeded captures, and changes to them. */
private object RandomCaptures {
  def compressed(bytes: Array[Byte]): Boolean =
    bytes.startsWith(hex("1f8b")) || bytes.startsWith(hex("28b52ffd"))

  /** A bound of the bytes after decompression; what is compressed here never shrinks by more. */
  def plain(bytes: Array[Byte]): Int = if (compressed(bytes)) 1200 * bytes.length.max(64) else bytes.length

  def changed(random: Random): Changed = {
    val clean = capture(random)
    var bytes = clean
    for (_ <- 0 until random.nextInt(4)) bytes = change(bytes, random)
    random.nextInt(10) match {
      case 0 => Changed(change(gzip(bytes), random), clean, 0)
      case 1 => Changed(change(Zstd.compress(bytes), random), clean, 0)
      case _ =>
        val first = bytes.indices.find(i => i >= clean.length || bytes(i) != clean(i)).getOrElse(bytes.length)
        Changed(bytes, clean, first)
    }
  }

  private def gzip(bytes: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val gz = new GZIPOutputStream(out)
    gz.write(bytes)
    gz.close()
    out.toByteArray
  }

  private def change(bytes: Array[Byte], random: Random): Array[Byte] = {
    if (bytes.length < 30) return bytes
    // Mostly behind the file's own header, so that it remains one.
    def place(): Int = {
      val behind = if (random.nextInt(20) == 0) 0 else 24
      behind + random.nextInt(bytes.length - behind)
    }
    val (a, b) = { val (x, y) = (place(), place()); (x.min(y), x.max(y)) }
    random.nextInt(7) match {
      case 0 =>
        val flipped = bytes.clone()
        for (_ <- 0 to random.nextInt(8)) {
          val at = place()
          flipped(at) = (flipped(at) ^ 1 << random.nextInt(8)).toByte
        }
        flipped
      case 1 => bytes.take(a)
      case 2 =>
        val lengths = Seq(0L, 1L, 0x7fffffffL, 0xffffffffL, 0x10000L, 12L)
        val aligned = a / 4 * 4
        val order = if (random.nextBoolean()) Little else Big
        bytes.patch(aligned, order.u32(lengths(random.nextInt(lengths.size))), 4).take(bytes.length)
      case 3 => bytes.take(a) ++ bytes.drop(b)
      case 4 => bytes.take(b) ++ bytes.drop(a)
      case 5 =>
        val other = capture(random)
        bytes.take(a) ++ other.drop(random.nextInt(other.length))
      case _ =>
        val noise = new Array[Byte](random.nextInt(60))
        random.nextBytes(noise)
        bytes.take(a) ++ noise ++ bytes.drop(a + random.nextInt(60))
    }
  }

  private def capture(random: Random): Array[Byte] = {
    val order = if (random.nextBoolean()) Little else Big
    val links = Seq(1, 1, 1, 0, 12, 101, 108, 113, 228, 229, 276, 220)
    val n = 1 + random.nextInt(40)
    if (random.nextBoolean()) {
      val link = links(random.nextInt(links.size))
      pcap(Seq.fill(n)(kept(random, link)), order, random.nextBoolean(), link)
    } else join(Seq.fill(1 + random.nextInt(3))(sectionOf(random, links)): _*)
  }

  private def sectionOf(random: Random, links: Seq[Int]): Array[Byte] = {
    val order = if (random.nextBoolean()) Little else Big
    val own = Seq.fill(1 + random.nextInt(3))(links(random.nextInt(links.size)))
    val interfaces = own.map { l =>
      interface(l, random.nextInt(2) * 40L, option(9, Array(random.nextInt(256).toByte), order), order)
    }
    val blocks = Seq.fill(random.nextInt(30)) {
      val at = random.nextInt(own.size)
      val k = kept(random, own(at))
      random.nextInt(8) match {
        case 0 => block(3, join(order.u32(k.onWire), padded(k.bytes)), order)
        case 1 => block(random.nextInt(12).toLong, k.bytes, order)
        case _ => enhanced(k.bytes, k.seconds * 1000000 + k.fraction, at.toLong, k.onWire, order = order)
      }
    }
    join((section(order) +: interfaces) ++ blocks: _*)
  }

  private def kept(random: Random, link: Int): Kept = {
    val bytes = packet(random, link)
    val keep = if (random.nextInt(4) == 0) random.nextInt(bytes.length + 1) else bytes.length
    Kept(1700000000L + random.nextInt(1000), random.nextInt(1000000).toLong, bytes.take(keep), bytes.length.toLong)
  }

  private def packet(random: Random, link: Int): Array[Byte] = {
    val payload = new Array[Byte](random.nextInt(60))
    random.nextBytes(payload)
    val transport = random.nextInt(5) match {
      case 0 => 6 -> tcp(random.nextInt(65536), 80, random.nextInt(256), payload)
      case 1 => 1 -> (hex("0800000000000000") ++ payload)
      case 2 => random.nextInt(256) -> payload
      case _ => 17 -> udp(random.nextInt(65536), 53, payload)
    }
    val four = link != 229 && random.nextInt(3) > 0
    val ip = if (four) ipv4(transport._1, transport._2, fragment = random.nextInt(4) / 3 * random.nextInt(65536))
    else if (random.nextBoolean()) ipv6(transport._1, transport._2)
    else {
      val next = Seq(0, 43, 44, 51, 60)(random.nextInt(5))
      ipv6(next, join(Array(transport._1.toByte, 0.toByte), new Array[Byte](6), transport._2))
    }
    val etherType = if (four) 0x800 else 0x86dd
    link match {
      case 1 if random.nextInt(3) == 0 => ethernet(0x8100, join(Big.u16(random.nextInt(65536)), Big.u16(etherType), ip))
      case 1 => ethernet(etherType, ip).padTo(60, 0.toByte)
      case 0 | 108 => join(if (four) hex("02000000") else hex("0000001e"), ip)
      case 113 => join(hex("0004 0001 0006 0a0b0c0d0e0f 0000"), Big.u16(etherType), ip)
      case 276 => join(Big.u16(etherType), hex("0000 00000003 0001 04 06 0a0b0c0d0e0f 0000"), ip)
      case _ => ip
    }
  }
}
