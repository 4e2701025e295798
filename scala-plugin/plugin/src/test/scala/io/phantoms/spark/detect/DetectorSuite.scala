package io.phantoms.spark.detect

import io.phantoms.spark.functions.SignatureWord
import io.phantoms.spark.oracle.EverySecondTest

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.scalatest.Assertion

class DetectorSuite extends EverySecondTest with DetectionTestSession {

  /** `sets` as the keys' names, one string per query, in the operator's order. */
  private case class Found(name: String, sql: String, sets: String*)

  private val positives = Seq(
    Found("grouping sets", "select a, b, count(*) from t group by grouping sets ((a), (b), (a, b))", "a", "b", "a b"),
    Found("cube", "select a, b, sum(c) from t group by cube(a, b)", "a b", "a", "b", ""),
    Found("rollup", "select a, b, dt, sum(c), avg(x) from t group by rollup(a, b, dt)", "a b dt", "a b", "a", ""),
    Found("duplicate sets", "select a, count(*) from t group by grouping sets ((a), (a), ())", "a", "a", ""),
    Found("all sets empty", "select count(*), sum(c) from t group by grouping sets ((), ())", "", ""),
    Found(
      "grouping ids",
      "select grouping(a), grouping_id(b, a), a, count(c) from t group by cube(b, a)",
      "b a",
      "b",
      "a",
      ""
    ),
    Found(
      "having on an aggregate",
      "select a, b, count(*) n from t group by cube(a, b) having count(*) > 10",
      "a b",
      "a",
      "b",
      ""
    ),
    Found(
      "having on the grouping id",
      "select a, b, count(*) n from t group by cube(a, b) having grouping_id() < 3",
      "a b",
      "a",
      "b"
    ),
    Found("having on a key", "select a, b, count(*) n from t group by cube(a, b) having a > 1", "a b", "a"),
    Found(
      "having on an absent key",
      "select a, b, count(*) n from t group by cube(a, b) having a is null",
      "a b",
      "a",
      "b",
      ""
    ),
    Found("a key as input", "select a, sum(a), min(a), b, max(b) from t group by cube(a, b)", "a b", "a", "b", ""),
    Found(
      "an expression as key",
      "select a + 1, sum(a + 1), count(*) from t group by rollup(a + 1, b)",
      "a + 1 b",
      "a + 1",
      ""
    ),
    Found("nested field as input", "select a, sum(s.u) from t group by rollup(a, b) having a > 0", "a b", "a"),
    Found("nested field as key", "select s.u, count(*) from t group by cube(s.u, b)", "s.u b", "s.u", "b", ""),
    Found("filter clause", "select a, count(*) filter (where c > 10), sum(c) from t group by cube(a)", "a", ""),
    Found("a literal key", "select a, 'x', count(*) from t group by cube(a, 'x')", "a", "a", "", ""),
    Found("a NULL key", "select a, null, count(*) from t group by cube(a, null)", "a", "a", "", ""),
    Found(
      "struct, array, binary and decimal keys",
      "select s, r, bin, w, count(*) from t group by grouping sets ((s), (r), (bin, w))",
      "s",
      "r",
      "bin w"
    ),
    Found("float keys", "select f, x, count(*) from t group by cube(f, x)", "f x", "f", "x", ""),
    Found("no function at all", "select a, b from t group by grouping sets ((a), (b))", "a", "b"),
    Found(
      "over a join",
      "select name, b, sum(c) from t join dim on t.a = dim.a group by cube(name, b)",
      "name b",
      "name",
      "b",
      ""
    ),
    Found("in a subquery", "select * from (select a, count(*) n from t group by cube(a)) where n > 3", "a", ""),
    Found(
      "union",
      "select a, count(*) from t group by a union all select c, count(*) from t group by c",
      "a",
      "c"
    ),
    Found(
      "union, functions differ",
      "select a k, sum(c) v from t group by a union all select length(b), count(*) from t group by length(b)",
      "a",
      "length(b)"
    ),
    Found(
      "union, same key twice",
      "select a, sum(c) from t group by a union all select a, max(c) from t group by a",
      "a",
      "a"
    ),
    Found(
      "union with a global branch",
      "select a, count(*) n from t group by a union all select null, count(*) from t",
      "a",
      ""
    ),
    Found(
      "union, columns in another order",
      "select n, k from (select a k, count(*) n from t group by a union all select cast(c as int), count(*) from t group by cast(c as int))",
      "a",
      "cast(c as int)"
    ),
    Found(
      "union under a limit",
      "select a k, count(*) n from t group by a union all select cast(c as int), sum(c) from t group by cast(c as int) limit 4",
      "a",
      "cast(c as int)"
    ),
    Found(
      "union under filters of its count",
      "select * from (select a k, count(*) n from t group by a union all select length(b), count(*) from t group by length(b)) where n > 5",
      "a",
      "length(b)"
    ),
    Found(
      "union over equal filters",
      "select a k, count(*) n from t where c > 10 group by a union all select length(b), sum(c) from t where c > 10 group by length(b)",
      "a",
      "length(b)"
    ),
    Found(
      "union over a projected view",
      "with v as (select a + 1 p, c * 2 q, b from t where c > 5) select p, sum(q) from v group by p union all select length(b), sum(p) from v group by length(b)",
      "a + 1",
      "length(b)"
    ),
    Found(
      "union over a join",
      "with v as (select t.b, name, c, x from t join dim on t.a = dim.a) select b, sum(c) from v group by b union all select name, cast(max(x) as bigint) from v group by name",
      "b",
      "name"
    ),
    Found(
      "union over an outer join",
      "with v as (select t.b, name, c, x from t left join dim on t.a = dim.a) select b, sum(c) from v group by b union all select name, count(name) from v group by name",
      "b",
      "name"
    ),
    Found(
      "union of grouping sets",
      "select a, b, count(*) from t group by cube(a, b) union all select null, flag || '', count(*) from t group by flag",
      "a b",
      "a",
      "b",
      "",
      "flag"
    ),
    Found(
      "union over a cached table",
      "select a, sum(c) from kept group by a union all select length(b), sum(c) from kept group by length(b)",
      "a",
      "length(b)"
    ),
    Found("distinct branches", "select distinct a from t union all select distinct length(b) from t", "a", "length(b)"),
    Found(
      "a constant branch stays",
      "select a, count(*) from t group by a union all select length(b), count(*) from t group by length(b) union all select 1, 2L",
      "a",
      "length(b)"
    ),
    Found(
      "a foreign branch stays",
      "select cast(name as int), count(*) from dim group by name union all select a, count(*) from t group by a union all select length(b), count(*) from t group by length(b)",
      "a",
      "length(b)"
    ),
    Found(
      "an empty branch",
      "select a, count(*) from t group by a union all select a, count(*) from t where false group by a union all select length(b), count(*) from t group by length(b)",
      "a",
      "length(b)"
    ),
    Found(
      "having in a branch",
      "select a, count(*) n from t group by a having count(*) > 50 union all select length(b), max(c) from t group by length(b) having max(c) > 3",
      "a",
      "length(b)"
    ),
    Found(
      "text read alike",
      "select a, count(*) n from text group by a, b union all select length(b), max(a) from text group by length(b)",
      "a b",
      "length(b)"
    ),
    Found("grouping sets over text", "select a, b, count(*) n from text group by cube(a, b)", "a b", "a", "b", ""),
    Found(
      "tumbling windows",
      "select window(ts, '1 hour') w, count(*) from t group by window(ts, '1 hour') union all select window(ts, '2 hours'), count(*) from t group by window(ts, '2 hours')",
      "window",
      "window"
    ),
    Found(
      "distinct union",
      "select a, count(*) n from t group by a union select length(b), count(*) from t group by length(b)",
      "a",
      "length(b)"
    ),
    Found(
      "three filters of one grouping",
      "select a, count(*) n from t where c > 1 group by a union all select a, count(*) from t where c > 2 group by a union all select a, count(*) from t where c is null group by a",
      "a signature",
      "a signature",
      "a signature"
    ),
    Found(
      "filters on what is grouped by",
      "select a, count(*) n from t where a > 1 group by a union all select a, count(*) from t where a < 2 and a is not null group by a union all select a, count(*) from t where a = 0 and c > 2 group by a",
      "a",
      "a",
      "a (isnotnull(c) and (c > 2)) <=> true"
    ),
    Found(
      "conditional aggregates",
      s"select a, ${(1 to 8).map(i => s"count_if(c > $i) n$i, sum(if(c < $i, c, 0)) s$i").mkString(", ")}, max(b) from t group by a",
      "a signature"
    ),
    Found(
      "a filter that may fail",
      "select a, count(*) n from t where c <> 0 and 1 div c > 1 group by a union all select a, count(*) from t where c > 2 group by a",
      "a signature",
      "a signature"
    ),
    Found(
      "from an empty file",
      "select a, count(*) n, sum(c) s from none group by a union all select null, count(*), sum(c) from none",
      "a",
      ""
    ),
    Found(
      "distinct columns, and what is not DISTINCT",
      "select a, count(distinct b), sum(distinct c), avg(c), count(distinct b, flag) from t group by a",
      "a",
      "a b",
      "a c",
      "a b flag"
    ),
    Found("distinct columns alone, of all rows", "select count(distinct a), count(distinct b) from t", "a", "b"),
    Found("one distinct column beside a total", "select count(distinct a), count(*) from none", "", "a"),
    Found("distinct constants", "select count(distinct 1), max(b) from t", "", ""),
    Found(
      "a distinct column under grouping sets",
      "select a, b, count(distinct c), grouping(a) from t group by cube(a, b)",
      "a b c",
      "a c",
      "b c",
      "c"
    ),
    Found(
      "distinct columns that are keys",
      "select a, b, count(distinct a), count(distinct b, c), count(*) from t group by a, b",
      "a b",
      "a b",
      "a b c"
    ),
    Found(
      "conditions of one distinct column",
      "select a, count(distinct if(c > 1, b, null)), count(distinct case when c > 2 then b end) filter (where flag) from t group by a",
      "a b"
    ),
    Found(
      "one condition of a distinct column",
      "select a, count(distinct if(c > 1, b, null)), count(distinct c) from t group by a",
      "a if ((c > 1)) b else null",
      "a c"
    ),
    Found("sets of an empty file", "select a, count(*) n, sum(c) s from none group by cube(a)", "a", "")
  )

