package io.phantoms.spark.stats

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import io.phantoms.spark.api.StatsApi
import io.phantoms.spark.stats.input.{Estimate, StatisticSource}
import io.phantoms.spark.stats.supplied.StatisticsException

import org.apache.spark.scheduler.{
  SparkListener,
  SparkListenerJobEnd,
  SparkListenerJobStart,
  SparkListenerStageCompleted
}
import org.apache.spark.sql.DataFrame
import org.json4s._
import org.json4s.jackson.JsonMethods
import org.scalatest.funsuite.AnyFunSuite

/** Groups of many groupings counted in one pass, and what plans make of the counts. */
final class GroupCounterSuite extends AnyFunSuite with ObservedSession {
  private val names = Seq("a", "b", "c", "d")
  private val Marker = "test.marker"
  private val sets = (1 to names.size).flatMap(names.combinations)

  override def beforeAll(): Unit = {
    super.beforeAll()
    write(60000)
  }

  private def write(rows: Long): Unit = {
    val values = Seq(50000, 3000, 200, 20)
    val columns = names.zip(values).zipWithIndex.map { case ((name, n), i) =>
      s"nullif(cast(pmod(xxhash64(id, $i), $n) as int), 1) as $name"
    }
    spark.range(0, rows, 1, 3).selectExpr(columns :+ "id as v" :+ "map('x', id) as m": _*)
      .write.mode("overwrite").parquet(s"$folder/counted")
    spark.read.parquet(s"$folder/counted").createOrReplaceTempView("counted")
  }

  private def json(all: Seq[Seq[String]]): String = JsonMethods.compact(
    JArray(all.toList.map(s => JArray(s.toList.map(JString(_)))))
  )

  private def count(df: DataFrame, all: Seq[Seq[String]], deviation: Double = 0.02): Map[Set[String], Double] = {
    val counts = JsonMethods.parse(StatsApi.statsCount(df, json(all), deviation))
    assert(counts \ "rows" == JDouble(df.count().toDouble))
    val JArray(groups) = counts \ "groups": @unchecked
    groups.map { g =>
      val JArray(columns) = g \ "columns": @unchecked
      val JDouble(n) = g \ "groups": @unchecked
      columns.map { case JString(name) => name; case other => fail(s"$other") }.toSet -> n
    }.toMap
  }

  private lazy val truth: Map[Set[String], Double] = plain {
    val df = spark.table("counted")
    sets.map(set => set.toSet -> df.select(set.map(df.col): _*).distinct().count().toDouble).toMap
  }

  /** How many stages of an action read files. */
  private def readingStages(action: => Unit): Int = {
    val (reads, over) = (new AtomicInteger, new CountDownLatch(1))
    val listener = new SparkListener {
      @volatile private var last = -1
      override def onStageCompleted(e: SparkListenerStageCompleted): Unit =
        if (e.stageInfo.taskMetrics.inputMetrics.recordsRead > 0) { val _ = reads.incrementAndGet() }
      override def onJobStart(e: SparkListenerJobStart): Unit =
        if (e.properties.getProperty(Marker) != null) last = e.jobId
      override def onJobEnd(e: SparkListenerJobEnd): Unit = if (e.jobId == last) over.countDown()
    }
    spark.sparkContext.addSparkListener(listener)
    try {
      action
      // Events come in order: those of the action before the end of this job.
      spark.sparkContext.setLocalProperty(Marker, "last")
      spark.sparkContext.parallelize(Seq(1), 1).count()
      assert(over.await(60, TimeUnit.SECONDS))
      reads.get
    } finally {
      spark.sparkContext.setLocalProperty(Marker, null)
      spark.sparkContext.removeSparkListener(listener)
    }
  }

  test("15 groupings in one pass over the rows, NULLs and all, within the sketch's error") {
    val df = spark.table("counted")
    val reads = readingStages { val _ = StatsApi.statsCount(df, json(sets), 0.02) }
    assert(reads == 1)
    val counts = count(df, sets)
    assert(counts.keySet == sets.map(_.toSet).toSet)
    val errors = sets.map(s => counts(s.toSet) / truth(s.toSet) - 1)
    assert(errors.forall(e => math.abs(e) < 0.08), errors)
    assert(math.sqrt(errors.map(e => e * e).sum / errors.size) < 0.03, errors)
    // Small groupings are counted to the last one, and the one of NULLs is among them.
    assert(counts(Set("d")) == 20)
  }

