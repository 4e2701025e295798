package io.phantoms.spark.explain

import io.phantoms.spark.conf.PhantomsConf

/**
 * A query of which something is left alone.
 *
 * @param name of its golden file
 * @param codes all that it is left alone for
 */
final case class DeclineCase(name: String, codes: Set[String], sql: String, confs: (String, String)*)

/** For every code a query that meets it; and queries of which a part is shared. Tables are those of [[WhyNotSuite]]. */
object DeclineCases {

  /** Codes that no query meets, and why. */
  val unmet: Map[String, String] = Map(
    "WRONG_SPARK" -> "asked before any query, of the Spark that runs",
    "INTERNAL_ERROR" -> "a bug that is known is mended"
  )

  val all: Seq[DeclineCase] = Seq(
    one("single", "SINGLE_AGGREGATE", "select k, count(*) as n from flows group by k"),
    one("no-group-by-in-common", "DIFFERENT_INPUTS")(
      """select k, count(*) as n from flows group by k
        |union all select a, count(*) from t where a > 0 group by a"""
    ),
    one("copies", "DIFFERENT_INPUTS")(
      """with s as (select k, sum(v) as v from flows group by k)
        |select x.k, y.v from s x join s y on x.k = y.v and x.v = y.k"""
    ),
    DeclineCase(
      "union-in-part",
      Set("DIFFERENT_INPUTS", "ORDER_DEPENDENT"),
      text(
        """select k, count(*) as n from flows group by k
          |union all select m, count(*) from flows group by m
          |union all select a, count(*) from t group by a
          |union all select k, first(v) from flows group by k"""
      )
    ),
    DeclineCase(
      "subqueries",
      Set("SINGLE_AGGREGATE", "UNSUPPORTED_FUNCTION"),
      text(
        """select k, sum(n) as n from (select k, m, count(*) as n from flows group by grouping sets ((k), (m))) q
          |where n > (select max(c) from t)
          |  and n > (select max(p) from (select a, b, mode(c) as p from t group by cube(a, b)) u)
          |group by k"""
      )
    ),
    one("join-in-part", "ORDER_DEPENDENT")(
      """select x.k, x.n, y.f from (select k, count(*) as n from flows group by k) x
        |join (select k, first(v) as f from flows group by k) y on x.k = y.k"""
    ),
    one("join-read-twice", "INPUT_READ_TWICE", Joined, "spark.sql.exchange.reuse" -> "false"),
    one("no-benefit", "NO_BENEFIT", Union, PhantomsConf.MinSavings.key -> "0.99"),
    one("too-many", "TOO_MANY_QUERIES", Cube, PhantomsConf.MaxQueries.key -> "2"),
    one("disabled", "DISABLED", Union, PhantomsConf.Enabled.key -> "false"),
    one("sets-disabled", "DISABLED", Cube, PhantomsConf.GroupingSetsEnabled.key -> "false"),
    one("windows-disabled", "DISABLED", Sliding, PhantomsConf.WindowsEnabled.key -> "false"),
    one("predicates-disabled", "DISABLED", Filtered, PhantomsConf.PredicatesEnabled.key -> "false"),
    one("distinct-disabled", "DISABLED", Distinct, PhantomsConf.DistinctEnabled.key -> "false"),
    one("order-dependent", "ORDER_DEPENDENT", cube("first(c)")),
    one("unsupported-function", "UNSUPPORTED_FUNCTION", cube("mode(c)")),
    one("unsupported-input-type", "UNSUPPORTED_INPUT_TYPE", cube("max(b collate unicode_ci)")),
    one("unsupported-key-type", "UNSUPPORTED_KEY_TYPE", "select m, a, count(*) from t group by cube(m, a)"),
    one("unsupported-shape", "UNSUPPORTED_SHAPE", cube("approx_count_distinct(c, 0.008)")),
    one("distinct-aggregate", "DISTINCT_AGGREGATE")(
      "select a, count(distinct b) filter (where 1 div (c + 1) > 0), count(distinct c) from t group by a"
    ),
    one("nondeterministic", "NONDETERMINISTIC", "select a, b, count(*) from t where rand(1) > 0.5 group by cube(a, b)"),
    one("exact-floating-point", "EXACT_FLOATING_POINT", cube("sum(x)"), PhantomsConf.ExactFloatingPoint.key -> "true"),
    one("python-udf", "PYTHON_UDF", cube("sum(doubled(a))")),
    DeclineCase(
      "subquery-in-key",
      Set("SUBQUERY", "SINGLE_AGGREGATE"),
      "select k, count(*) from (select a + (select max(k) from flows) as k, b from t) q group by cube(k, b)"
    ),
    one("observed", "OBSERVED", "select a, b, count(*) from observed group by cube(a, b)"),
    one("projection-sensitive", "PROJECTION_SENSITIVE_SOURCE")(
      """select a, count(*) as n from lines group by a
        |union all select length(b), count(*) from lines group by length(b)"""
    ),
    one("source-push-down", "SOURCE_PUSH_DOWN", Pushed, "spark.sql.parquet.aggregatePushdown" -> "true"),
    one("sliding-window", "SLIDING_WINDOW")(
      """select h, count(*) from (select hour(w.start) as h from (
        |  select window(ts, '2 hours', '1 hour') as w from t)) q group by h"""
    ),
    one("session-window", "SESSION_WINDOW")(
      "select session_window.start, a, b, count(*) from t group by session_window(ts, '5 minutes'), cube(a, b)"
    ),
    one("streaming", "STREAMING", "select value % 2 as a, count(*) as n from ticks group by cube(value % 2)")
  )

