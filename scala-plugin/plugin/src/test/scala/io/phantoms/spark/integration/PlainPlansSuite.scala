package io.phantoms.spark.integration

import scala.collection.mutable

import io.phantoms.spark.Turns

import org.apache.spark.sql.{SparkSession => AnySession}
import org.apache.spark.sql.classic.SparkSession
import org.scalatest.funsuite.AnyFunSuite

/** Switched off, the plugin leaves no trace in a plan; switched on, none in plans it cannot improve. */
final class PlainPlansSuite extends AnyFunSuite with PluginSession {

  /** A session of the same Spark that has never heard of the plugin. */
  private lazy val other: SparkSession = {
    AnySession.clearActiveSession()
    AnySession.clearDefaultSession()
    val session = SparkSession.builder().getOrCreate()
    assert(session ne spark)
    spark.conf.getAll.foreach { case (k, v) =>
      if (!k.startsWith("spark.phantoms.") && session.conf.isModifiable(k)) session.conf.set(k, v)
    }
    views(session)
    AnySession.setDefaultSession(spark)
    session
  }

  /** Ids by order of first appearance, so that two plans are equal only if they use ids alike. */
  private def normal(plan: String): String = {
    val names = mutable.Map.empty[String, String]
    val ids = """#\d+L?|plan_id=\d+|\[id=#?\d+\]|id=\d+""".r
    ids.replaceAllIn(plan, m => names.getOrElseUpdate(m.matched, s"<${names.size}>"))
  }

  private def plans(session: SparkSession, sql: String): Seq[String] = {
    AnySession.setActiveSession(session)
    try {
      val execution = session.sql(sql).queryExecution
      Seq(execution.analyzed, execution.optimizedPlan, execution.sparkPlan, execution.executedPlan).map { p =>
        normal(p.treeString(verbose = true, maxFields = 1000))
      }
    } finally AnySession.setActiveSession(spark)
  }

  private def sameMode(): Unit =
    other.conf.set("spark.sql.adaptive.enabled", spark.conf.get("spark.sql.adaptive.enabled"))

  private val shareable = Seq(
    PluginSession.union("flows"),
    PluginSession.sets("flows", "v > 3"),
    "select a, b, count(*), sum(c) from t group by rollup (a, b) having count(*) > 1 order by a",
    "select (select max(n) from (select count(*) as n from t group by cube (a, b))) as top, a from t",
    s"select x.k, y.n from (${PluginSession.union("flows")}) x join (${PluginSession.sets("flows")}) y on x.k = y.k",
    "select a, count(*) from t where c > 3 group by a union all select a, count(*) from t where c < 9 group by a",
    "select window(ts, '1 hour', '10 minutes').start as w, count(*) from t group by window(ts, '1 hour', '10 minutes')"
  )

  private val notShareable = Seq(
    "select a, count(*) from t group by a",
    "select a, b, first(c) from t group by cube (a, b)",
    "select a, count(distinct b) from t group by a",
    "select a, rand(7) from t union all select c, 0.5 from t",
    "select * from t x join t y on x.a = y.a where x.c > 3 order by y.c limit 4",
    "select sum(c) filter (where a > 1) from t"
  )

  test("with spark.phantoms.enabled=false every plan is plain Spark's") {
    bothModes {
      sameMode()
      (shareable ++ notShareable).foreach { sql =>
        withClue(sql)(assert(plain(plans(spark, sql)) == plans(other, sql)))
      }
    }
  }

  test("switched on, only what is shared differs") {
    sameMode()
    notShareable.foreach(sql => withClue(sql)(assert(plans(spark, sql) == plans(other, sql))))
    shareable.foreach(sql => withClue(sql)(assert(plans(spark, sql) != plans(other, sql))))
  }

  test("the same rule again finds nothing to do, and returns the very plan") {
    shareable.foreach { sql =>
      val optimizer = spark.sessionState.optimizer
      val rules = optimizer.preCBORules.filter(_.ruleName.contains("PhantomsRule"))
      assert(rules.size == 1)
      val analyzed = spark.sql(sql).queryExecution.optimizedPlan
      assert(rules.head(analyzed) eq analyzed)
    }
  }

  test("explain in every mode") {
    val modes = Seq("", "extended", "codegen", "cost", "formatted")
    bothModes {
      (shareable ++ notShareable).foreach { sql =>
        modes.foreach { mode =>
          val text = spark.sql(s"explain $mode $sql").collect().map(_.getString(0)).mkString("\n")
          assert(text.nonEmpty && !text.contains("Error occurred"), s"explain $mode $sql\n$text")
          if (mode == "formatted" && shareable.take(3).contains(sql)) {
            assert(text.contains("PhantomsLfta") && text.contains("PhantomsMerge"), text)
          }
        }
        Seq("simple", "extended", "codegen", "cost", "formatted").foreach { mode =>
          val df = spark.sql(sql)
          val _ = df.queryExecution.explainString(org.apache.spark.sql.execution.ExplainMode.fromString(mode))
        }
      }
      val df = spark.sql(shareable.head)
      df.collect()
      assert(df.queryExecution.toString.contains("PhantomsMerge"))
    }
  }

  test("the text of our nodes shows the configuration and no internal object") {
    val df = spark.sql(PluginSession.sets("flows"))
    val text = df.queryExecution.executedPlan.toString + df.queryExecution.optimizedPlan.toString
    assert(!text.contains("SharedSpec(") && !text.contains("@"), text)
    assert(text.contains(lftas(df.queryExecution.sparkPlan).head.spec.notation))
  }

  test("rules of Spark's optimizer may be excluded") {
    val prefix = "org.apache.spark.sql.catalyst.optimizer."
    val rules = Seq(
      "ColumnPruning",
      "CollapseProject",
      "PushDownPredicates",
      "DecimalAggregates",
      "RemoveRedundantAliases",
      "RemoveNoopOperators",
      "PruneFilters",
      "LimitPushDown",
      "InferFiltersFromConstraints",
      "OptimizeExpand",
      "ConstantFolding",
      "NullPropagation"
    ).map(prefix + _)
    val queries = Seq(PluginSession.sets("flows", "v > 100"), PluginSession.union("flows", "k < 30 and v > 1"))
    def excluding(excluded: String, queries: Seq[String]): Unit =
      withConf("spark.sql.optimizer.excludedRules" -> excluded) {
        withClue(s"$excluded: ")(queries.foreach(assertSame(_)))
      }
    // Each rule with one of the queries, all rules with both.
    rules.zipWithIndex.foreach { case (rule, i) => excluding(rule, Turns.some(queries, 1, i)) }
    excluding(rules.mkString(","), queries)
  }
}
