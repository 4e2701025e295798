package io.phantoms.spark.oracle

import io.phantoms.spark.decide.{DecisionRecorder, Declined, Finding, Shared}

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.scalatest.funsuite.AnyFunSuite

/** Groups of aggregates of which some cannot be shared, or may not: these are left to plain Spark, and the others shared. */
trait LeftOutTraps extends Traps { this: AnyFunSuite =>

  /** What is left alone of a query that is shared otherwise: codes of reasons, and of what aggregates. */
  private def leftOf(sql: String): Seq[(String, Seq[LogicalPlan])] = {
    checkSharedSql(sql)
    val visits = DecisionRecorder.visits {
      val _ = spark.sql(sql).queryExecution.optimizedPlan
    }
    val findings = visits.flatMap(_.findings)
    assert(findings.exists(_.decision.isInstanceOf[Shared]), findings.map(_.decision.subject))
    // A subquery is looked at by itself, too, where it has nothing to be shared with.
    findings.collect {
      case Finding(Declined(_, reason), operators, _) if reason.code != "SINGLE_AGGREGATE" =>
        reason.code -> operators
    }
  }

  /** Shared, but for so many aggregates that are left alone for the reason of this code, and no other. */
  private def checkSharedBut(sql: String, left: Int, code: String): Unit = {
    val found = leftOf(sql)
    assert(found.map(_._1).distinct == Seq(code), sql)
    assert(found.flatMap(_._2).distinct.size == left, sql)
    ()
  }

  private def union(branches: Seq[String]): String = branches.mkString(" union all ")

  /** GroupBys by `a`, each under a filter of its own. */
  private def filtered(count: Int, function: String = "sum(c)"): Seq[String] =
    (0 until count).map(i => s"select a k, $function v from t where c > ${10 * i - 50} group by a")

  private val ofObject = Seq(
    "select a k, median(c) v from t where z > 0 group by a",
    "select a, size(collect_set(n)) from t where z < 2 and n > 0 group by a"
  )

  shares("objects under filters of their own, alone")(union((0 until 4).map(i =>
    s"select a k, median(c) v, percentile(d, 0.3) w, size(collect_set(b)) s from t where z > ${i - 1} group by a"
  )))
  for (count <- Seq(3, 20))
    shares(s"objects under filters of their own, beside $count others")(union(filtered(count) ++ ofObject))
  test("objects under more filters than have keys") {
    assert(leftOf(union(filtered(17, "median(c)") ++ filtered(4))).isEmpty)
  }
  shares("global groups of objects under filters of their own")(union((0 until 5).map(i =>
    s"select $i k, median(c) v, size(collect_set(b)) s from t where c > ${300 * i - 100}"
  ) ++ Seq("select 9, sum(c), max(n) from t where flag")))
  shares("objects under filters, inputs that these guard")(union(
    ofObject ++ Seq(
      "select a, median(100 div c) from t where c <> 0 group by a",
      "select a, median(100 div c) from t where c > 10 group by a",
      "select z, sum(100 div c) from t where c > 20 group by z"
    )
  ))
  shares("objects under filters, on sides of a join")(
    """select x.a, x.v, y.v, w.s from (select a, median(c) v from t where z > 0 group by a) x
      |join (select a, median(c) v from t where z < 2 group by a) y on x.a = y.a
      |join (select a, sum(c) s from t where n > 0 group by a) w on x.a = w.a
      |join (select a, sum(n) s from t where flag group by a) v on x.a = v.a""".stripMargin
  )

