package io.phantoms.spark.stats

import java.util.concurrent.atomic.AtomicInteger

import io.phantoms.spark.Turns
import io.phantoms.spark.api.StatsApi
import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.oracle.EverySecondTest
import io.phantoms.spark.run.PartCounts
import io.phantoms.spark.stats.input.{Estimate, LinearInput, StatisticSource}
import io.phantoms.spark.stats.observed.ObservedInput

import org.apache.spark.{SparkException, TaskContext}
import org.apache.spark.sql.Row

/** What executions count is what plain Spark counts, or nothing is recorded. */
final class ObservedCountsSuite extends EverySecondTest with ObservedSession {
  import ObservedCountsSuite._

  // A task may fail twice.
  override protected def master: String = "local[2,3]"

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.udf.register("failing", (n: Int) => { Failures.fail(); n })
    ()
  }

  private val sets = Seq(Set("k", "m"), Set("k", "s"), Set("k"), Set("s"))
  private def query(where: String = "true"): String = PluginSession.sets("flows", where)

  for (
    seed <- Turns.some(1L to 12L, 6); adaptive <- Turns.some(Seq("true", "false"), 1, seed.toInt + Turns.slower(2))
  ) {
    test(s"rows and groups under random configuration $seed, spark.sql.adaptive.enabled=$adaptive") {
      withConf("spark.sql.adaptive.enabled" -> adaptive)(configured(seed) {
        spark.sql(query()).collect()
        assertCounted("flows", "true", sets: _*)
        spark.sql(PluginSession.union("flows")).collect()
        assertCounted("flows", "true", sets :+ Set("m"): _*)
      })
    }
  }

  test("under the chooser's own configurations, with filters apart from one another") {
    bothModes {
      StatsApi.statsClear(spark)
      spark.sql(query("m > 7")).collect()
      assertCounted("flows", "m > 7", sets: _*)
      spark.sql(query("m is not null")).collect()
      spark.sql(query()).collect()
      assert(observed.map(_.key).distinct.size == 3)
      assert(observed.flatMap(_.observation.rows).toSet.size == 3)
    }
  }

  test("tasks that AQE could coalesce, tasks that compute several partitions, and consumers above") {
    withConf("spark.sql.adaptive.coalescePartitions.initialPartitionNum" -> "17")(configured(3) {
      spark.sql(query()).coalesce(1).collect()
      assertCounted("flows", "true", sets: _*)
      StatsApi.statsClear(spark)
      spark.sql(query()).coalesce(1).rdd.count()
      assertCounted("flows", "true", sets: _*)
      StatsApi.statsClear(spark)
      spark.sql(query()).write.parquet(s"$folder/written")
      assertCounted("flows", "true", sets: _*)
      StatsApi.statsClear(spark)
      spark.sql(query()).orderBy("total").groupBy("k").count().collect()
      assertCounted("flows", "true", sets: _*)
    })
  }

  test("a limit records nothing, be it of some partitions or of some rows of each") {
    bothModes {
      Seq[Long](1, 2, 3).foreach(configured(_) {
        spark.sql(query()).take(1)
        spark.sql(query()).limit(2).collect()
        spark.sql(s"${query()} limit 3").collect()
        assert(observed.isEmpty)
      })
    }
  }

  test("a map task that fails and runs again counts once") {
    bothModes {
      StatsApi.statsClear(spark)
      configured(5) {
        Failures.during(1, spark.sql(query("failing(k) > 3")).collect())
        assertCounted("flows", "k > 3", sets: _*)
      }
    }
  }

  test("a reduce task that fails after its last row and runs again counts once") {
    bothModes {
      StatsApi.statsClear(spark)
      configured(5) {
        Failures.during(2, spark.sql(query()).rdd.mapPartitions(failingAtTheEnd).collect())
        assertCounted("flows", "true", sets: _*)
      }
    }
  }

  test("a job that fails records nothing") {
    bothModes {
      configured(5) {
        Failures.during(3, intercept[SparkException](spark.sql(query("failing(k) > 3")).collect()))
        Failures.during(3, intercept[SparkException](spark.sql(query()).rdd.mapPartitions(failingAtTheEnd).collect()))
        assert(observed.isEmpty)
      }
    }
  }

  test("a plan that runs several times counts once") {
    bothModes {
      StatsApi.statsClear(spark)
      configured(4) {
        val df = spark.sql(query())
        df.collect()
        val first = only
        df.collect()
        df.rdd.count()
        assert(only == first)
        spark.sql(query()).collect()
        assert(only == first)
      }
    }
  }

  test("several consumers of one exchange") {
    bothModes {
      StatsApi.statsClear(spark)
      configured(6) {
        spark.sql(s"select * from (${query()}) union all select * from (${query()})").collect()
        assertCounted("flows", "true", sets: _*)
        StatsApi.statsClear(spark)
        val joined = s"select a.k, b.total from (${query()}) a left join (${query()}) b on a.total + 1 = b.total"
        spark.sql(joined).collect()
        assertCounted("flows", "true", sets: _*)
      }
    }
  }

  test("an empty input has no group") {
    bothModes {
      StatsApi.statsClear(spark)
      spark.sql(query("k < 0")).collect()
      val found = only
      assert(found.observation.rows.contains(0.0))
      assert(named(found) == sets.map(_ -> 0.0).toMap)
      // And nothing is made of it that a plan could stumble over.
      assertSame(query("k < 0"))
    }
  }

  test("a cached table is observed once it is loaded, and never written to a file") {
    spark.sql("cache table kept as select k, m, s, v, d from flows where k > 1")
    try {
      val files = java.nio.file.Files.createTempDirectory("phantoms-observed")
      bothModes(withConf("spark.phantoms.stats.path" -> files.toString) {
        StatsApi.statsClear(spark)
        spark.sql(PluginSession.sets("kept")).collect()
        assertCounted("kept", "true", sets: _*)
        memory.observations.flush()
        assert(files.toFile.list().isEmpty)
      })
    } finally { val _ = spark.sql("uncache table kept") }
  }

  test("inputs whose state cannot be told, or that differ from read to read, are not observed") {
    spark.createDataFrame(spark.table("flows").rdd, spark.table("flows").schema).createOrReplaceTempView("rows")
    spark.sql(PluginSession.sets("rows")).collect()
    spark.range(100).selectExpr("id % 7 as k", "id % 5 as m", "id % 3 as s", "id as v", "id as d")
      .createOrReplaceTempView("counted")
    spark.sql(PluginSession.sets("counted")).collect()
    assert(observed.isEmpty)
    def of(sql: String) = {
      val input = LinearInput.of(spark.sql(sql).queryExecution.optimizedPlan).get
      ObservedInput.of(input, input.columns.values.toIndexedSeq, input.columns.keys.map(_.name).toIndexedSeq, 1, "")
    }
    assert(of("select k from flows where v > 3").isDefined)
    assert(of("select k from flows where rand() > 0.3").isEmpty)
    assert(of("select k + int(10 * rand()) as k from flows").isEmpty)
  }

  test("files read by another schema or with other options are another input") {
    val csv = s"$folder/csv"
    spark.sql("select k, m, k + 1 as s, v, v as d from flows").write.csv(csv)
    def run(schema: String, separator: String): Unit = {
      spark.read.schema(schema).option("sep", separator).csv(csv).createOrReplaceTempView("text")
      val _ = spark.sql(PluginSession.sets("text")).collect()
    }
    run("k int, m int, s int, v int, d int", ",")
    run("m int, k int, s int, v int, d int", ",")
    run("k int, m int, s int, v int, d int", ";")
    assert(observed.size == 3)
    assert(observed.map(_.key.source).distinct.size == 1)
  }

  test("partitions that a query does not read do not matter to it") {
    val files = s"$folder/parts"
    def write(part: Int, rows: Int): Unit = PluginSession.flows(spark, rows.toLong, 1).write.parquet(s"$files/p=$part")
    def query = {
      spark.read.parquet(files).createOrReplaceTempView("parts")
      spark.sql(PluginSession.sets("parts", "p = 1"))
    }
    write(1, 2000)
    write(2, 500)
    query.collect()
    assertCounted("parts", "p = 1", sets: _*)
    write(3, 90000)
    assert(PlannedStatistics.of(query).rowCount == Estimate(2000, StatisticSource.Observed))
    PluginSession.flows(spark, 1000, 1).write.mode("append").parquet(s"$files/p=1")
    assert(PlannedStatistics.of(query).groupsOf(scala.collection.immutable.BitSet(0)).source == StatisticSource.Scaled)
  }

  test("switched off, nothing is observed, and nothing observed is used") {
    withConf("spark.phantoms.stats.observe" -> "false")(spark.sql(query()).collect())
    assert(observed.isEmpty)
    spark.sql(query()).collect()
    def rows = PlannedStatistics.of(spark.sql(query())).rowCount
    assert(rows == Estimate(20000, StatisticSource.Observed))
    withConf("spark.phantoms.stats.observe" -> "false")(assert(rows.source == StatisticSource.Catalog))
  }

  test("parts count once, in any order, and all have to be there") {
    var complete = Seq.empty[Seq[Long]]
    val counts = new PartCounts(3, sums => complete :+= sums.toSeq)
    def task(parts: Int*): PartCounts = {
      val copy = counts.copyAndReset()
      parts.foreach(p => copy.add(PartCounts.Part(p, Array(1L << p, 10L))))
      copy
    }
    Seq(task(1), task(1), task(), task(0, 1), task(1)).foreach(counts.merge)
    assert(complete.isEmpty)
    counts.merge(task(2))
    assert(complete == Seq(Seq(7L, 30L)))
    Seq(task(2), task(0, 1, 2)).foreach(counts.merge)
    assert(complete.size == 1)
    val half = new PartCounts(2, sums => complete :+= sums.toSeq)
    half.merge(task(0))
    assert(!half.isZero && half.copyAndReset().isZero)
    half.reset()
    assert(half.isZero)
    half.merge(task(1))
    assert(complete.size == 1)
  }
}

object ObservedCountsSuite {

  /** Lets the first attempts of one task fail. Tasks run in this process. */
  object Failures {
    private val attempts = new AtomicInteger
    private val failed = new AtomicInteger

    def during(times: Int, body: => Any): Unit = {
      failed.set(0)
      attempts.set(times)
      try { val _ = body }
      finally attempts.set(0)
      assert(failed.get == times, s"${failed.get} attempts failed instead of $times")
    }

    def fail(): Unit = {
      val context = TaskContext.get()
      if (context != null && context.partitionId() == 0 && context.attemptNumber() < attempts.get) {
        failed.incrementAndGet()
        throw new IllegalStateException("this attempt fails")
      }
    }
  }

  /** Fails once every row is there. */
  private def failingAtTheEnd: Iterator[Row] => Iterator[Row] = it =>
    it ++ Iterator.single(()).flatMap { _ =>
      Failures.fail()
      Iterator.empty[Row]
    }
}