  for (p <- positives) test(s"shared: ${p.name}") {
    val plan = planFor(p.sql)
    val candidate = detectIn(plan) match {
      case Some(Right(c)) => c
      case other => fail(s"$other\n$plan")
    }
    val sets = candidate.workloads.flatMap(w => w.asked.map(q => q.keys.toSeq.map(i => show(w.groupedAsRead.keys(i)))))
    if (p.sets.exists(_.contains("window"))) assert(sets.size == p.sets.size)
    else assert(sets.map(_.sorted.mkString(" ")) == p.sets.map(sorted), plan)
    assertSameRows(p.sql, plan, candidate)
  }

  private case class Left0(name: String, sql: String, code: Option[String])
  private def declined(name: String, sql: String, code: String): Left0 = Left0(name, sql, Some(code))
  private def foreign(name: String, sql: String): Left0 = Left0(name, sql, None)

  private val ga = "select a, count(*) from t group by a"
  private def cubed(call: String): String = s"select a, b, $call from t group by cube(a, b)"

  private val negatives = Seq(
    foreign("a plain groupBy", ga),
    foreign("no groupBy", "select a from t union all select length(b) from t"),
    foreign("two groupBys in a join", s"select * from ($ga) l join ($ga) r on l.a = r.a"),
    foreign("window functions", "select a, row_number() over (partition by b order by c) from t"),
    foreign("the one global set", "select count(*) from t group by grouping sets (())"),
    declined("first", cubed("first(c)"), "ORDER_DEPENDENT"),
    declined("last", cubed("last(c)"), "ORDER_DEPENDENT"),
    declined("any_value", cubed("any_value(c)"), "ORDER_DEPENDENT"),
    declined("collect_list", cubed("collect_list(c)"), "ORDER_DEPENDENT"),
    declined("collect_set", cubed("collect_set(c)"), "ORDER_DEPENDENT"),
    declined("listagg", cubed("listagg(b)"), "ORDER_DEPENDENT"),
    declined("the values beside the three largest", cubed("max_by(c, x, 3)"), "UNSUPPORTED_FUNCTION"),
    declined("max_by of what may fail", cubed("max_by(1 / c, c)"), "UNSUPPORTED_SHAPE"),
    declined("mode", cubed("mode(c)"), "UNSUPPORTED_FUNCTION"),
    declined("a set that is joined to a text", cubed("concat_ws(',', collect_set(b))"), "ORDER_DEPENDENT"),
    declined("a list that is only counted", cubed("size(collect_list(c))"), "ORDER_DEPENDENT"),
    declined("histogram_numeric", cubed("histogram_numeric(c, 5)"), "UNSUPPORTED_FUNCTION"),
    declined("sketches of great precision", cubed("count_min_sketch(c, 0.0001D, 0.99D, 1)"), "UNSUPPORTED_SHAPE"),
    declined(
      "approx_count_distinct of very little deviation",
      cubed("approx_count_distinct(c, 0.008)"),
      "UNSUPPORTED_SHAPE"
    ),
    declined(
      "approx_count_distinct of several columns, together of too little deviation",
      cubed("approx_count_distinct(c, 0.015), approx_count_distinct(b, 0.015), approx_count_distinct(dt, 0.015)"),
      "UNSUPPORTED_SHAPE"
    ),
    declined("one distinct count alone", "select a, count(distinct c) from t group by a", "SINGLE_AGGREGATE"),
    declined(
      "distinct in one branch",
      s"$ga union all select a, count(distinct c) from t group by a",
      "SINGLE_AGGREGATE"
    ),
    declined(
      "max of a struct with a collated string",
      cubed("max(struct(b collate unicode_ci))"),
      "UNSUPPORTED_INPUT_TYPE"
    ),
    declined("max of a collated string", cubed("max(b collate unicode_ci)"), "UNSUPPORTED_INPUT_TYPE"),
    declined(
      "a collated key",
      "select k, a, count(*) from (select b collate utf8_lcase k, a from t) group by cube(k, a)",
      "UNSUPPORTED_KEY_TYPE"
    ),
    declined("a map key", "select m, a, count(*) from t group by cube(m, a)", "UNSUPPORTED_KEY_TYPE"),
    declined(
      "rand in a key",
      "select k, count(*) from (select floor(rand() * 2) k, b from t) group by k union all select length(b), count(*) from (select floor(rand() * 2) k, b from t) group by length(b), k",
      "NONDETERMINISTIC"
    ),
    declined(
      "rand below",
      "select a, b, sum(v) from (select a, b, rand() v from t) group by cube(a, b)",
      "NONDETERMINISTIC"
    ),
    declined(
      "rand in a filter",
      "select a, b, count(*) from t where rand() > 0.5 group by cube(a, b)",
      "NONDETERMINISTIC"
    ),
    declined(
      "a sampled common table",
      "with v as (select a, b, c, rand() z from t) select a, sum(z) from v group by a union all select c, sum(z) from v group by c",
      "NONDETERMINISTIC"
    ),
    declined(
      "an hour of sliding windows",
      "select h, count(*) from (select hour(w.start) h from (select window(ts, '2 hours', '1 hour') w from t)) group by h",
      "SLIDING_WINDOW"
    ),
    declined(
      "session windows",
      "select session_window(ts, '5 minutes'), count(*) from t group by session_window(ts, '5 minutes'), a union all select session_window(ts, '6 minutes'), count(*) from t group by session_window(ts, '6 minutes'), b",
      "SESSION_WINDOW"
    ),
    declined(
      "different columns that may fail, behind filters",
      "select 1 div c, count(*) from t where c > 1 group by 1 div c union all select 2 div c, count(*) from t where c > 2 group by 2 div c",
      "DIFFERENT_INPUTS"
    ),
    declined("other tables", s"$ga union all select a, count(*) from dim group by a", "DIFFERENT_INPUTS"),
    declined(
      "other join condition",
      "select b, count(*) from t join dim on t.a = dim.a group by b union all select b, count(*) from t join dim on t.c = dim.a group by b",
      "DIFFERENT_INPUTS"
    ),
    declined(
      "other join type",
      "select b, count(*) from t join dim on t.a = dim.a group by b union all select b, count(*) from t left join dim on t.a = dim.a group by b",
      "DIFFERENT_INPUTS"
    ),
    declined(
      "other row multiplicity",
      "select b, count(*) from (select distinct b, a from t) group by b union all select b, count(*) from (select distinct b, c from t) group by b",
      "DIFFERENT_INPUTS"
    ),
    declined("one aggregate in the union", s"$ga union all select a, c from t", "SINGLE_AGGREGATE"),
    declined(
      "all sets but one filtered away",
      "select a, b, count(*) from t group by cube(a, b) having grouping_id() = 0",
      "SINGLE_AGGREGATE"
    ),
    declined("a subquery as input", cubed("sum(c + (select max(a) from dim))"), "SUBQUERY"),
    declined(
      "a subquery as key",
      "select k, count(*) from (select a + (select max(a) from dim) k, b from t) group by cube(k, b)",
      "SUBQUERY"
    ),
    declined(
      "widened text",
      "select a, count(*) n from text group by a union all select length(b), count(*) from text group by length(b)",
      "PROJECTION_SENSITIVE_SOURCE"
    ),
    declined(
      "a limit in each branch",
      s"($ga limit 1) union all (select length(b), count(*) from t group by length(b) limit 2)",
      "NONE"
    ),
    declined(
      "a sorted branch with a limit",
      s"($ga order by a limit 1) union all (select length(b), count(*) from t group by length(b))",
      "SINGLE_AGGREGATE"
    )
  )

