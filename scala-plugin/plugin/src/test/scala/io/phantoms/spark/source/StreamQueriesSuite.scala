package io.phantoms.spark.source

import java.nio.file.{Files, Paths}

import scala.collection.mutable

import io.phantoms.spark.integration.PluginSession

import org.apache.spark.sql.{DataFrame => AnyFrame, Dataset, Row}
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper
import org.apache.spark.sql.functions.{count, max, sum, window}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.funsuite.AnyFunSuite

/** What queries make of a stream, with the plugin on: plain Spark's rows, and reports of a micro-batch in one pass. */
class StreamQueriesSuite extends AnyFunSuite with PluginSession {
  private lazy val captures = Paths.get(folder, "captures")

  override def beforeAll(): Unit = {
    super.beforeAll()
    (0 until 4).foreach { i =>
      val later = TestCaptures.random(500, 60 + i).map(p => p.copy(micros = p.micros + i * 20000000L))
      val file = Paths.get(TestCaptures.write(captures.resolve(s"$i.pcap"), TestCaptures.pcap(later)))
      val changed = System.currentTimeMillis - (100 - i) * 1000L
      Files.setLastModifiedTime(file, java.nio.file.attribute.FileTime.fromMillis(changed))
    }
  }

  private def stream: AnyFrame =
    spark.readStream.format("lfta").option("maxFilesPerTrigger", "1").load(captures.toString)

  private def batch: AnyFrame = spark.read.format("lfta").load(captures.toString)

  private def run(df: AnyFrame, mode: String)(each: (Dataset[Row], Long) => Unit): StreamingQuery = {
    val query = df.writeStream.outputMode(mode).trigger(Trigger.AvailableNow())
      .option("checkpointLocation", Files.createTempDirectory("checkpoint").toString)
      .foreachBatch((rows: Dataset[Row], id: Long) => each(rows, id)).start()
    query.awaitTermination()
    query
  }

  private def windows(df: AnyFrame): AnyFrame =
    df.groupBy(window(df("time"), "10 seconds", "5 seconds"), df("prot"))
      .agg(count("*").as("n"), sum("length").as("bytes"), max("srcport").as("port"))

  test("windows over the stream, all of them and as the watermark closes them") {
    val whole = plain(windows(batch).collect().toSeq)
    val last = mutable.Map.empty[Long, Seq[Row]]
    val query = run(windows(stream), "complete")((rows, id) => last(id) = rows.collect().toSeq)
    assertRows(last(last.keys.max), whole)
    assert(last.size == 4)
    val closed = mutable.Map.empty[Long, Seq[Row]]
    run(windows(stream.withWatermark("time", "1 second")), "append")((rows, id) => closed(id) = rows.collect().toSeq)
    val rows = closed.values.flatten.toSeq
    assert(rows.nonEmpty && rows.size < whole.size)
    assertRows(
      rows,
      whole.filter(rows.map(_.getStruct(0).getTimestamp(1)).toSet contains _.getStruct(0).getTimestamp(1))
    )
    val scan = query.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution.executedPlan
    assert(collectWithSubqueries(scan) { case s: MicroBatchScanExec => s }.map(_.metrics("packets").value) == Seq(500L))
  }

  test("Spark hands nothing down to the scan of a stream but the schema that the user gives") {
    def scanOf(df: AnyFrame): LftaScan = {
      val query = run(df, "append")((rows, _) => { val _ = rows.collect() })
      val last = query.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution.executedPlan
      collectWithSubqueries(last) { case s: MicroBatchScanExec => s.scan.asInstanceOf[LftaScan] }.head
    }
    val whole = scanOf(stream.select("srcport").where("srcport = 80"))
    assert(whole.readSchema() == batch.schema && whole.conditions.isEmpty && whole.aggregate.isEmpty)
    val few = spark.readStream.format("lfta").schema("time timestamp, length int").load(captures.toString)
    val narrow = scanOf(few)
    assert(narrow.readSchema().fieldNames.toSeq == Seq("time", "length"))
  }

  private val reports = Seq(Seq("srcip"), Seq("dstport"), Seq("srcip", "dstport"))

  private def report(df: AnyFrame): AnyFrame = reports.map { keys =>
    val all = Seq("srcip", "dstport").map(k => if (keys.contains(k)) s"cast($k as string) as $k" else s"null as $k")
    df.groupBy(keys.map(df(_)): _*).agg(count("*").as("n"), sum("length").as("bytes"))
      .selectExpr(all ++ Seq("n", "bytes"): _*)
  }.reduce(_ union _)

  test("several reports of each micro-batch are one pass over it, and plain Spark's rows") {
    var (shared, compared) = (0, 0)
    run(stream, "append") { (rows, _) =>
      val session = rows.sparkSession
      def ask(on: Boolean): DataFrame = {
        session.conf.set("spark.phantoms.enabled", on.toString)
        report(rows).asInstanceOf[DataFrame]
      }
      val plainRows = ask(on = false).collect().toSeq
      val together = ask(on = true)
      if (isShared(together)) shared += 1
      assertRows(together.collect().toSeq, plainRows)
      assert(lftas(together.queryExecution.executedPlan).size == 1, together.queryExecution.executedPlan.toString)
      compared += plainRows.size
    }
    assert(shared == 4 && compared > 100)
  }
}
