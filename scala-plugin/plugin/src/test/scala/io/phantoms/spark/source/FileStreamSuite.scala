package io.phantoms.spark.source

import java.io.ByteArrayOutputStream
import java.nio.file.{Files, StandardOpenOption}
import java.util.zip.GZIPOutputStream

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.wire.Wire

import org.apache.spark.sql.Row
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.funsuite.AnyFunSuite

/** A directory that grows: every record is in one batch, whatever is restarted when. */
class FileStreamSuite extends AnyFunSuite with LftaStreams {

  private def packets(seed: Int, n: Int = 30) = TestCaptures.random(n, seed).map(_.copy(kept = 65535))
  private def pcap(seed: Int, n: Int = 30): Array[Byte] = TestCaptures.pcap(packets(seed, n))
  private def rowsOf(seeds: Int*): Seq[Row] =
    seeds.flatMap(packets(_)).map(p => Row(p.micros * 1000, p.sport))

  private def gzip(bytes: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val zipped = new GZIPOutputStream(out)
    zipped.write(bytes)
    zipped.close()
    out.toByteArray
  }

  test("files as they are moved in, each once, over several runs") {
    val (at, kept) = (new Place, new Kept)
    at.add("a.pcap", pcap(1), secondsAgo = 90)
    at.add("b.pcap.gz", gzip(pcap(2)), secondsAgo = 80)
    at.add("_c.pcap", pcap(9))
    val query = run(at, kept)
    sameRows(kept.rows, rowsOf(1, 2))
    assert(query.lastProgress.sources.head.description.contains(at.input.toString))
    assert(query.recentProgress.flatMap(_.sources).map(_.metrics.get("filesRemembered")).contains("2"))
    run(at, kept)
    assert(kept.batches.size == 1)
    at.add("c.pcap", pcap(3))
    at.add("late.pcap", pcap(4), secondsAgo = 3600)
    run(at, kept)
    sameRows(kept.rows, rowsOf(1, 2, 3, 4))
    assert(counted(run(at, new Kept)).isEmpty)
  }

  test("so many files or bytes a batch") {
    val (at, kept) = (new Place, new Kept)
    (1 to 5).foreach(i => at.add(s"$i.pcap", pcap(i), secondsAgo = 100 - i))
    run(at, kept, "maxFilesPerTrigger" -> "2")
    assert(kept.sizes == Seq(60, 60, 30))
    sameRows(kept.batches(0), rowsOf(1, 2))
    (6 to 9).foreach(i => at.add(s"$i.pcap", pcap(i), secondsAgo = 50 - i))
    run(at, kept, "maxBytesPerTrigger" -> "10")
    assert(kept.sizes == Seq(60, 60, 30, 30, 30, 30, 30))
    (10 to 14).foreach(i => at.add(s"$i.pcap", pcap(i), secondsAgo = 40 - i))
    run(at, kept, "maxBytesPerTrigger" -> (2.5 * pcap(1).length).toInt.toString, "maxFilesPerTrigger" -> "4")
    sameRows(kept.rows, rowsOf(1 to 14: _*))
    assert(kept.sizes.drop(7).forall(n => n == 30 || n == 60 || n == 90) && kept.sizes.size >= 9)
  }

  test("a batch that failed has the same files again, and no others") {
    val (at, kept) = (new Place, new Kept)
    at.add("1.pcap", pcap(1), secondsAgo = 90)
    run(at, kept)
    at.add("2.pcap", pcap(2), secondsAgo = 80)
    kept.fails = _ => true
    (3 to 5).foreach { i =>
      assert(failed(start(source(at).select("time_nanos", "srcport"), at, kept)).contains("the sink fails at batch 1"))
      at.add(s"$i.pcap", pcap(i), secondsAgo = 70L - i)
    }
    kept.fails = _ => false
    run(at, kept)
    sameRows(kept.batches(1), rowsOf(2))
    sameRows(kept.rows, rowsOf(1 to 5: _*))
  }

  test("a restart between the source's log and the query's finds what is in the log") {
    val (at, kept) = (new Place, new Kept)
    at.add("1.pcap", pcap(1))
    run(at, kept)
    at.add("2.pcap", pcap(2))
    kept.fails = _ => true
    failed(start(source(at).select("time_nanos", "srcport"), at, kept))
    kept.fails = _ => false
    // As if the driver had died before it wrote the offset.
    Seq("1", ".1.crc").foreach(n => Files.deleteIfExists(at.checkpoint.resolve(s"offsets/$n")))
    at.add("3.pcap", pcap(3))
    run(at, kept, "maxFilesPerTrigger" -> "1")
    sameRows(kept.batches(1), rowsOf(2))
    sameRows(kept.rows, rowsOf(1, 2, 3))
  }