  /** What the advice leads to, by case: nothing is left alone but for these codes. */
  val heeded: Seq[(String, DeclineCase)] = Seq(
    "single" -> done(Union),
    "no-group-by-in-common" -> done(Union),
    "union-in-part" -> done(Union.replace("count(*) as n", "min(v) as n")),
    "join-in-part" -> done(Joined),
    "join-read-twice" -> done(Joined, "spark.sql.exchange.reuse" -> "true"),
    "no-benefit" -> done(Union, PhantomsConf.MinSavings.key -> "-1"),
    "too-many" -> done(Cube, PhantomsConf.MaxQueries.key -> "4"),
    "disabled" -> done(Union, PhantomsConf.Enabled.key -> "true"),
    "sets-disabled" -> done(Cube, PhantomsConf.GroupingSetsEnabled.key -> "true"),
    "windows-disabled" -> done(Sliding, PhantomsConf.WindowsEnabled.key -> "true"),
    "predicates-disabled" -> done(Filtered, PhantomsConf.PredicatesEnabled.key -> "true"),
    "distinct-disabled" -> done(Distinct, PhantomsConf.DistinctEnabled.key -> "true"),
    "order-dependent" -> done(cube("min_by(c, a)")),
    "unsupported-input-type" -> done(cube("max(b)")),
    "unsupported-key-type" ->
      done("select k, a, count(*) from (select array_sort(map_entries(m)) as k, a from t) q group by cube(k, a)"),
    "unsupported-shape" -> done(cube("approx_count_distinct(c, 0.05)")),
    "distinct-aggregate" -> done(text(
      """select a, count(distinct b) filter (where ok), count(distinct c)
        |from (select *, 1 div (c + 1) > 0 as ok from t) q group by a"""
    )),
    "nondeterministic" -> done("select a, b, count(*) from kept group by cube(a, b)"),
    "exact-floating-point" -> done(cube("sum(x)"), PhantomsConf.ExactFloatingPoint.key -> "false"),
    "exact-floating-point" -> done(cube("sum(d)"), PhantomsConf.ExactFloatingPoint.key -> "true"),
    "python-udf" -> done(cube("doubled(sum(a))")),
    "subquery-in-key" -> done("select k, count(*) from (select a + 40 as k, b from t) q group by cube(k, b)"),
    "projection-sensitive" -> done(text(
      """select a, count(*) as n from t group by a
        |union all select length(b), count(*) from t group by length(b)"""
    )),
    "projection-sensitive" -> done(text(
      """select a, count(b) as n from lines group by a
        |union all select length(b), sum(a) from lines group by length(b)"""
    )),
    "source-push-down" -> done(Pushed, "spark.sql.parquet.aggregatePushdown" -> "false"),
    "sliding-window" -> done(Sliding)
  )

  private lazy val Union =
    text(
      """select k, count(*) as n from flows group by k
        |union all select m, count(*) from flows group by m"""
    )
  private lazy val Joined =
    text(
      """select x.k, x.n, y.most from (select k, count(*) as n from flows group by k) x
        |join (select k, max(v) as most from flows group by k) y on x.k = y.k"""
    )
  private lazy val Pushed =
    text(
      """select max(c) as c from files
        |union all select count(*) from files"""
    )
  private lazy val Filtered =
    text(
      """select k, count(*) as n from flows where v < 100 group by k
        |union all select k, count(*) from flows where v > 500 group by k"""
    )
  private lazy val Sliding =
    """select window.start, a, count(*) from t group by window(ts, '2 hours', '1 hour'), a"""
  private lazy val Distinct = "select a, count(distinct b), count(distinct c) from t group by a"
  private lazy val Cube = cube("count(*)")

  private def cube(call: String): String = s"select a, b, $call from t group by cube(a, b)"

  private def one(name: String, code: String, sql: String, confs: (String, String)*): DeclineCase =
    DeclineCase(name, Set(code), sql, confs: _*)

  private def one(name: String, code: String)(sql: String): DeclineCase = DeclineCase(name, Set(code), text(sql))

  private def done(sql: String, confs: (String, String)*): DeclineCase =
    DeclineCase("heeded", Set.empty, sql, confs: _*)

  private def text(sql: String): String = sql.stripMargin
}