  test("a smaller deviation makes the counts better") {
    val df = spark.table("counted")
    def error(deviation: Double) = {
      val counts = count(df, sets, deviation)
      sets.map(s => math.abs(counts(s.toSet) / truth(s.toSet) - 1)).sum
    }
    assert(error(0.005) < error(0.1) / 2)
  }

  test("plans use the counts until the input changes") {
    val query = "select a, b, c, count(*) from counted group by grouping sets ((a, b), (b, c), (c), ())"
    val df = spark.table("counted")
    val counts = count(df, sets)
    val before = PlannedStatistics.of(spark.sql(query))
    assert(before.rowCount == Estimate(60000, StatisticSource.Observed))
    PlannedStatistics.shared(spark.sql(query)).problem.groupings.filter(_.nonEmpty).foreach { q =>
      val columns = q.map(PlannedStatistics.shared(spark.sql(query)).problem.attributes(_).name)
      assert(before.groupsOf(q) == Estimate(counts(columns.toSet), StatisticSource.Observed))
    }
    // An execution knows better still.
    spark.sql(query).collect()
    val after = PlannedStatistics.of(spark.sql(query))
    PlannedStatistics.shared(spark.sql(query)).problem.groupings.filter(_.nonEmpty).foreach { q =>
      val columns = q.toSeq.map(PlannedStatistics.shared(spark.sql(query)).problem.attributes(_).name)
      assert(after.groupsOf(q).value == truth(columns.toSet))
    }
    write(200000)
    assert(PlannedStatistics.of(spark.sql(query)).rowCount.source != StatisticSource.Observed)
    write(60000)
  }

  test("filters and computed columns are counted as the queries read them") {
    val df = spark.sql("select a + 1 as x, c from counted where d > 10")
    val counts = count(df, Seq(Seq("x"), Seq("c", "x")))
    val planned = PlannedStatistics.of(
      spark.sql("select x, c, count(*) from (select a + 1 as x, c from counted where d > 10) group by cube(x, c)")
    )
    assert(planned.rowCount == Estimate(df.count().toDouble, StatisticSource.Observed))
    val shared = PlannedStatistics.shared(
      spark.sql("select x, c, count(*) from (select a + 1 as x, c from counted where d > 10) group by cube(x, c)")
    )
    val x = shared.problem.groupings.filter(_.nonEmpty).find(_.size == 2).get
    assert(planned.groupsOf(x) == Estimate(counts(Set("c", "x")), StatisticSource.Observed))
  }

  test("what cannot be counted is named") {
    val df = spark.table("counted")
    def refused(df: DataFrame, all: Seq[Seq[String]], deviation: Double = 0.02): String =
      intercept[StatisticsException](StatsApi.statsCount(df, json(all), deviation)).getMessage
    assert(refused(
      df,
      Seq(Seq("nope"))
    ).startsWith("[PHANTOMS_UNKNOWN_COLUMN] the DataFrame has no column nope; it has a, b"))
    assert(refused(df, Nil).startsWith("[PHANTOMS_NO_COLUMNS]"))
    assert(refused(df, Seq(Nil)).startsWith("[PHANTOMS_NO_COLUMNS]"))
    for (groupings <- Seq("""["a"]""", "\"a\"", "[[7]]", "{}", "null")) {
      val e = intercept[StatisticsException](StatsApi.statsCount(df, groupings, 0.02))
      assert(e.errorClass == "PHANTOMS_STATISTICS_FORMAT" && e.getMessage.contains("lists of column names"), groupings)
    }
    assert(refused(df, Seq(Seq("m"))).contains("column m is of type MAP<STRING, BIGINT>"))
    assert(refused(df, Seq(Seq("a")), 0.0).startsWith("[PHANTOMS_BAD_NUMBER]"))
    assert(refused(df.join(df.select("b"), "b"), Seq(Seq("a"))).startsWith("[PHANTOMS_CANNOT_COUNT]"))
    assert(refused(spark.range(10).toDF(), Seq(Seq("id"))).contains("cannot be told"))
    withConf("spark.phantoms.stats.observe" -> "false") {
      assert(refused(df, Seq(Seq("a"))).contains("spark.phantoms.stats.observe is false: set it to true"))
    }
    assert(observed.isEmpty)
  }
}
