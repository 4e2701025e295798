package io.phantoms.spark.source.`export`

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.scalatest.Assertion
import org.scalatest.exceptions.TestFailedException
import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.source.wire.{Policy, WireCounters, WireException}

private final case class Outcome(flows: Int, problems: Int, counters: WireCounters, error: Option[WireException])

/**
 * Exports with damage: bits flipped, ends cut off, numbers overwritten, pieces moved and repeated. Whatever is read of
 * them, it is records or an error that names file and place, in time and memory that the file's size bounds, and the
 * counts add up.
 *
 * `-Dphantoms.fuzz.exports=N` reads N exports, `-Dphantoms.fuzz.exports.from=S` begins with seed S.
 */
class ExportFuzzSuite extends AnyFunSuite {
  import Exports._

  private def property(name: String): Option[Int] =
    sys.props.get(s"phantoms.fuzz.exports$name").filter(_.nonEmpty).map(_.toInt)

  private val Numbers = Seq(0, 1, 2, 3, 4, 5, 9, 10, 255, 256, 257, 0x7fff, 0x8000, 0xfffe, 0xffff)

  private val Elements =
    Array(1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 14, 15, 16, 17, 21, 22, 27, 28, 32, 34, 48, 56, 58, 60, 61,
      80, 82, 85, 136, 150, 152, 153, 154, 156, 158, 160, 176, 177, 210, 243, 302, 305, 306, 460)

  private def fields(random: Random, ipfix: Boolean): Seq[(Int, Int)] =
    Seq.fill(1 + random.nextInt(12)) {
      val length = random.nextInt(20) match {
        case 0 => 0
        case 1 | 2 if ipfix => 65535
        case _ => Array(1, 2, 4, 4, 6, 8, 8, 16)(random.nextInt(8))
      }
      Elements(random.nextInt(Elements.length)) -> length
    }

  private def noise(random: Random, n: Int): Array[Byte] = {
    val made = new Array[Byte](n)
    random.nextBytes(made)
    made
  }

  /** Records of a template, variable lengths and all. */
  private def records(random: Random, fields: Seq[(Int, Int)], ipfix: Boolean): Array[Byte] =
    bytes(Seq.fill(random.nextInt(6))(fields).flatten.map { case (_, length) =>
      if (!ipfix || length != 65535) noise(random, length)
      else {
        val n = random.nextInt(12)
        (if (random.nextInt(3) == 0) bytes(u8(255), u16(n)) else u8(n)) ++ noise(random, n)
      }
    }: _*)

  /** An export of a few datagrams: templates before data, after them, changed, withdrawn, of options. */
  private def seeded(random: Random): Seq[Array[Byte]] = {
    val kind = random.nextInt(4)
    Seq.fill(1 + random.nextInt(8))(if (kind == 3) random.nextInt(3) else kind).map {
      case 0 =>
        val n = 1 + random.nextInt(30)
        v5Header(n, sampling = random.nextInt(65536)) ++ bytes(Seq.fill(n)(v5Record(prot = random.nextInt(20))): _*)
      case kind => templated(random, kind == 2)
    }
  }

  private def templated(random: Random, ipfix: Boolean): Array[Byte] = {
    val id = 256 + random.nextInt(3)
    val known = fields(random, ipfix)
    val define = set(if (ipfix) 2 else 0, template(id, known: _*))
    val data = set(id, records(random, known, ipfix), zeros(random.nextInt(4)))
    val options =
      if (ipfix) set(3, ipfixOptions(259, 1, 149 -> 4, 34 -> 4, 160 -> 8))
      else set(1, v9Options(259, 1, 1 -> 4, 34 -> 4), u16(0))
    val option = set(259, noise(random, if (ipfix) 16 else 8))
    val sets = random.nextInt(6) match {
      case 0 => Seq(data, define)
      case 1 => Seq(options, option, define, data)
      case 2 if ipfix => Seq(define, data, set(2, u16(id, 0)), data)
      case 3 => Seq(data)
      case _ => Seq(define, data)
    }
    if (ipfix) Exports.ipfix(sets: _*) else v9(sets: _*)
  }

