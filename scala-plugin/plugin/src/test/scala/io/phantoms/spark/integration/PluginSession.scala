package io.phantoms.spark.integration

import java.nio.file.Files

import io.phantoms.spark.{ApplicationMemory, PhantomsExtensions, SessionConfs, TestSessions, Turns}
import io.phantoms.spark.detect.{DetectionTestSession, WorkloadOracle}
import io.phantoms.spark.physical.{LftaExec, SharedMerge, SharedMergeExec}

import org.apache.spark.sql.{Row, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.{SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.scalatest.{Assertions, BeforeAndAfterAll, Suite}

/**
 * A session with the plugin, which shares whatever can be shared, and comparisons with the plugin switched off.
 *
 * Views: `t` (300 rows of every type, few values, many NULLs) and `flows` (20000 rows in 4 files: ints, strings, decimals).
 */
trait PluginSession extends BeforeAndAfterAll with Assertions with AdaptiveSparkPlanHelper with SessionConfs {
  this: Suite =>
  protected var spark: SparkSession = _
  protected lazy val folder: String = Files.createTempDirectory("phantoms-integration").toString

  protected def master: String = "local[2]"
  protected def confs: Map[String, String] = Map.empty
  protected def extensions: SparkSessionExtensions => Unit = new PhantomsExtensions

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark = TestSessions.start(
      PluginSession.confs + ("spark.sql.warehouse.dir" -> s"$folder/warehouse") ++ confs,
      master,
      extensions
    )
    DetectionTestSession.rows(spark).write.parquet(s"$folder/t")
    PluginSession.flows(spark, 20000, 4).write.parquet(s"$folder/flows")
    views(spark)
  }

  /** What the application remembers between plans. */
  protected def memory: ApplicationMemory = new ApplicationMemory(spark.sparkContext)

  protected def views(session: SparkSession): Unit =
    Seq("t", "flows").foreach(n => session.read.parquet(s"$folder/$n").createOrReplaceTempView(n))

  override def afterAll(): Unit =
    try TestSessions.end(spark)
    finally super.afterAll()

  // What Spark's own rules do to a plan needs no check here.
  protected def plain[T](body: => T): T =
    withConf("spark.phantoms.enabled" -> "false", "spark.sql.planChangeValidation" -> "false")(body)

  private var asked = 0

  /** Runs `body` under adaptive execution and without, in turns: by one of the two each time this is called. */
  protected def bothModes(body: => Any): Unit = {
    asked += 1
    Turns.some(Seq("true", "false"), 1, asked).foreach { on =>
      withClue(s"spark.sql.adaptive.enabled=$on: ")(withConf("spark.sql.adaptive.enabled" -> on)(body))
    }
  }

  protected def sharedIn(plan: LogicalPlan): Seq[SharedMerge] =
    plan.collectWithSubqueries { case m: SharedMerge => m }

  protected def isShared(df: DataFrame): Boolean = sharedIn(df.queryExecution.optimizedPlan).nonEmpty

  protected def lftas(plan: SparkPlan): Seq[LftaExec] = collectWithSubqueries(plan) { case l: LftaExec => l }
  protected def merges(plan: SparkPlan): Seq[SharedMergeExec] =
    collectWithSubqueries(plan) { case m: SharedMergeExec => m }

  /** Rows and schema with the plugin are those without; and the plugin did something. The query that ran is returned. */
  protected def assertSame(query: => DataFrame): DataFrame = {
    val (schema, rows) = plain {
      val df = query
      assert(!isShared(df))
      (df.schema, df.collect().toSeq)
    }
    val df = query
    assert(isShared(df), s"nothing was shared in\n${df.queryExecution.optimizedPlan}")
    assert(df.schema == schema)
    assertRows(df.collect().toSeq, rows)
    df
  }

  protected def assertSame(sql: String): DataFrame = assertSame(spark.sql(sql))

  protected def assertRows(found: Seq[Row], expected: Seq[Row]): Unit = {
    val (f, e) = (WorkloadOracle.multiset(found), WorkloadOracle.multiset(expected))
    val extra = f.toSeq.diff(e.toSeq).take(5)
    val missing = e.toSeq.diff(f.toSeq).take(5)
    assert(f == e, s"extra: $extra, missing: $missing")
    ()
  }
}

object PluginSession {
  val confs: Map[String, String] = Map(
    "spark.sql.shuffle.partitions" -> "3",
    "spark.sql.session.timeZone" -> "UTC",
    "spark.sql.planChangeValidation" -> "true",
    "spark.phantoms.minSavings" -> "-1",
    // One query must not change the plan of the next.
    "spark.phantoms.stats.observe" -> "false",
    "spark.phantoms.strict" -> "true"
  )

  /** What a stage ends in, where it is one. */
  def ofStage(plan: SparkPlan): SparkPlan = plan match {
    case w: WholeStageCodegenExec => w.child
    case other => other
  }

  /** Whether what comes of a plan are blocks of an LFTA. */
  def endsInLfta(plan: SparkPlan): Boolean = ofStage(plan).isInstanceOf[LftaExec]

  /** `k` 40 values from 1, never NULL in the data; `m` 300 values and NULL; `s` strings and NULL; `v`, `d` to sum. */
  def flows(spark: SparkSession, rows: Long, partitions: Int): DataFrame =
    spark.range(0, rows, 1, partitions).selectExpr(
      "cast(1 + (id * 7919) % 40 as int) as k",
      "cast(nullif((id * 104729) % 301, 300) as int) as m",
      "nullif(concat('host-', (id * 31) % 97), 'host-13') as s",
      "id % 1000 as v",
      "cast(id % 500 as decimal(10, 2)) as d"
    )

  /** Three groupBys of one input: rows of `k`, of `m`, and the grand total. */
  def union(table: String, where: String = "true"): String =
    s"""select k, cast(null as int) as m, count(*) as n, sum(v) as total from $table where $where group by k
       |union all select null, m, count(*), sum(v) from $table where $where group by m
       |union all select null, null, count(*), sum(v) from $table where $where""".stripMargin

  /** Sliding windows of 60 by 25 over `v`, taken for seconds. */
  def windows(table: String, where: String = "true"): String =
    s"""select window.start as b, window.end as e, k, s, count(*) as n, sum(d) as total, max(m) as last
       |from (select *, timestamp_seconds(v) as at from $table where $where)
       |group by window(at, '60 seconds', '25 seconds'), k, s""".stripMargin

  def sets(table: String, where: String = "true"): String =
    s"""select k, m, s, count(*) as n, sum(v) as total, avg(d) as mean, max(s) as last from $table where $where
       |group by grouping sets ((k, m), (k, s), (k), (s), ())""".stripMargin
}
