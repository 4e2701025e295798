package io.phantoms.spark.integration

import io.phantoms.spark.decide.Declined
import io.phantoms.spark.explain.Explanations
import io.phantoms.spark.physical.BlockExchange

import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.scalatest.funsuite.AnyFunSuite

/** Operators in several places that read one cached table: blocks are made once, whoever plans the query. */
final class CachedConsumersSuite extends AnyFunSuite with PluginSession {
  override protected def confs: Map[String, String] = Map("spark.phantoms.minSavings" -> "-1e9")

  private def withCache(body: => Any): Unit = {
    spark.sql("cache lazy table kept as select k, m, s, v, d from flows where v < 900")
    try {
      val _ = body
    } finally {
      spark.catalog.uncacheTable("kept")
      val _ = spark.catalog.dropTempView("kept")
    }
  }

  private val two = "select x.k, x.n, y.total from (select k, m, count(*) n from kept group by k, m) x " +
    "join (select k, sum(v) total from kept group by k) y on x.k = y.k"

  private val three = two + " left join (select m, max(d) h from kept group by m) z on x.m = z.m"

  for {
    (name, sql) <- Seq(
      "two consumers" -> two,
      "three consumers" -> three,
      "under a filter and computed columns" -> three.replace(
        "from kept",
        "from (select k + 1 k, m, v, d from kept where s > 'host-2')"
      ),
      "one filter each" -> two.replaceFirst("kept", "kept where v > 10")
    )
    adaptive <- Seq(true, false)
  } test(s"$name, adaptive: $adaptive") {
    withConf("spark.sql.adaptive.enabled" -> adaptive.toString) {
      // Once while the cache is filled, and once from the cache.
      withCache(for (_ <- 1 to 2) {
        val plan = assertSame(sql).queryExecution.executedPlan
        val made = collectWithSubqueries(plan) { case e: BlockExchange => e.id }.distinct
        assert(made.size == 1, plan)
        assert(collectWithSubqueries(plan) { case s: TableCacheQueryStageExec => s }.nonEmpty == adaptive, plan)
      })
    }
  }

  test("a cached table without rows") {
    withCache {
      for (adaptive <- Seq("true", "false")) withConf("spark.sql.adaptive.enabled" -> adaptive) {
        assertSame(three.replace("from kept", "from (select * from kept where v > 5000)"))
      }
    }
  }

  test("under adaptive execution stages of Spark's own that read the cache are not compared") {
    withCache {
      val sql = two.replace("from kept", "from (select k, m, v from kept join (select distinct k from kept) using (k))")
      val reasons = Explanations.explain(spark.sql(sql)).collect { case Declined(_, reason) => reason.code }
      assert(reasons.contains("INPUT_READ_TWICE"), reasons)
    }
  }
}
