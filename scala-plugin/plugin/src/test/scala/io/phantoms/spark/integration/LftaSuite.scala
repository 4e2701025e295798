package io.phantoms.spark.integration

import io.phantoms.spark.physical.{LftaExec, SharedMergeExec}

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.{ColumnarToRowTransition, FilterExec, ProjectExec}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.scalatest.funsuite.AnyFunSuite

/** The map side reads batches where there are some, and its metrics add up. */
final class LftaSuite extends AnyFunSuite with PluginSession {
  override protected def extensions: SparkSessionExtensions => Unit = Variants.extensions

  private def operators(df: DataFrame): (LftaExec, SharedMergeExec) = {
    val plan = df.queryExecution.executedPlan
    (lftas(plan), merges(plan)) match {
      case (Seq(l), Seq(m)) => (l, m)
      case other => fail(s"$other in\n$plan")
    }
  }

  private def assertColumnar(sql: String): Unit = {
    val (lfta, _) = operators(assertSame(sql))
    val below = collect(lfta.child) {
      case c: ColumnarToRowTransition => c
      case p: ProjectExec => p
      case f: FilterExec => f
    }
    assert(lfta.child.supportsColumnar, lfta)
    assert(below.isEmpty, lfta)
    ()
  }

  test("batches go into the LFTA as they are") {
    bothModes {
      assertColumnar(PluginSession.union("flows"))
      assertColumnar(PluginSession.sets("flows"))
    }
  }

  test("filters and computed keys are evaluated on batches") {
    bothModes {
      assertColumnar(PluginSession.union("flows", "v > 500 and s is not null"))
      assertColumnar(PluginSession.sets("flows", "length(s) = 7"))
      assertColumnar(
        """select k % 7 as x, upper(s) as y, count(*) as n, sum(v * 2) as total, min(cast(d as string)) as least
          |from flows where m between 10 and 200 group by grouping sets ((k % 7, upper(s)), (k % 7), (upper(s)))
          |""".stripMargin
      )
      assertColumnar(
        """select a, x, count(*) from (select a, case when x > 10 then x end as x from t where b <> 'k1')
          |where x is not null or a > 1 group by cube (a, x)""".stripMargin
      )
    }
  }

  test("over the in-memory cache") {
    // Spark's cache makes batches of numbers only.
    spark.sql("cache table cached_numbers as select k, m, v from flows")
    spark.sql("cache table cached_flows as select k, m, s, v, d from flows")
    try bothModes {
        assertColumnar(PluginSession.union("cached_numbers"))
        assertColumnar(PluginSession.union("cached_numbers", "v < 400"))
        val (lfta, _) = operators(assertSame(PluginSession.sets("cached_flows", "v < 400")))
        assert(!lfta.child.supportsColumnar)
      }
    finally Seq("cached_numbers", "cached_flows").foreach(spark.catalog.uncacheTable)
  }

  test("rows where there are no batches") {
    bothModes {
      withConf("spark.sql.parquet.enableVectorizedReader" -> "false") {
        val (lfta, _) = operators(assertSame(PluginSession.union("flows", "v > 10")))
        assert(!lfta.child.supportsColumnar)
      }
    }
  }

  private def value(metrics: Map[String, SQLMetric], name: String): Long = metrics(name).value

  private def assertAddsUp(sql: String, rows: Long): Unit = {
    val df = spark.sql(sql)
    val result = df.collect()
    val (lfta, merge) = operators(df)
    def l(name: String) = value(lfta.metrics, name)
    def m(name: String) = value(merge.metrics, name)
    val spec = lfta.spec
    val roots = spec.mapSide.count(spec.relations(_).parent < 0)
    val clue = lfta.metrics.map { case (k, v) => s"$k=${v.value}" }.mkString(spec.notation + ": ", ", ", "") +
      merge.metrics.map { case (k, v) => s"$k=${v.value}" }.mkString("; ", ", ", "")
    withClue(clue) {
      assert(l("rows") == rows)
      // Every relation of the map side is probed, or passed through, once a row or once an entry of its parent.
      assert(l("probes") + l("bypassed") == roots * rows + l("internalEvictions"))
      assert(l("hits") <= l("probes"))
      assert(l("collisions") <= l("probes") - l("hits"))
      assert(l("externalEvictions") == m("received"))
      assert(m("numOutputRows") == result.length)
      assert(l("blocks") > 0 && l("blockBytes") >= 16 * l("blocks"))
      assert(m("groups") > 0 && m("peakBytes") > 0)
      val tables = spec.mapSide.filter(spec.relations(_).buckets > 0)
      assert((l("tableBytes") > 0) || tables.isEmpty)
      if (tables.size == spec.mapSide.size && tables.forall(r => spec.children(r).forall(spec.relations(_).derived))) {
        // No phantom in the map task: what is not hit becomes an entry, and every entry is shipped.
        assert(l("probes") - l("hits") == l("externalEvictions"))
      }
    }
    ()
  }