  private def mutated(random: Random, file: Array[Byte]): Array[Byte] = {
    def place = random.nextInt(file.length)
    random.nextInt(8) match {
      case 0 => file.take(place)
      case 1 => file.updated(place, (file(place) ^ 1 << random.nextInt(8)).toByte)
      case 2 | 3 => file.patch(place & ~1, u16(Numbers(random.nextInt(Numbers.size))), 2)
      case 4 => file.patch(place & ~3, u32(Seq(0, 1, 0x7fffffff, 0xffffffffL)(random.nextInt(4))), 4)
      case 5 =>
        val (from, n) = (place, random.nextInt(200))
        file.patch(place, file.slice(from, from + n), random.nextInt(200))
      case 6 => file.patch(place, file.slice(place, place + 60), 0)
      case _ => file.patch(place, noise(random, random.nextInt(40)), random.nextInt(40))
    }
  }

  /** Reads to the end or to an error; every value of every record is looked at. */
  private def outcome(file: Array[Byte], policy: Policy): Outcome = {
    val reader = Exports.reader(file, policy)
    var (flows, problems) = (0, 0)
    val error =
      try {
        while (reader.next()) {
          if (reader.record().problem == null) flows += 1 else problems += 1
          val _ = values(reader.record())
          assert(flows <= file.length && problems <= file.length, "more records than bytes")
        }
        None
      } catch {
        case e: WireException => Some(e)
      }
    Outcome(flows, problems, reader.counters(), error)
  }

  private def check(file: Array[Byte]): Int = {
    val (permissive, dropping, failing) =
      (outcome(file, Policy.PERMISSIVE), outcome(file, Policy.DROPMALFORMED), outcome(file, Policy.FAILFAST))
    Seq(permissive, dropping, failing).foreach { o =>
      val c = o.counters
      assert(c.packets == c.decoded + c.malformed + c.skipped)
      assert(c.flows == o.flows)
    }
    if (file.isEmpty || ExportReader.recognises(file, file.length)) {
      assert(permissive.error.isEmpty && dropping.error.isEmpty)
      Seq(permissive, dropping).foreach(o => assert(o.counters.bytes == file.length))
      assert(permissive.flows == dropping.flows && dropping.problems == 0)
      assert(failing.error.isDefined == permissive.problems > 0)
      assert(permissive.counters.malformed + permissive.counters.withoutTemplate <= permissive.problems)
    } else Seq(permissive, dropping, failing).foreach(o => assert(o.error.isDefined))
    failing.error.foreach(e => assert(e.offset >= 0 && e.offset <= file.length && e.getMessage.contains("flows.nf")))
    permissive.flows
  }

  /** Columns that are read without others have the values that they have among all. */
  private def checkColumns(random: Random, file: Array[Byte]): Assertion = {
    val wanted = Array.fill(Flows.COUNT)(random.nextInt(4) == 0)
    val names = Flows.SCHEMA.fields.asScala.map(_.name).zip(wanted).collect { case (name, true) => name }.toSet
    def of(decoded: Decoded) = decoded.flows.map(_.filter { case (name, _) => names(name) })
    val (few, all) = (read(file, wanted = wanted), read(file))
    assert(of(few) == of(all), s"columns ${names.mkString(", ")}")
  }

  /** As a socket has them: each datagram is counted, none keeps the next one from being read. */
  private def checkDatagrams(datagrams: Seq[Array[Byte]]): Assertion = {
    val sent = datagrams.map(d => Sent(d.take(65535)))
    val decoded = receive(Policy.PERMISSIVE, sent: _*)
    val c = decoded.counters
    assert(c.packets == sent.size && c.packets == c.decoded + c.malformed && c.skipped == 0)
    assert(c.flows == decoded.flows.size && c.malformed + c.withoutTemplate <= decoded.problems.size)
    assert(receive(Policy.DROPMALFORMED, sent: _*).flows == decoded.flows)
  }

  private def damaged(random: Random, bytes: Array[Byte]): Array[Byte] =
    (0 until random.nextInt(4)).foldLeft(bytes)((b, _) => if (b.isEmpty) b else mutated(random, b))

  test("damaged exports") {
    val n = property("").getOrElse(500)
    val first = property(".from").getOrElse(1)
    var flows = 0L
    (first until first + n).foreach { seed =>
      val random = new Random(seed)
      withClue(s"-Dphantoms.fuzz.exports.from=$seed: ") {
        try {
          val datagrams = seeded(random)
          val file = damaged(random, bytes(datagrams: _*))
          flows += check(file)
          if (ExportReader.recognises(file, file.length)) checkColumns(random, file)
          checkDatagrams(datagrams.map(damaged(random, _)))
        } catch {
          case e: RuntimeException if !e.isInstanceOf[TestFailedException] => fail(e)
        }
      }
    }
    assert(flows > n, "most records are still read")
  }
}
