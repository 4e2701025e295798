package io.phantoms.spark.oracle

import io.phantoms.spark.Turns
import io.phantoms.spark.physical.{LftaExec, SharedMergeExec, TierExec}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper

/** Relations of the second tier, whatever their types: the rows are plain Spark's, and the first shuffle runs once. */
class SecondTierSuite extends EverySecondTest with TakesTurns with AdaptiveSparkPlanHelper {
  override protected def extensions: String = classOf[TwoTiersExtensions].getName
  override protected def sessionConf: Map[String, String] =
    super.sessionConf + ("spark.phantoms.stats.sample.enabled" -> "false")
  override protected def createTables(): Unit = OracleTables.create(spark)

  private val configurations = Seq(
    "by its first key" -> (TwoTiers.configuration(_, _.take(1), chained = false)),
    "by all its keys" -> (TwoTiers.configuration(_, identity, chained = false)),
    "by its last key, relations of the second tier feed one another" ->
      (TwoTiers.configuration(_, _.takeRight(1), chained = true))
  )

  private val modes = IndexedSeq("true" -> "FALLBACK", "false" -> "FALLBACK", "true" -> "NO_CODEGEN")

  // A Latin square: each turn has every configuration and every mode once.
  override protected def turns: IndexedSeq[Seq[Variant]] = modes.indices.map { turn =>
    configurations.zipWithIndex.map { case ((label, configuration), i) =>
      val (adaptive, mode) = modes((i + turn) % modes.size)
      Variant(
        s"the finest relation shipped $label, adaptive $adaptive, $mode",
        Seq("spark.sql.adaptive.enabled" -> adaptive, "spark.sql.codegen.factoryMode" -> mode),
        () => TwoTiers.chosen = configuration
      )
    }
  }

  // Half of the forms of the input have their turn, for each query others.
  for (
    ((name, sql), q) <- OracleTables.queries.zipWithIndex;
    (input, i) <- Turns.some(OracleTables.inputs.zipWithIndex, (OracleTables.inputs.size + 1) / 2, q)
  )
    test(s"$name over $input") {
      OracleTables.use(spark, input)
      onTurn(q + i)(checkSharedSql(sql))
    }

  test("inputs without a row and without a file") {
    val queries = (t: String) =>
      Seq(
        s"select a, b, count(*), sum(c) from $t group by cube(a, b)",
        s"select a k, count(*) n, max(b) m from $t group by a union all select null, count(c), min(b) from $t " +
          s"union all select z, count(c), min(b) from $t group by z"
      )
    for ((t, i) <- Seq("none", "nothing").zipWithIndex; (sql, q) <- queries(t).zipWithIndex)
      onTurn(i + q)(checkSharedSql(sql))
  }

  test("an error of a sum, with ANSI") {
    val sql = "select a, z, sum(if(c > 100, 9223372036854775807, c)) from t group by cube(a, z)"
    withConf("spark.sql.ansi.enabled" -> "true")(checkFailsSharedSql(sql))
  }

  private def cubeOf(table: String) =
    s"select a, b, z, count(*) n, sum(c) s, max(b) m from $table group by cube(a, b, z)"
  private val cube = cubeOf("t_parquet")

  test("what consumes it: order, limits, joins, caches, files") {
    onTurn(0)(checkSharedSql(s"select * from ($cube) order by n desc, s, a, b, z limit 20", ordered = true))
    onTurn(1)(checkSharedSql(s"select count(*) from (select * from ($cube) limit 7)"))
    onTurn(2)(checkSharedSql(s"select x.a, y.n, x.m from ($cube) x join ($cube) y on x.a = y.a and x.n = y.n"))
    onTurn(3)(checkSharedSql(s"select a, sum(n) from ($cube) where b is null group by a"))
    onTurn(4)(checkSharedSql(s"select a, (select max(n) from ($cube)) from ($cube) where z = 1"))
    val expected = plain(spark.sql(cube))
    Turns.some(onTurn(5)(variants), 1, Turns.slower(3)).foreach { v =>
      v.prepare()
      withConf(v.confs: _*) {
        val folder = java.nio.file.Files.createTempDirectory("phantoms-tiers").toString
        spark.sql(cube).write.mode("overwrite").parquet(folder)
        val cached = spark.sql(cube).cache()
        try
          for (rows <- Seq(spark.read.parquet(folder), cached))
            assert(Rows.difference(expected.result.toOption.get, rows.collect().toSeq, Set.empty, Set.empty).isEmpty)
        finally { val _ = cached.unpersist() }
      }
    }
  }

  private def operators(df: DataFrame): (Seq[LftaExec], Seq[TierExec], Seq[SharedMergeExec]) = {
    val plan: SparkPlan = df.queryExecution.executedPlan
    (
      collect(plan) { case l: LftaExec => l },
      collect(plan) { case t: TierExec => t },
      collect(plan) { case m: SharedMergeExec => m }
    )
  }

  test("the map side runs once, and the metrics tell of both tiers") {
    for ((input, i) <- OracleTables.inputs.zipWithIndex; v <- onTurn(i)(variants)) {
      v.prepare()
      withConf(v.confs: _*) {
        val df = spark.sql(cubeOf(s"t_$input"))
        val rows = df.collect().length
        withClue(s"${v.label}\n${df.queryExecution}\n") {
          val (lftas, tiers, merges) = operators(df)
          assert(lftas.size == 1 && lftas.head.metrics("rows").value == 400)
          assert(merges.map(_.metrics("numOutputRows").value).sum == rows)
          assert(tiers.size == 1 && merges.size == 2)
          val tier = tiers.head.metrics.view.mapValues(_.value)
          assert(tier("received") == lftas.head.metrics("externalEvictions").value)
          assert(tier("shipped") > 0 && tier("blocks") > 0 && tier("blockBytes") > 0 && tier("peakBytes") > 0)
          assert(merges.exists(_.metrics("received").value == tier("shipped")))
        }
      }
    }
  }

  test("over a join, whose sides are planned again once they are there") {
    val joined = cubeOf("(select t_parquet.* from t_parquet join dim on t_parquet.a = dim.a where dim.name <> 'n2')")
    for ((threshold, t) <- Seq("-1", "10m").zipWithIndex)
      withConf("spark.sql.autoBroadcastJoinThreshold" -> threshold) {
        onTurn(t)(checkSharedSql(joined))
        onTurn(t + 1)(variants).foreach { v =>
          v.prepare()
          withConf(v.confs: _*) {
            val df = spark.sql(joined)
            df.collect()
            val (lftas, tiers, merges) = operators(df)
            assert(
              (lftas.size, tiers.size, merges.size) == ((1, 1, 2)),
              s"${v.label}\n${df.queryExecution.executedPlan}"
            )
          }
        }
      }
  }

  test("not without exchanges that are reused, nor when switched off") {
    Seq("spark.sql.exchange.reuse", "spark.phantoms.secondTier.enabled").foreach { key =>
      withConf(key -> "false") {
        val df = spark.sql(cube)
        df.collect()
        val (lftas, tiers, merges) = operators(df)
        assert((lftas.size, tiers.size, merges.size) == ((1, 0, 1)))
      }
    }
  }
}