  for (n <- negatives) test(s"left alone: ${n.name}") {
    val plan = planFor(n.sql)
    val found = detectIn(plan)
    n.code match {
      case None | Some("NONE") => assert(found.isEmpty, plan)
      case Some(code) => assert(found.map(_.left.map(_.code)) == Some(Left(code)), plan)
    }
  }

  private def assertSameRows(sql: String, plan: LogicalPlan, candidate: Candidate): Assertion = {
    val replaced = WorkloadOracle.replace(plan, candidate)
    assert(!(replaced eq plan))
    assert(replaced.schema == plan.schema || replaced.schema.fieldNames.toSeq == plan.schema.fieldNames.toSeq)
    val limited = plan.maxRows.isDefined && sql.contains("limit")
    val expected = WorkloadOracle.multiset(spark.sql(sql).collect().toSeq)
    val actual = WorkloadOracle.rows(spark, replaced)
    // Any rows will do under a limit without an order.
    if (limited) assert(actual.values.sum == expected.values.sum) else assert(actual == expected, plan)
  }

  private def sorted(set: String): String = {
    // Names may contain blanks: keys are told apart by the names that occur in the table of cases.
    val known =
      Seq(
        "if ((c > 1)) b else null",
        "cast(a as bigint)",
        "cast(c as int)",
        "length(b)",
        "a + 1",
        "s.u",
        "(isnotnull(c) and (c > 2)) <=> true"
      )
    val (named, rest) = known.foldLeft((Seq.empty[String], set)) { case ((ns, r), k) =>
      if (r.contains(k)) (ns :+ k, r.replace(k, "")) else (ns, r)
    }
    (named ++ rest.split(' ').filter(_.nonEmpty)).sorted.mkString(" ")
  }