  test("an object under a filter that may fail, others are not") {
    val failing = "select a k, median(c) v from t where 100 div (c + 1000) > -7 group by a"
    checkSharedBut(union(filtered(4) ++ ofObject :+ failing), 1, "UNSUPPORTED_SHAPE")
    checkDeclinedSql(union(Seq(failing, filtered(1).head)), "UNSUPPORTED_SHAPE")
  }
  test("an object over sliding windows, in a union") {
    def windowed(f: String, as: String = "") =
      s"select window(ts, '3 hours', '1 hour').start$as, $f from t group by window(ts, '3 hours', '1 hour')"
    checkSharedBut(
      union(Seq(
        windowed("median(c) v", " k"),
        windowed("sum(c)"),
        windowed("max(n)"),
        "select ts, median(c) from t where ts is not null group by ts"
      )),
      1,
      "UNSUPPORTED_SHAPE"
    )
  }
  test("an object over sliding windows, on a side of a join") {
    checkSharedBut(
      """select x.a, x.v, y.s, w.m from
        |(select a, max(v) v from (select a, median(c) v from t group by window(ts, '3 hours', '1 hour'), a) group by a) x
        |join (select a, sum(c) s from t group by a) y on x.a = y.a join (select a, max(c) m from t group by a) w on x.a = w.a"""
        .stripMargin,
      1,
      "UNSUPPORTED_SHAPE"
    )
  }
  test("functions that take too much of a group") {
    val plain = Seq("select a k, sum(c) v from t group by a", "select z, count(*) from t group by z")
    for (wide <- Seq("length(count_min_sketch(c, 0.0015D, 0.99D, 1))", "approx_count_distinct(c, 0.008)"))
      checkSharedBut(
        union(plain ++ Seq("select n, median(c) from t group by n", s"select n, $wide from t group by n")),
        1,
        "UNSUPPORTED_SHAPE"
      )
  }

  private val near = "percentile_approx(c, 0.5, 10000)"

  test("approximate functions that the session asks to leave alone: branches of a union") {
    withConf("spark.phantoms.approximate.enabled" -> "false") {
      val exact = Seq("select a k, sum(c) v from t group by a", "select z, count(*) from t group by z")
      checkSharedBut(union(s"select n k, $near v from t group by n" +: exact), 1, "DISABLED")
      checkSharedBut(union(filtered(5) ++ filtered(2, near)), 2, "DISABLED")
      checkDeclinedSql(union(filtered(3, near)), "DISABLED")
      checkDeclinedSql(union(filtered(1) ++ filtered(1, near)), "DISABLED")
    }
  }
  test("approximate functions that the session asks to leave alone: aggregates in several places") {
    withConf("spark.phantoms.approximate.enabled" -> "false") {
      checkSharedBut(
        s"""select x.a, x.s, y.n, w.v from (select a, sum(c) s from t group by a) x
           |join (select a, count(*) n from t where c > 0 group by a) y on x.a = y.a
           |join (select a, $near v from t group by a) w on x.a = w.a""".stripMargin,
        1,
        "DISABLED"
      )
      checkSharedBut(
        s"""select a, sum(c) s, (select count(*) from t where c > 30) m, (select $near from t where c > 10) p from t
           |where c > (select avg(n) from t where z > 0) group by a""".stripMargin,
        1,
        "DISABLED"
      )
      checkSharedBut(
        s"""select x.a, x.v, y.v, w.m from (select a, n, sum(c) v from t group by cube(a, n)) x
           |join (select a, $near v, count(*) from t group by cube(a, n)) y on x.a = y.a
           |join (select a, max(c) m from t group by a) w on x.a = w.a""".stripMargin,
        1,
        "DISABLED"
      )
      checkSharedBut(
        s"""select x.a, x.v, y.v, w.m from (select a, count(distinct b) v from t group by a) x
           |join (select a, count(distinct b) v, $near n from t group by a) y on x.a = y.a
           |join (select a, max(c) m from t group by a) w on x.a = w.a where y.n > 0""".stripMargin,
        1,
        "DISABLED"
      )
      checkDeclinedSql(
        s"select * from (select a, sum(c) from t group by a) x join (select a, $near from t group by a) y on x.a = y.a",
        "DISABLED"
      )
    }
  }
  test("sums of floats, where these have to be exact") {
    withConf("spark.phantoms.exactFloatingPoint" -> "true") {
      val exact = Seq("select a k, max(x) v from t group by a", "select z, min(x) from t group by z")
      checkSharedBut(union(exact :+ "select n, sum(f) from t group by n"), 1, "EXACT_FLOATING_POINT")
      checkSharedBut(
        """select x.a, x.s, y.n, w.v from (select a, sum(c) s from t group by a) x
          |join (select a, count(*) n from t group by a) y on x.a = y.a join (select a, avg(f) v from t group by a) w on x.a = w.a"""
          .stripMargin,
        1,
        "EXACT_FLOATING_POINT"
      )
    }
  }
}
