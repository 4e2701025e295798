package io.phantoms.spark.source

import scala.collection.mutable

import io.phantoms.spark.Turns
import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.oracle.EverySecondTest

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper
import org.apache.spark.sql.functions.lit
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryProgress, Trigger}
import org.scalatest.funsuite.AnyFunSuite

/**
 * Aggregations over streams whose first part the readers do: batch by batch the rows of plain Spark, with the same
 * watermarks and counts of input, and with state that either side goes on with.
 */
class StreamedGroupsSuite extends AnyFunSuite with EverySecondTest with LftaStreams {
  import StreamedGroupsSuite._

  // Each test runs streams on both sides.
  override protected def places: Int = 3

  /** Files, a batch each: of one time, of later ones, of earlier ones. */
  private def captured: Place = {
    val at = new Place
    Seq(0L, 20000000L, -7000000L).zipWithIndex.foreach { case (later, i) =>
      val packets = TestCaptures.random(400, 80 + i, damaged = true)
        .map(p => p.copy(micros = p.micros + later + (p.sport % 5) * 2500000L))
      at.add(s"$i.pcap", TestCaptures.pcap(packets), 100 - i)
    }
    at
  }

  private def aggregated(query: StreamingQuery): Boolean =
    collectWithSubqueries(last(query)) { case g: StreamedGroupsExec => g }.nonEmpty

  private def last(query: StreamingQuery) =
    query.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution.executedPlan

  private def ran(at: Place, enabled: Boolean, mode: String, more: (String, String)*)(
      query: DataFrame => Dataset[Row]
  ): Ran = withConf(PhantomsConf.Enabled.key -> enabled.toString, PhantomsConf.Strict.key -> "true") {
    val batches = mutable.SortedMap.empty[Long, Seq[Row]]
    val did = mutable.Set.empty[Boolean]
    val of = query(source(
      at,
      (Map("maxFilesPerTrigger" -> "1") ++ more).toSeq: _*
    )).writeStream.outputMode(mode).trigger(Trigger.AvailableNow())
      .option("checkpointLocation", at.checkpoint.toString)
      .foreachBatch { (rows: Dataset[Row], id: Long) =>
        batches(id) = rows.collect().toSeq
        // Batches without data have no scan.
        val _ = did.add(aggregated(spark.streams.active.head))
      }.start()
    of.awaitTermination()
    Ran(batches.toMap, did.contains(true), of.recentProgress.toSeq, of)
  }

  /** Plain Spark and the readers over the same files, each with a checkpoint of its own. */
  private def compared(mode: String, more: (String, String)*)(query: DataFrame => Dataset[Row]): (Ran, Ran) = {
    val at = captured
    val plain = ran(at, enabled = false, mode, more: _*)(query)
    val shared = ran(at.anew, enabled = true, mode, more: _*)(query)
    assert(!plain.aggregated)
    assert(plain.batches.keySet == shared.batches.keySet && plain.batches.nonEmpty)
    plain.batches.foreach { case (id, rows) => sameRows(shared.batches(id), rows) }
    assert(shared.progress.map(told) == plain.progress.map(told))
    (plain, shared)
  }

  private def told(p: StreamingQueryProgress) =
    (
      p.batchId,
      p.numInputRows,
      p.sources.map(_.numInputRows).toSeq,
      p.eventTime,
      p.stateOperators.map(_.numRowsTotal).toSeq
    )

  private def shares(name: String, modes: String*)(query: DataFrame => Dataset[Row]): Unit = test(name) {
    Turns.some(modes, 1, name.length).foreach { mode =>
      val (plain, shared) = compared(mode)(query)
      assert(shared.aggregated, last(shared.query))
      assert(plain.batches.values.exists(_.nonEmpty))
    }
  }

  private def declines(name: String)(query: DataFrame => Dataset[Row]): Unit = test(s"left to Spark: $name") {
    val alone = new Place
    alone.add("a.pcap", TestCaptures.pcap(TestCaptures.random(50, 3)))
    val left = ran(alone, enabled = true, "complete")(query)
    assert(!left.aggregated && left.batches.keySet == Set(0L))
    sameRows(left.batches(0), ran(alone.anew, enabled = false, "complete")(query).batches(0))
  }