  private def show(key: Expression): String = key match {
    case a: Attribute => a.name
    case _: SignatureWord => "signature"
    case e =>
      e.toString.replaceAll("#\\d+L?", "").replaceAll("^\\((.*)\\)$", "$1").toLowerCase(java.util.Locale.ROOT)
  }

  test("many conditional aggregates of several groupBys are also found as ones of fragments") {
    val asked = (1 to 8).map(i => s"count_if(c > $i) m$i").mkString(", ")
    def masked(sql: String): Seq[Boolean] = detectIn(planFor(sql)) match {
      case Some(Right(candidate)) =>
        candidate.workloads.flatMap(_.alternatives).flatMap(_.queries).map(_.masks.nonEmpty)
      case other => fail(s"$other")
    }
    assert(masked(s"select a, b, $asked from t group by cube(a, b)") == Seq.fill(4)(true))
    val few = "count_if(c > 1) m1, " + (2 to 8).map(i => s"count(*) m$i").mkString(", ")
    assert(
      masked(s"select a, $asked from t group by a union all select c, $few from t group by c") == Seq(true, false)
    )
    assert(masked(s"select a, $few from t group by a union all select c, $few from t group by c") == Nil)
  }

  test("few windows and few filters have keys of their own, or one in common") {
    def forms(queries: Seq[String]): Seq[String] = detectIn(planFor(queries.mkString(" union all "))) match {
      case Some(Right(candidate)) => candidate.workloads.flatMap(w => w.form +: w.alternatives.map(_.form))
      case other => fail(s"$other")
    }
    def windows(n: Int) =
      (1 to n).map(i => s"select a, count(*) n from t group by a, window(ts, '${i + 1} hours', '$i hours')")
    def filters(n: Int) = (1 to n).map(i => s"select a, count(*) n from t where c > $i group by a")
    assert(forms(windows(1) ++ windows(1)) == Seq("slices in common"))
    assert(forms(windows(2)) == Seq("slices of their own", "slices in common"))
    assert(forms(windows(16)) == Seq("slices of their own", "slices in common"))
    assert(forms(windows(17)) == Seq("slices in common"))
    assert(forms(filters(2)) == Seq("a key for each filter"))
    assert(forms(filters(3)) == Seq("a signature of the filters", "a key for each filter"))
    assert(forms(filters(17)) == Seq("a signature of the filters"))
    // Each query is in every form, or in none: here one would be left over.
    val others = (1 to 8).map(i => s"select b, count(*) n from t where d > $i group by b")
    assert(forms((filters(8).map(_.replace("select a", "select string(a) a")) ++ others) :+
      "select string(a) a, count(*) n from t group by a") == Seq("a signature of the filters"))
    // What may fail is asked once a row.
    assert(forms(filters(3) :+ "select a, count(*) n from t where 10 / c > 1 group by a").size == 1)
  }
}
