package io.phantoms.spark.run

import scala.collection.mutable

import io.phantoms.spark.{TestSessions, Turns}
import io.phantoms.spark.api.StatsApi
import io.phantoms.spark.oracle.{EverySecondTest, TwoTiers, TwoTiersExtensions, UserAggregators}
import io.phantoms.spark.physical.{SharedMergeExec, TierExec}
import io.phantoms.spark.stats.observed.ObservationStore

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.scalatest.{Assertion, BeforeAndAfterAll}

/** Relations that outgrow the memory of their reduce task: same rows, and the metrics prove that the disk was used. */
final class MergeOnDiskSuite extends EverySecondTest with BeforeAndAfterAll {
  private var spark: SparkSession = _
  private val Mode = "spark.sql.codegen.factoryMode"

  // Plain Spark sorts on disk too, many times over: no suite takes longer.
  override protected def places: Int = 6

  override def beforeAll(): Unit = {
    spark = TestSessions.start(
      Map(
        "spark.testing.memory" -> (32L << 20).toString,
        "spark.testing.reservedMemory" -> "0",
        "spark.sql.extensions" -> classOf[TwoTiersExtensions].getName,
        "spark.phantoms.secondTier.enabled" -> "false",
        "spark.phantoms.strict" -> "true",
        "spark.phantoms.minSavings" -> "-1",
        "spark.phantoms.lfta.memory" -> "1m",
        "spark.phantoms.stats.observe" -> "true",
        "spark.sql.shuffle.partitions" -> "2"
      )
    )
    spark.range(0, 240000, 1, 4).selectExpr(
      "int(id * 7919 % 80021) a",
      "if(id % 11 = 0, null, concat('some longer text to fill memory ', id % 60001)) b",
      "int(id % 13) c",
      "id v",
      "cast(id as decimal(30, 3)) d"
    ).createOrReplaceTempView("t")
  }

  override def afterAll(): Unit = TestSessions.end(spark)

  private def nodes(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case a: AdaptiveSparkPlanExec => nodes(a.executedPlan)
    case s: QueryStageExec => nodes(s.plan)
    case other => other +: other.children.flatMap(nodes)
  }

  /** Order-free content of a result that is too large to collect under this little memory. */
  private def fingerprint(df: DataFrame): (Seq[Any], DataFrame) = {
    val row = df.columns.map(c => s"`$c`").mkString("xxhash64(", ", ", ")")
    val summary = df.selectExpr(s"$row h").selectExpr("count(*)", "sum(cast(h as decimal(38)))", "bit_xor(h)")
    (summary.collect().head.toSeq, summary)
  }

  private val plainAnswers = mutable.Map.empty[String, Seq[Any]]

  /** Plain Spark's answer, by generated code whatever the mode of the plugin's side, and once a text: `t` stays the same. */
  private def plain(sql: String): Seq[Any] = plainAnswers.getOrElseUpdate(
    sql, {
      val mode = spark.conf.getOption(Mode)
      spark.conf.set("spark.phantoms.enabled", "false")
      spark.conf.unset(Mode)
      try {
        val (answer, df) = fingerprint(spark.sql(sql))
        assert(!nodes(df.queryExecution.executedPlan).exists(_.nodeName.startsWith("Phantoms")))
        answer
      } finally {
        spark.conf.set("spark.phantoms.enabled", "true")
        mode.foreach(spark.conf.set(Mode, _))
      }
    }
  )

  /** @return the operators that ran */
  private def same(sql: String): Seq[SparkPlan] = {
    val expected = plain(sql)
    spark.conf.set("spark.phantoms.enabled", "true")
    val (ours, df) = fingerprint(spark.sql(sql))
    assert(ours == expected)
    nodes(df.queryExecution.executedPlan)
  }

  private def check(sql: String): Assertion = {
    val found = same(sql).collect { case m: SharedMergeExec => m }
    assert(found.size == 1)
    assert(found.head.metrics("spilledBytes").value > 0, "nothing went to disk")
  }

  private def checkTiers(sql: String, chained: Boolean): Assertion = {
    TwoTiers.chosen = TwoTiers.configuration(_, _.take(1), chained)
    spark.conf.set("spark.phantoms.secondTier.enabled", "true")
    try {
      val found = same(sql).collect { case t: TierExec => t }
      assert(found.size == 1)
      assert(found.head.metrics("spilledBytes").value > 0, "nothing went to disk between the shuffles")
      assert(found.head.metrics("shipped").value > 0)
    } finally spark.conf.set("spark.phantoms.secondTier.enabled", "false")
  }

  test("between the shuffles: a cube with strings and wide decimals, and a global group") {
    val cube =
      "select a, b, c, count(*) n, sum(v) s, sum(d) sd, min(b) mb, grouping_id() g from t group by cube(a, b, c)"
    Turns.some(Seq(false, true), 1).foreach(checkTiers(cube, _))
  }