  shares("counts, sums, averages, minima and maxima, by an address and a number", "complete", "update")(
    _.groupBy("srcip", "prot").agg(
      Map("*" -> "count", "srcport" -> "avg", "length" -> "sum", "time_nanos" -> "max", "dstport" -> "min")
    )
  )
  shares(
    "of all",
    "complete",
    "update"
  )(_.selectExpr("count(*)", "count(srcport)", "avg(length)", "min(time)", "sum(tos)"))
  shares("groups without functions", "update")(_.groupBy("srcip", "dstport").count().drop("count"))
  shares("windows under a watermark", "append", "update")(
    _.withWatermark(
      "time",
      "3 seconds"
    ).selectExpr("window(time, '5 seconds', '5 seconds', '1 second') w", "prot", "length")
      .groupBy("w", "prot").agg(Map("*" -> "count", "length" -> "sum"))
  )
  shares("sliding windows under a watermark, conditions on both sides of it", "append", "update")(
    _.where("prot = 6 and length > 30").withWatermark("time", "3 seconds").where("time_nanos % 2 < 5 or true")
      .where("time > timestamp'2023-11-14 22:13:00' and dstport in (80, 443)")
      .selectExpr("window(time, '10 seconds', '2 seconds') w", "srcip", "length")
      .groupBy("w", "srcip").agg(Map("length" -> "avg", "*" -> "count"))
  )
  shares("windows whose range is no multiple of their slide, beside those that do not overlap", "complete")(
    _.selectExpr("window(time, '7 seconds', '3 seconds') w", "date_trunc('MINUTE', time) m", "length")
      .groupBy("w", "m").agg(Map("length" -> "sum"))
  )
  shares("what stands above: HAVING, expressions on windows, another aggregation's input", "complete")(
    _.selectExpr("window(time, '10 seconds') w", "dstport div 100 as d", "length").groupBy("w", "d")
      .agg(Map("length" -> "sum")).where("`sum(length)` > 500").selectExpr(
        "unix_micros(w.end) e",
        "d * 2",
        "`sum(length)`"
      )
  )
  shares("keys that are computed of columns", "update")(
    _.selectExpr("srcport > 1030 as high", "coalesce(tos, 0) t").groupBy("high", "t").count()
  )

  shares("windows by their begin", "complete")(
    _.selectExpr("window(time, '5 seconds').start s", "length").groupBy("s").agg(Map("length" -> "sum"))
  )
  shares("sliding windows from another start, whose keys are only asked of windows that stay", "complete")(
    _.selectExpr("window(time, '6 seconds', '4 seconds', '1 second') w", "length").where("second(w.start) <> 1")
      .selectExpr("60 div (second(w.start) - 1) k", "length").groupBy("k").agg(Map("length" -> "sum"))
  )

  test("a key that is a constant: no group of no records") {
    for (mode <- Seq("complete", "update")) {
      val (plain, shared) =
        compared(mode)(_.where("prot = 250").withColumn("sensor", lit("lan1")).groupBy("sensor").count())
      assert(shared.aggregated && plain.batches.values.forall(_.isEmpty))
    }
    val (plain, _) = compared("update")(_.where("prot = 6").groupBy(lit("lan1").as("sensor")).count())
    assert(plain.batches.values.forall(_.size == 1))
  }

  test("groups that two consumers read are shuffled once, and their records counted once") {
    val (_, shared) = compared("append") { df =>
      val groups = df.withWatermark("time", "3 seconds").selectExpr("window(time, '5 seconds') w", "srcip", "length")
        .groupBy("w", "srcip").agg(Map("length" -> "sum"))
      groups.where("`sum(length)` > 300").union(groups.where("`sum(length)` < 90"))
    }
    assert(shared.aggregated)
  }

