package io.phantoms.spark.source.stream

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

/** What a stream of files writes down. */
class EntryLogSuite extends AnyFunSuite {
  private val conf = new Configuration

  private def part(i: Int, from: Long = 0) =
    TakenPart(s"file:/a%20b/$i.pcap", from, from + 10, 100, 1000L + i, Some(Seq(0, 28)), Some(Growth(7, None, 5, 99)))

  private def open(at: Path, records: String = "packets") = new EntryLog(at.toUri.toString, conf, records)

  private def names(at: Path): Set[String] =
    Files.list(at).iterator.asScala.map(_.getFileName.toString).filterNot(_.startsWith(".")).toSet

  private def message(body: => Any): String = intercept[IllegalStateException](body).getMessage

  test("what is written is read, by the same and by another") {
    val at = Files.createTempDirectory("log")
    val log = open(at)
    assert(log.latest == -1 && log.remembered.isEmpty)
    assert(log.append(Seq(part(0), part(1).copy(headers = None, growth = None)), Nil) == 0)
    assert(log.append(Seq(part(2).copy(growth = Some(Growth(1, Some(Seq(3)), 4, 5)))), Nil) == 1)
    Seq(log, open(at)).foreach { l =>
      assert(l.latest == 1)
      assert(l.parts(-1, 1) == Seq(part(0), part(1).copy(headers = None, growth = None)) ++ l.parts(0, 1))
      assert(l.parts(0, 1).map(_.growth) == Seq(Some(Growth(1, Some(Seq(3)), 4, 5))))
      assert(l.parts(1, 1).isEmpty)
    }
    assert(Files.readString(at.resolve("0")).startsWith("v1\n{"))
  }

  test("what is remembered is written from time to time, and old entries go") {
    val at = Files.createTempDirectory("log")
    val log = open(at)
    (0 until 34).foreach { i =>
      log.append(Seq(part(i)), (0 to i).map(part(_)))
      log.purge(i - 3L)
    }
    assert(log.remembered == (0 until 34).map(part(_)))
    assert(names(at) == Set("records", "19.compact", "29.compact") ++ (29 to 33).map(_.toString))
    val again = open(at)
    assert(again.latest == 33 && again.remembered == log.remembered && again.parts(30, 33).size == 3)
    assert(again.append(Seq(part(34)), Nil) == 34)
    assert(message(again.parts(3, 5)).contains("4 is missing"))
  }

  test("a restart before anything is compacted, and one that finds a compacted file whose entry is gone") {
    val at = Files.createTempDirectory("log")
    val log = open(at)
    (0 until 5).foreach(i => log.append(Seq(part(i)), Nil))
    log.purge(4)
    assert(open(at).remembered.size == 5)
    (5 until 10).foreach(i => log.append(Seq(part(i)), (0 to i).map(part(_))))
    assert(open(at).remembered.size == 10)
    Files.delete(at.resolve("9"))
    assert(message(open(at)).contains("9, which is older than 9.compact, is missing"))
  }

  test("two queries over one checkpoint") {
    val at = Files.createTempDirectory("log")
    val (one, other) = (open(at), open(at))
    one.append(Seq(part(0)), Nil)
    assert(message(other.append(Seq(part(1)), Nil)).contains("checkpointLocation of its own"))
    assert(open(at).parts(-1, 0) == Seq(part(0)))
  }

  test("checkpoints of something else, of another version, damaged ones") {
    val at = Files.createTempDirectory("log")
    open(at).append(Seq(part(0)), Nil)
    assert(message(open(at, "flows")).contains("set the option records to packets"))
    def damaged(file: String, text: String): String = {
      val before = Files.readString(at.resolve(file))
      Files.writeString(at.resolve(file), text)
      // As on other systems, whose checksums would be right.
      Files.deleteIfExists(at.resolve(s".$file.crc"))
      try message(open(at).remembered)
      finally {
        val _ = Files.writeString(at.resolve(file), before)
      }
    }
    assert(damaged("0", "v2\n").contains("'v2', v1 is what this version reads"))
    assert(damaged("0", "").contains("begins with ''"))
    assert(damaged("0", "v1\n{\"path\":").contains("not what was written"))
    assert(damaged("0", "v1\n{\"path\":\"x\"}").contains("not what was written"))
  }

  test("offsets") {
    assert(EntryOffset.of(EntryOffset(12).json) == EntryOffset(12) && EntryOffset(3).json == """{"entry":3}""")
    val d = DatagramOffset("a-b", 1L << 40)
    assert(DatagramOffset.of(d.json) == d)
    assert(message(EntryOffset.of(d.json)).contains("not of a stream of files"))
    assert(message(DatagramOffset.of(EntryOffset(1).json)).contains("not of a stream of a UDP port"))
    assert(message(EntryOffset.of("no json")).contains("no json"))
  }
}