  test("metrics add up") {
    bothModes {
      Seq(PluginSession.union("flows"), PluginSession.sets("flows"), PluginSession.union("flows", "true or k > 3"))
        .foreach { q =>
          assertAddsUp(q, 20000)
          Seq(0, 1, 16).foreach(b => Variants.using(Variants.tables(b))(assertAddsUp(q, 20000)))
        }
      val passed = spark.sql("select * from flows where v > 500").count()
      assertAddsUp(PluginSession.union("flows", "v > 500"), passed)
    }
  }

  test("metrics of a LIMIT that stops early stay within their bounds") {
    val df = spark.sql(s"select * from (${PluginSession.sets("flows")}) limit 3")
    assert(df.collect().length == 3)
    val (lfta, merge) = operators(df)
    assert(value(lfta.metrics, "rows") <= 20000)
    assert(value(merge.metrics, "received") <= value(lfta.metrics, "externalEvictions"))
  }

  test("slices are paired ones, and merges within their bounds") {
    spark.range(0, 300, 1, 3).selectExpr("timestamp_seconds(id * 60) ts", "id % 7 v").createOrReplaceTempView("minutes")
    val (range, slide) = (18, 15)
    val (lfta, merge) =
      operators(assertSame(s"select window(ts, '$range minutes', '$slide minutes') w, sum(v) from minutes group by 1"))
    def counted(m: String): Long = merge.metrics(m).value
    val windows = 21
    // Edges at 15k and 15k + 3; panes are as long as what divides range and slide: 3 minutes.
    assert(counted("slices") == 40 && counted("slices") <= 300 / 3)
    assert(counted("numOutputRows") == windows)
    assert(lfta.metrics("rows").value == 300)
    assert(lfta.metrics("hits").value + counted("partialMerges") <= 300)
    // Of each slice all that task and tables make of it is merged into one.
    assert(counted("partialMerges") == counted("received") - 40)
    assert(counted("windowMerges") <= 3 * 40 + windows && counted("windowMerges") >= windows - 2)
    assert(counted("fragments") == 0)
  }

  test("fragments, rows that nobody wants, predicates not evaluated") {
    val filters = (1 to 8).map(i => s"v < ${5 * i}")
    val sql = filters.zipWithIndex.map { case (f, i) => s"select $i q, k, sum(v) from wanted where $f group by k" }
    val files = java.nio.file.Files.createTempDirectory("phantoms-wanted").resolve("t").toString
    spark.range(0, 2000, 1, 2).selectExpr("id % 3 k", "id % 100 v").write.parquet(files)
    spark.read.parquet(files).createOrReplaceTempView("wanted")
    val (lfta, merge) = operators(assertSame(sql.mkString(" union all ")))
    assert(lfta.metrics("rows").value == 800 && lfta.metrics("dropped").value == 1200)
    // One look-up for eight predicates.
    assert(lfta.metrics("evaluationsSaved").value == 7 * 2000)
    // Of each group the fragment of v < 5 has all eight bits, that of v < 10 seven, and so on.
    assert(merge.metrics("fragments").value == 3 * (1 to 8).sum)
    assert(merge.metrics("groups").value == 3 * 8)
    assert(merge.metrics("windowMerges").value == 3 * (0 to 7).sum)
    assert(merge.metrics("slices").value == 0)
  }
}
