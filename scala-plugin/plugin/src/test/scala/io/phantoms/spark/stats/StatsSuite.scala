package io.phantoms.spark.stats

import io.phantoms.spark.ApplicationMemory
import java.io.File
import java.nio.file.Files

import org.apache.spark.SparkFunSuite
import org.apache.spark.sql.{DataFrame => AnyFrame}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, Average, Count}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{Dataset, SparkSession}

import io.phantoms.spark.TestSessions
import io.phantoms.spark.conf.{ObservingOptions, SamplingOptions}
import io.phantoms.spark.detect.{Consumer, FunctionSlot, KeySlot, Workload, WorkloadQuery}
import io.phantoms.spark.model.{Machine, Problem}
import io.phantoms.spark.stats.input.LinearInput
import io.phantoms.spark.stats.observed.ObservationStore
import io.phantoms.spark.stats.sampled.SampleCache
import io.phantoms.spark.stats.supplied.StatsRegistry

/** A local session, files and workloads for the suites of this package. */
abstract class StatsSuite extends SparkFunSuite {
  protected var spark: SparkSession = _
  protected var directory: File = _

  override def beforeAll(): Unit = {
    super.beforeAll()
    directory = Files.createTempDirectory("phantoms-stats").toFile
    spark = TestSessions.start(Map("spark.sql.shuffle.partitions" -> "4"))
  }

  override def afterAll(): Unit =
    try {
      TestSessions.end(spark)
      org.apache.spark.network.util.JavaUtils.deleteRecursively(directory)
    } finally super.afterAll()

  /** What the application remembers. */
  protected def memory: ApplicationMemory = new ApplicationMemory(spark.sparkContext)

  protected def path(name: String): String = new File(directory, name).toString

  /** Keys of every kind over n rows, in an order that says nothing about them, and `flow`: runs of 40 rows. */
  protected def writeRows(name: String, n: Long, files: Int = 2): String = {
    spark.range(0, n, 1, files).selectExpr(
      "id",
      "cast(pmod(xxhash64(id, 1), 200) as int) as small",
      "cast(pmod(xxhash64(id, 2), 20000) as int) as middle",
      "concat('host', cast(exp(pmod(xxhash64(id, 3), 1000000) / 1e6 * ln(50000)) as int)) as zipf",
      "cast(pmod(xxhash64(id div 40, 4), 5000) as int) as flow",
      "if(pmod(id, 10) = 0, null, cast(pmod(xxhash64(id, 5), 9) as int)) as holes"
    ).write.parquet(path(name))
    path(name)
  }

  protected def optimized(df: AnyFrame): LogicalPlan = df.asInstanceOf[Dataset[_]].queryExecution.optimizedPlan

  protected def input(df: AnyFrame): LinearInput =
    LinearInput.of(optimized(df)).getOrElse(fail(s"no chain over one leaf: ${optimized(df)}"))

  protected def attribute(plan: LogicalPlan, name: String): Attribute =
    plan.output.find(_.name == name).getOrElse(fail(s"no $name in $plan"))

  /** count(*) by each list of columns. */
  protected def workload(df: AnyFrame, queries: Seq[String]*): Workload = {
    val plan = optimized(df)
    workloadOf(plan, queries.flatten.distinct.map(attribute(plan, _)).toIndexedSeq, queries: _*)
  }

  protected def workloadOf(plan: LogicalPlan, keys: IndexedSeq[Expression], queries: Seq[String]*): Workload = {
    val names = queries.flatten.distinct
    val functions = Seq[AggregateFunction](Count(Seq(Literal(1))), Average(Literal(1.0)))
    def slot(e: Expression) = AttributeReference("slot", e.dataType, e.nullable)()
    Workload(
      plan,
      queries.map { q =>
        WorkloadQuery(
          plan,
          q.map(c => keys(names.indexOf(c))).map(k => KeySlot(slot(k), k)),
          functions.map(f => FunctionSlot(slot(f), f, None)),
          results = Nil,
          having = None,
          rowOnEmptyInput = false,
          fromGroupingSets = false
        )
      }.toIndexedSeq,
      IndexedSeq(Consumer(Nil, queries.indices))
    )
  }

  protected def problem(
      w: Workload,
      sampling: SamplingOptions = SamplingOptions(),
      registry: StatsRegistry = new StatsRegistry,
      cache: SampleCache = new SampleCache(32L << 20)
  ): Problem = {
    val known = KnownStatistics(registry, cache, new ObservationStore(1L << 20))
    StatisticsProvider.problem(spark, w.grouped, 1L << 20, sampling, ObservingOptions.Off, known, Machine())
  }

  protected def estimated(p: Problem): EstimatedStatistics = p.statistics match {
    case s: EstimatedStatistics => s
    case other => fail(s"not estimated: $other")
  }

  protected def assertWithin(estimate: Double, truth: Double, factor: Double, what: String): Unit = {
    val _ = assert(estimate <= truth * factor && estimate >= truth / factor, s"$what: $estimate, the truth is $truth")
  }
}