  test("what is malformed: left out, or an error") {
    val (_, shared) = compared("complete", "mode" -> "DROPMALFORMED")(_.groupBy("prot").count())
    assert(shared.aggregated)
    for (enabled <- Seq("false", "true")) withConf(PhantomsConf.Enabled.key -> enabled) {
      val at = captured
      val query = source(at, "mode" -> "FAILFAST").groupBy("prot").count().writeStream.outputMode("complete")
        .trigger(Trigger.AvailableNow()).option("checkpointLocation", at.checkpoint.toString)
        .foreachBatch((rows: Dataset[Row], _: Long) => { val _ = rows.collect() }).start()
      assert(failed(query).contains(".pcap, byte"))
    }
  }

  declines("a FILTER clause")(_.selectExpr("count(*) filter (where prot = 6)"))
  declines("a function whose buffer readers do not fill")(_.groupBy("prot").agg(Map("length" -> "stddev")))
  declines("a condition that readers do not know")(_.where("length % 7 = 3").groupBy("prot").count())
  declines("a key that may fail")(_.selectExpr("100 div srcport k").groupBy("k").count())
  declines("times in another way")(_.selectExpr("time > timestamp'2023-11-14 22:13:25' s").groupBy("s").count())

  test("left to Spark by option, and with the plugin off") {
    val (_, off) = compared("complete", "pushDownAggregate" -> "false")(_.groupBy("prot").count())
    assert(!off.aggregated)
  }

  test("tables of one group, of both kinds, flushed in each way; addresses as texts and numbers") {
    for {
      (kind, flush) <- Seq("direct" -> "eager", "secondChance" -> "lazy", "direct" -> "end")
      addresses <- Seq("string", "int")
    } {
      val few = Seq("tables.memory" -> "4k", "tables.kind" -> kind, "flush" -> flush, "addresses" -> addresses)
      // All files are one batch and one task, an epoch each.
      withConf("spark.sql.files.minPartitionNum" -> "1", "spark.sql.files.openCostInBytes" -> "1") {
        val (_, shared) = compared("update", few :+ ("maxFilesPerTrigger" -> "10"): _*)(
          _.groupBy("dstip").agg(Map("length" -> "avg", "*" -> "count"))
        )
        assert(shared.aggregated && shared.batches.size == 1)
      }
    }
  }

  test("what readers count: packets in, groups out") {
    val (_, shared) = compared("update")(_.where("prot = 6").groupBy("prot").count())
    val groups = collectWithSubqueries(last(shared.query)) { case g: StreamedGroupsExec => g }.head
    assert(groups.metrics("numOutputRows").value == 1 && groups.metrics("evictions").value == 1)
    val (scan, probes) = (counted(shared.query), groups.metrics("probes").value)
    assert(scan("packets") == 400 && scan("numOutputRows") == 400 && probes > 100 && probes < 400)
    assert(groups.toString.contains("MicroBatchScan"))
  }

  test("either goes on with the state of the other") {
    val query = (df: DataFrame) =>
      df.withWatermark("time", "3 seconds").selectExpr("window(time, '5 seconds') w", "srcip", "length", "prot")
        .groupBy("w", "srcip").agg(Map("length" -> "avg", "*" -> "count", "prot" -> "max"))
    val at = captured
    val plain = ran(at, enabled = false, "append")(query)
    for (first <- Seq(true, false)) {
      val moved = new Place
      val files = Seq(0, 1, 2).map(i => s"$i.pcap")
      def runs(some: Seq[String], enabled: Boolean): Ran = {
        some.foreach(f => moved.add(f, java.nio.file.Files.readAllBytes(at.input.resolve(f)), 100 - files.indexOf(f)))
        ran(moved, enabled, "append")(query)
      }
      val (one, two) = (runs(files.take(2), first), runs(files.drop(2), !first))
      assert(one.aggregated == first && two.aggregated == !first)
      sameRows((one.batches ++ two.batches).values.flatten.toSeq, plain.batches.values.flatten.toSeq)
    }
  }
}

object StreamedGroupsSuite {

  /** @param batches the rows that came of each */
  final case class Ran(
      batches: Map[Long, Seq[Row]],
      aggregated: Boolean,
      progress: Seq[StreamingQueryProgress],
      query: StreamingQuery
  )
}
