package io.phantoms.spark.execute

import io.phantoms.spark.PhantomsExtensions

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.scalatest.{Assertion, BeforeAndAfterAll}
import org.scalatest.funsuite.AnyFunSuite

/** Relations that outgrow the memory of their reduce task: same rows, and the metrics prove that the disk was used. */
final class MergeOnDiskSuite extends AnyFunSuite with BeforeAndAfterAll {
  private var spark: SparkSession = _

  override def beforeAll(): Unit = {
    SparkSession.getActiveSession.foreach(_.stop())
    spark = SparkSession.builder().master("local[2]")
      .config("spark.ui.enabled", "false")
      .config("spark.testing.memory", 48L << 20)
      .config("spark.testing.reservedMemory", 0L)
      .config("spark.unsafe.exceptionOnMemoryLeak", "true")
      .config("spark.sql.extensions", classOf[PhantomsExtensions].getName)
      .config("spark.phantoms.strict", "true")
      .config("spark.phantoms.minSavings", "-1")
      .config("spark.phantoms.lfta.memory", "1m")
      .config("spark.sql.shuffle.partitions", "2")
      .getOrCreate()
    spark.range(0, 600000, 1, 4).selectExpr(
      "int(id * 7919 % 200003) a",
      "if(id % 11 = 0, null, concat('some longer text to fill memory ', id % 150001)) b",
      "int(id % 13) c",
      "id v",
      "cast(id as decimal(30, 3)) d"
    ).createOrReplaceTempView("t")
  }

  override def afterAll(): Unit = spark.stop()

  private def merges(plan: SparkPlan): Seq[SharedMergeExec] = plan match {
    case a: AdaptiveSparkPlanExec => merges(a.executedPlan)
    case s: QueryStageExec => merges(s.plan)
    case m: SharedMergeExec => m +: m.children.flatMap(merges)
    case other => other.children.flatMap(merges)
  }

  /** Order-free content of a result that is too large to collect under this little memory. */
  private def fingerprint(df: DataFrame): (Seq[Any], DataFrame) = {
    val row = df.columns.map(c => s"`$c`").mkString("xxhash64(", ", ", ")")
    val summary = df.selectExpr(s"$row h").selectExpr("count(*)", "sum(cast(h as decimal(38)))", "bit_xor(h)")
    (summary.collect().head.toSeq, summary)
  }

  private def check(sql: String): Assertion = {
    spark.conf.set("spark.phantoms.enabled", "false")
    val (plain, _) = fingerprint(spark.sql(sql))
    spark.conf.set("spark.phantoms.enabled", "true")
    val (ours, df) = fingerprint(spark.sql(sql))
    val found = merges(df.queryExecution.executedPlan)
    assert(found.size == 1, df.queryExecution.executedPlan)
    assert(found.head.metrics("spilledBytes").value > 0, "nothing went to disk")
    assert(ours == plain)
  }

  test("a cube with strings and wide decimals") {
    check("select a, b, c, count(*) n, sum(v) s, sum(d) sd, min(b) mb, grouping_id() g from t group by cube(a, b, c)")
  }

  test("a rollup: every relation derived from the one above it") {
    check("select a, c, b, count(b) n, max(v) s, avg(d) m, grouping_id() g from t group by rollup(a, c, b)")
  }

  test("a union with a global branch over no row left") {
    check(
      "select a, v, count(*) n from t group by a, v union all select c, v, count(*) from t group by c, v " +
        "union all select null, null, count(*) from t"
    )
  }

  test("numbers only, one value of the shard key") {
    check("select a, v, count(*) n, sum(v) s from t group by grouping sets ((a, v), (a), (v), ())")
  }

  test("without generated code") {
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    try check("select a, b, count(*) n, sum(v) s, max(d) m, min(b) l from t group by cube(a, b)")
    finally spark.conf.unset("spark.sql.codegen.factoryMode")
  }
}