  test("restarts without end, over more entries than are written at a time") {
    val (at, kept) = (new Place, new Kept)
    withConf("spark.sql.streaming.minBatchesToRetain" -> "2") {
      for (i <- 1 to 14) {
        at.add(s"$i.pcap", pcap(i), secondsAgo = 100L - i)
        kept.fails = id => i % 4 == 0 && id == i - 1
        val query = start(source(at).select("time_nanos", "srcport"), at, kept)
        if (i % 4 == 0) failed(query) else query.awaitTermination()
      }
      kept.fails = _ => false
      run(at, kept)
    }
    sameRows(kept.rows, rowsOf(1 to 14: _*))
    val log = Files.list(at.checkpoint.resolve("sources/0")).iterator.asScala.map(_.getFileName.toString).toSet
    assert(log.contains("9.compact") && !log.contains("3"), log)
  }

  test("a capture is read while it is written, its last record when it is whole") {
    val (at, kept) = (new Place, new Kept)
    val bytes = pcap(7, 200)
    val file = at.input.resolve("live.pcap")
    Files.write(file, bytes.take(10))
    val query = start(
      source(at, "records" -> "packets").select("time_nanos", "srcport", "_malformed"),
      at,
      kept,
      Trigger.ProcessingTime(0)
    )
    bytes.drop(10).grouped(1500).foreach { some =>
      Files.write(file, some, StandardOpenOption.APPEND)
      Thread.sleep(30)
    }
    eventually(s"${kept.rows.size} rows")(kept.rows.size == 200)
    assert(kept.batches.size > 1)
    query.stop()
    sameRows(kept.rows, packets(7, 200).map(p => Row(p.micros * 1000, p.sport, null)))
  }

  test("a pcapng capture, run after run while it is written; an export waits until it is complete") {
    val (at, kept) = (new Place, new Kept)
    val some = packets(4, 60)
    val (first, second) = some.splitAt(30)
    val early = first.map(p => Wire.enhanced(TestCaptures.frame(p), p.micros))
    // Another interface in the middle, whose times are in nanoseconds.
    val nanos = Wire.interface(options = Wire.option(9, Array(9.toByte)))
    val later = second.map(p => Wire.enhanced(TestCaptures.frame(p), p.micros * 1000, 1))
    val bytes = Wire.join(Wire.section() +: Wire.interface() +: (early ++ (nanos +: later)): _*)
    val (capture, exported) = (at.input.resolve("a.pcapng"), at.input.resolve("b.nf5"))
    Files.write(exported, TestCaptures.v5(TestCaptures.flows(5, 1)).toArray.flatten)
    Files.write(capture, Array.emptyByteArray)
    bytes.grouped(1111).foreach { piece =>
      Files.write(capture, piece, StandardOpenOption.APPEND)
      run(at, kept, "records" -> "packets", "fileAge" -> "10m")
    }
    assert(kept.batches.size > 3)
    sameRows(kept.rows, some.map(p => Row(p.micros * 1000, p.sport)))
  }

  test("a capture that ends within a record: a row that says so, and the packet when it is there") {
    val (at, kept) = (new Place, new Kept)
    val bytes = pcap(1)
    val file = at.add("cut.pcap", bytes.dropRight(5))
    def read() = {
      val query = start(source(at).select("time_nanos", "_malformed"), at, kept)
      query.awaitTermination()
      query
    }
    assert(counted(read())("malformed") == 1)
    assert(kept.rows.count(_.isNullAt(1)) == 29 && kept.rows.count(!_.isNullAt(1)) == 1)
    Files.write(file, bytes.takeRight(5), StandardOpenOption.APPEND)
    Files.setLastModifiedTime(file, java.nio.file.attribute.FileTime.fromMillis(System.currentTimeMillis - 10000))
    read()
    assert(kept.sizes == Seq(30, 1) && kept.batches(1).head.isNullAt(1))
    assert(failed(start(
      source(at, "mode" -> "FAILFAST").select("time_nanos"),
      new Place().tap(p => Files.move(p.add("x", bytes.dropRight(5)), at.input.resolve("other.pcap"))),
      new Kept
    )).contains("other.pcap"))
  }

  test("a file in several tasks, parts of it in several batches") {
    val (at, kept) = (new Place, new Kept)
    val bytes = pcap(3, 3000)
    val file = at.add("a.pcap", bytes.take(100000), secondsAgo = 20)
    val options = Seq("maxPartitionBytes" -> "4000")
    withConf("spark.sql.files.openCostInBytes" -> "1") {
      run(at, kept, options: _*)
      Files.write(file, bytes.drop(100000), StandardOpenOption.APPEND)
      run(at, kept, options :+ ("fileAge" -> "0s"): _*)
    }
    val whole = packets(3, 3000).map(p => Row(p.micros * 1000, p.sport))
    assert(kept.batches.size == 2)
    sameRows(kept.rows.filter(r => !r.isNullAt(1)), whole)
  }