  test("between the shuffles: numbers only, without generated code") {
    spark.conf.set(Mode, "NO_CODEGEN")
    val sets = "select a, v, c, count(*) n, max(d) s from t group by grouping sets ((a, v, c), (a, v), (v), (c), ())"
    try checkTiers(sets, chained = false)
    finally spark.conf.unset(Mode)
  }

  test("a cube with strings and wide decimals") {
    check("select a, b, c, count(*) n, sum(v) s, sum(d) sd, min(b) mb, grouping_id() g from t group by cube(a, b, c)")
  }

  test("approximate distinct counts, whose records are words merged in place") {
    check(
      "select a, c, approx_count_distinct(v, 0.2) n, approx_count_distinct(b, 0.3) m, count(*) r from t group by cube(a, c)"
    )
  }

  test("states that are objects: percentiles, sets, a user's own function") {
    UserAggregators.register(spark)
    check(
      "select a, c, percentile(v, 0.3) p, size(collect_set(b)) m, added(v) t, count(*) r from t group by cube(a, c)"
    )
  }

  if (Turns.full) test("between the shuffles: states that are objects, by strings") {
    checkTiers(
      """select b, c, percentile(v, 0.3) p, median(d) m, sum(v) s from t group by grouping sets ((a, b, c), (b, c), (b), (c), ())
        |""".stripMargin,
      chained = false
    )
  }

  if (Turns.full) test("few groups of large objects, which the disk cannot part any further") {
    same("select c % 2 k, percentile(v, 0.3) p, percentile(a, 0.5) q from t group by cube(c % 2)"): Unit
  }

  test("sliding windows: the slices of a group stay together on disk") {
    check(
      """select window(at, '70 seconds', '30 seconds') w, a, b, count(*) n, sum(d) sd, min(b) mb
        |from (select *, timestamp_seconds(v % 100) at from t) group by window(at, '70 seconds', '30 seconds'), a, b""".stripMargin
    )
  }

  test("shards: slices and fragments of a group stay together on disk") {
    check((0 until 3).map(i =>
      s"""select window(at, '${70 + i} seconds', '30 seconds') w, a, b, count(*) n, sum(d) sd, min(b) mb
         |from (select *, timestamp_seconds(v % 100) at from t) where v % 7 > $i
         |group by window(at, '${70 + i} seconds', '30 seconds'), a, b""".stripMargin
    ).mkString(" union all "))
  }

  test("conditional aggregates: the fragments of a group stay together on disk") {
    val asked = (1 to 8).map(i => s"sum(d) filter (where v % 11 > $i)") ++ (1 to 8).map(i => s"count_if(v % 13 < $i)")
    check(
      s"select a, b, min(b) mb, ${asked.zipWithIndex.map { case (f, i) => s"$f m$i" }.mkString(", ")} from t group by a, b"
    )
  }

  test("groups that were merged on disk are observed, each once") {
    val files = java.nio.file.Files.createTempDirectory("phantoms-disk").resolve("t").toString
    spark.conf.set("spark.phantoms.enabled", "false")
    spark.table("t").where("v < 160000").write.parquet(files)
    spark.read.parquet(files).createOrReplaceTempView("stored")
    StatsApi.statsClear(spark)
    check("select a, b, c, count(*) n, sum(d) sd, grouping_id() g from stored group by cube(a, b, c)")
    val found = ObservationStore.of(spark.sparkContext).all("")
    assert(found.size == 1)
    val groups = found.head.observation.groups.map { case (keys, n) => keys.map(found.head.names) -> n }
    spark.conf.set("spark.phantoms.enabled", "false")
    try {
      val names = Seq("a", "b", "c")
      val rows = spark.table("stored").selectExpr(names: _*).collect().map(_.toSeq)
      val truth = names.toSet.subsets().filter(_.nonEmpty).map { set =>
        set -> rows.iterator.map(r => set.map(k => k -> r(names.indexOf(k)))).distinct.size.toDouble
      }
      assert(groups == truth.toMap)
      assert(found.head.observation.rows.contains(160000.0))
    } finally spark.conf.set("spark.phantoms.enabled", "true")
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

  test("totals beyond their range are still known to be") {
    // Of one sign each, so that no order of additions comes back into range.
    val sums = "try_sum(if(a % 2 = 0, 9223372036854775807 - v, v)) s, try_sum(9223372036854775807 - v) u, " +
      "try_sum(if(a % 2 = 0, 99999999999999999999999999999999999999, d)) sd, sum(int(v)) i"
    check(s"select a, b, count(*) n, $sums from t group by grouping sets ((a, b), (a), ())")
  }

  test("without generated code") {
    spark.conf.set(Mode, "NO_CODEGEN")
    try check("select a, b, count(*) n, sum(v) s, max(d) m, min(b) l from t group by cube(a, b)")
    finally spark.conf.unset(Mode)
  }
}
