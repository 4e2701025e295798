package io.phantoms.spark.integration

import io.phantoms.spark.api.StatsApi
import io.phantoms.spark.conf.PlanningMemory
import io.phantoms.spark.oracle.EverySecondTest
import io.phantoms.spark.rewrite.PhantomsRule
import io.phantoms.spark.stats.input.InputIdentity
import io.phantoms.spark.stats.observed.{ObservationStore, ObservedInput, ObservedKey}
import io.phantoms.spark.stats.sampled.{InputSample, PartitionSample, SampleCache}

import org.apache.spark.sql.classic.{DataFrame, SparkSession}
import org.apache.spark.util.SizeEstimator
import org.scalatest.BeforeAndAfterEach

/** What stays in memory between plans, as [[SizeEstimator]] finds it, beside the bounds and what is said to be held. */
class PlanningMemorySuite extends EverySecondTest with PluginSession with BeforeAndAfterEach {
  private val keys = (0 until 8).map(i => s"k$i")
  private val sampleBytes = 40000L * keys.size * 8

  override protected def confs: Map[String, String] = Map("spark.phantoms.stats.observe" -> "true")

  override protected def views(session: SparkSession): Unit = {
    super.views(session)
    val columns = keys.indices.map(i => s"cast(pmod(xxhash64(id, $i), ${20 * (i + 1)}) as int) k$i")
    session.range(0, 40000, 1, 2).selectExpr(columns :+ "id v": _*).write.mode("overwrite").parquet(s"$folder/many")
    session.read.parquet(s"$folder/many").createOrReplaceTempView("many")
  }

  override def beforeEach(): Unit = {
    super.beforeEach()
    StatsApi.statsClear(spark)
  }

  private def query(i: Int): DataFrame = spark.sql(
    s"""select ${keys.mkString(", ")}, count(*), sum(v) from many where v >= $i
       |group by grouping sets ((k0, k1, k2), (k0, k1), (k1, k2), (k2, k3), (k4, k5, k6, k7), (k4, k5), (k6, k7))""".stripMargin
  )

  private def plan(queries: Int): Unit = (1 to queries).foreach(i => assert(isShared(query(i))))

  private def assertWeighed(held: Long, kept: AnyRef, bound: Long): Unit = {
    val real = SizeEstimator.estimate(kept)
    assert(real <= bound, s"$held were weighed")
    val _ = assert(held <= 2 * real && real <= 2 * held, s"$held were weighed, $real are held")
  }

  test(
    "choices of different queries hold none of their samples, which are weighed with all that comes of them, and forgotten"
  ) {
    plan(40)
    val choices = memory.choices
    assert(choices.size == 40)
    assertWeighed(choices.held, choices, PlanningMemory.ChoiceBytes)
    assert(choices.held < 40 * sampleBytes / 10)
    val samples = memory.samples
    assert(40 * sampleBytes > PlanningMemory.SampleBytes)
    assert(samples.size > 1 && samples.size < 40)
    assertWeighed(samples.held, samples, PlanningMemory.SampleBytes)
  }

  test("samples with more worked out than sampled, with long filters, and failed ones are weighed as well") {
    val cache = new SampleCache(64L << 20)
    val few = PartitionSample(Array.tabulate(6000)(i => (i % 97).toLong), 10, Array.fill(600)(1L), 300, 900, false, 0)
    val keys = (0 until 10).map(i => s"key $i")
    val sample = new InputSample(keys, Vector.fill(3)(few), 9)
    (1 until 1024).foreach(s => sample.distinct(keys.indices.filter(i => (s >> i & 1) == 1).map(keys), 1e6))
    val filter = "k IN (" + (0 until 20000).mkString(", ") + ")"
    cache.getOrElse(InputIdentity("files", "", "state"), keys.toSet, 10)(Right(sample))
    cache.getOrElse(InputIdentity("files", filter, "state"), keys.toSet, 10)(Left("it failed"))
    assertWeighed(cache.held, cache, 64L << 20)
    assert(cache.held > 600000)
  }

  test("a sample of many keys and rows is as large as there is room for") {
    val wide = (0 until 300).map(i => s"id % ${i + 2} c$i")
    spark.range(0, 60000, 1, 2).selectExpr(wide: _*).write.parquet(s"$folder/wide")
    StatsApi.statsSample(spark.read.parquet(s"$folder/wide"))
    assert(memory.samples.size == 1)
    assertWeighed(memory.samples.held, memory.samples, PlanningMemory.SampleBytes)
  }

  test("observations are weighed, however long the filters") {
    (1 to 3).foreach(i => query(i).collect())
    val filter = (0 until 30000).mkString("k0 in (", ", ", ")")
    spark.sql(PluginSession.union("flows", filter.replace("k0", "k"))).collect()
    assert(memory.observations.all("").size == 4)
    assertWeighed(memory.observations.held, memory.observations, PlanningMemory.ObservationBytes)
    assert(memory.observations.held > 200000)
  }

  test("observations beyond the bound are forgotten, those used last stay") {
    val store = new ObservationStore(100000)
    val inputs = (1 to 100).map { i =>
      ObservedInput(ObservedKey(s"files:$i", "", "x" * 2000), "state", IndexedSeq("a"), IndexedSeq("a"), 1.0, "")
    }
    inputs.foreach(store.counted(_, 1.0, Map.empty))
    assert(store.held <= 100000 && SizeEstimator.estimate(store) <= 110000)
    assert(store.find(inputs.head).isEmpty && store.find(inputs.last).nonEmpty)
  }

  test("clear frees everything") {
    plan(3)
    query(1).collect()
    def kept: Seq[AnyRef] = Seq(memory.choices, memory.samples, memory.observations)
    assert(kept.map(SizeEstimator.estimate).sum > sampleBytes)
    StatsApi.statsClear(spark)
    assert(kept.map(SizeEstimator.estimate).sum < 100000)
    assert(memory.choices.held == 0 && memory.samples.held == 0 && memory.observations.held == 0)
  }

  test("warnings of a session are bounded") {
    withConf("spark.phantoms.strict" -> "false") {
      (1 to 100).foreach { i =>
        withConf(
          s"spark.phantoms.no.such.${"x" * 1500}.$i" -> "1"
        )(spark.range(i).groupBy().count().queryExecution.optimizedPlan)
      }
    }
    val warned = PhantomsRule.warnedIn(spark)
    assert(warned.size > 1 && warned.size < 100)
    assertWeighed(warned.held, warned, PhantomsRule.WarnedBytes + 10000)
  }
}