  test("flows of exports") {
    val (at, kept) = (new Place, new Kept)
    val flows = (1 to 3).map(i => TestCaptures.flows(40, i))
    flows.zipWithIndex.foreach { case (f, i) => at.add(s"$i.nf5", TestCaptures.v5(f).toArray.flatten, 50L - i) }
    val query = start(source(at, "maxFilesPerTrigger" -> "1").select("srcport", "octets"), at, kept)
    query.awaitTermination()
    assert(kept.sizes == Seq(40, 40, 40))
    sameRows(kept.rows, flows.flatten.map(f => Row(f.sport, f.octets.toLong)))
    assert(failure(run(at, kept, "records" -> "packets")).contains("set the option records to flows"))
  }

  test("columns of partitions, and directories that appear") {
    val (at, kept) = (new Place, new Kept)
    at.add("day=1/a.pcap", pcap(1))
    def read(): Unit = start(source(at).select("day", "srcport"), at, kept).awaitTermination()
    read()
    at.add("day=2/a.pcap", pcap(2))
    read()
    assert(kept.batches.map { case (b, rows) => b -> rows.map(_.get(0)).distinct } == Map(0 -> Seq(1), 1 -> Seq(2)))
  }

  test("globs, and several paths as a JSON array") {
    val (at, kept) = (new Place, new Kept)
    at.add("x/1.pcap", pcap(1))
    at.add("y/2.pcap", pcap(2))
    at.add("z/3.txt", "no capture".getBytes)
    val df = spark.readStream.format("lfta").option("pathGlobFilter", "*.pcap")
      .option("paths", s"""["${at.input}/x*", "${at.input}/[yz]"]""").load()
    val query = df.select("time_nanos", "srcport").writeStream.trigger(Trigger.AvailableNow())
      .option("checkpointLocation", at.checkpoint.toString).foreachBatch(kept.write _).start()
    query.awaitTermination()
    sameRows(kept.rows, rowsOf(1, 2))
  }

  test("a file that is gone before its batch: an error that names it, or a batch without it") {
    val (at, kept) = (new Place, new Kept)
    val gone = at.add("gone.pcap", pcap(1))
    at.add("there.pcap", pcap(2))
    kept.fails = _ => true
    failed(start(source(at).select("time_nanos", "srcport"), at, kept))
    kept.fails = _ => false
    Files.delete(gone)
    assert(failed(start(source(at).select("time_nanos", "srcport"), at, kept)).contains("gone.pcap"))
    run(at, kept, "ignoreMissingFiles" -> "true")
    sameRows(kept.rows, rowsOf(2))
  }

  test("a file of several tasks that is gone before its batch: left out, too, if that is wished") {
    val (at, kept) = (new Place, new Kept)
    val gone = at.add("gone.pcap", pcap(1, 3000))
    at.add("there.pcap", pcap(2))
    val options = Seq("maxPartitionBytes" -> "4000")
    kept.fails = _ => true
    failed(start(source(at, options: _*).select("time_nanos", "srcport"), at, kept))
    kept.fails = _ => false
    Files.delete(gone)
    assert(failed(start(source(at, options: _*).select("time_nanos"), at, new Kept)).contains("gone.pcap"))
    run(at, kept, options :+ ("ignoreMissingFiles" -> "true"): _*)
    sameRows(kept.rows, rowsOf(2))
  }

  test("the options of a run need not be those of the one before") {
    val (at, kept) = (new Place, new Kept)
    at.add("1.pcap", pcap(1))
    run(at, kept)
    at.add("2.pcap", pcap(2))
    run(
      at,
      kept,
      "mode" -> "DROPMALFORMED",
      "maxFilesPerTrigger" -> "7",
      "addresses" -> "string",
      "fileAge" -> "1 minute"
    )
    at.add("3.pcap", pcap(3), secondsAgo = 120)
    run(at, kept, "fileAge" -> "1 minute")
    sameRows(kept.rows, rowsOf(1, 2, 3))
  }

  test("what cannot be") {
    val at = new Place
    assert(failure(run(at, new Kept)).contains("Set it to packets or flows"))
    at.add("1.pcap", pcap(1))
    def refused(options: (String, String)*) = failure(run(at, new Kept, options: _*))
    assert(refused("maxFilesPerTrigger" -> "0").contains("no whole number from 1"))
    assert(refused("maxBytesPerTrigger" -> "much").contains("no size above 0"))
    assert(refused("fileAge" -> "soon").contains("no time"))
    assert(refused("latestFirst" -> "true").contains("no such option"))
    assert(refused("listen" -> "localhost:1").contains("of files or of a port"))
    // A checkpoint of another source.
    run(at, new Kept)
    val offset = at.checkpoint.resolve("offsets/0")
    Files.writeString(offset, Files.readString(offset).replace("""{"entry":0}""", """{"listener":"x","datagram":3}"""))
    Files.deleteIfExists(at.checkpoint.resolve("offsets/.0.crc"))
    assert(failure(run(at, new Kept)).contains("not of a stream of files"))
  }

  private implicit final class Tap[T](value: T) {
    def tap(f: T => Any): T = {
      val _ = f(value)
      value
    }
  }
}
