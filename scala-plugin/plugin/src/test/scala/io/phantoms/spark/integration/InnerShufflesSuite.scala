package io.phantoms.spark.integration

import io.phantoms.spark.physical.BlockExchange

import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.scalatest.funsuite.AnyFunSuite

/** What Spark shuffles once for several readers is not shuffled once more because some of them share. */
final class InnerShufflesSuite extends AnyFunSuite with PluginSession {
  override protected def confs: Map[String, String] = Map("spark.phantoms.minSavings" -> "-1e9")

  /** Shuffles that run. */
  private def shuffles(df: DataFrame): Int = {
    df.collect()
    collectWithSubqueries(df.queryExecution.executedPlan) { case e: ShuffleExchangeLike => e.id }.distinct.size
  }

  private def inner = "with v as (select k, m, s, sum(v) t, max(d) h, count(*) n from flows group by k, m, s) "

  private def check(name: String)(sql: String): Unit = test(name) {
    for (adaptive <- Seq("false", "true")) withConf("spark.sql.adaptive.enabled" -> adaptive) {
      val without = plain(shuffles(spark.sql(sql)))
      val df = spark.sql(sql)
      assert(isShared(df), df.queryExecution)
      assert(shuffles(df) <= without, s"$without without\n${df.queryExecution}")
      assertSameRows(sql)
    }
  }

  private def assertSameRows(sql: String): Unit =
    assertRows(spark.sql(sql).collect().toSeq, plain(spark.sql(sql).collect().toSeq))

  check("copies that differ in their results only")(
    inner + "select k, sum(t) from v group by k union all select m, sum(t) from v group by m " +
      "union all select n, t from v where h > 0"
  )
  check("copies of which each lacks a function")(
    inner + "select k, sum(t) v from v group by k union all select m, max(h) from v group by m"
  )
  check("copies of which each lacks a function, and one that lacks none")(
    inner + "select k, sum(t) v from v group by k union all select m, sum(n) from v group by m " +
      "union all select m, t from v where h > n"
  )
  check("copies that are both read elsewhere, each")(
    inner + "select k, sum(t) v from v group by k union all select m, max(h) from v group by m " +
      "union all select k, t from v union all select m, h from v"
  )
  // Full joins: for others Spark asks what they are joined by below the copies, of each of its own.
  check("joined")(
    inner + "select p.k, p.t, q.h from (select k, sum(t) t from v group by k) p " +
      "full join (select m, max(h) h from v group by m) q on p.k = q.m"
  )
  check("joined copies that are both read elsewhere, each")(
    inner + "select p.k, p.t, q.h, a.t, b.h from (select k, sum(t) t from v group by k) p " +
      "full join (select m, max(h) h from v group by m) q on p.k = q.m " +
      "full join (select k, m, t from v where t > 995) a on a.k = p.k " +
      "full join (select k, m, h from v where h > 498) b on b.m = q.m"
  )

  private def once(name: String)(sql: String): Unit = test(s"$name: one shuffle of the input") {
    for (adaptive <- Seq("false", "true")) withConf("spark.sql.adaptive.enabled" -> adaptive) {
      val df = spark.sql(sql)
      df.collect()
      val own = collectWithSubqueries(df.queryExecution.executedPlan) { case e: BlockExchange => e.id }
      assert(own.distinct.size == 1, df.queryExecution)
      assertSameRows(sql)
    }
  }

  once("scalar subqueries")(
    "select (select sum(v) from flows where k = 1) p, (select max(d) from flows where k = 2) q, " +
      "(select count(*) from flows where k = 3) r"
  )
  once("a scalar subquery, IN, and the query")(
    "select k, sum(v) / (select sum(v) from flows) part from flows group by k " +
      "having k in (select max(k) from flows group by m) or k is null"
  )
}
