package io.phantoms.spark.source

import java.nio.file.{Files, StandardOpenOption}

import io.phantoms.spark.source.wire.{CaptureFiles, Policy, Split}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

/** A file is as long as it was when it was looked at, whatever is written to it. */
class HadoopFileSuite extends AnyFunSuite {
  private val conf = new Configuration

  private def file(bytes: Array[Byte], length: Long): HadoopFile = {
    val at = Files.write(Files.createTempFile("file", ".bin"), bytes)
    new HadoopFile(new Path(at.toUri), length, conf)
  }

  test("bytes behind the length are not there, however they are asked for") {
    val bytes = Array.tabulate(1000)(_.toByte)
    val some = file(bytes, 700)
    for (from <- Seq(0, 1, 699)) {
      val expected = bytes.slice(from, 700).toSeq
      val whole = some.open(from)
      assert(whole.readAllBytes().toSeq == expected && whole.read() == -1 && whole.read(new Array[Byte](5)) == -1)
      whole.close()
      val single = some.open(from)
      assert(Iterator.continually(single.read()).takeWhile(_ >= 0).map(_.toByte).toSeq == expected)
      single.close()
      val hopped = some.open(from)
      val skipped = hopped.skip(1000)
      assert(skipped <= 700 - from && hopped.readAllBytes().toSeq == expected.drop(skipped.toInt))
      assert(hopped.available() == 0)
      hopped.close()
    }
    assert(file(bytes, 700).open(900).read() == -1)
    assert(file(bytes.take(300), 700).open(0).readAllBytes().length == 300)
  }

  test("a record that the length cuts stays cut when the rest has been written") {
    val bytes = TestCaptures.pcap(TestCaptures.random(20, 3))
    val (at, cut) = (Files.createTempFile("growing", ".pcap"), bytes.length - 5)
    Files.write(at, bytes.take(cut))
    Files.write(at, bytes.drop(cut), StandardOpenOption.APPEND)
    val reader = CaptureFiles.open(
      new HadoopFile(new Path(at.toUri), cut.toLong, conf),
      new Split(0, cut.toLong),
      Policy.DROPMALFORMED,
      null
    )
    try assert(Iterator.continually(reader.next()).takeWhile(identity).size == 19 && reader.counters.malformed == 1)
    finally reader.close()
  }
}
