package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/** Where grouping sets go wrong: empty inputs, duplicates, the two kinds of NULL, grouping ids, filters, key types. */
trait GroupingSetTraps extends Traps { this: AnyFunSuite =>

  // Empty inputs: a table without rows, one without a file, rows that no filter lets through.
  for (input <- Seq("none", "nothing", "t where n > 100")) {
    val grouped = s"select a, b, count(*), count(c), sum(c) from $input group by"
    shares(s"empty input, $input: cube")(s"$grouped cube(a, b)")
    shares(s"empty input, $input: rollup")(s"$grouped rollup(a, b)")
    shares(s"empty input, $input: sets")(s"$grouped grouping sets ((a), (b))")
    shares(s"empty input, $input: sets with the empty set")(s"$grouped grouping sets ((a, b), ())")
    shares(s"empty input, $input: only empty sets")(
      s"select count(*), sum(c), avg(x) from $input group by grouping sets ((), ())"
    )
    shares(s"empty input, $input: union with global branches")(
      s"""select a, count(*) n, sum(c) v from $input group by a
         |union all select null, count(*), sum(c) from $input
         |union all select 7, count(c), max(c) from $input""".stripMargin
    )
    shares(s"empty input, $input: only global branches")(
      s"select count(*) n, sum(w) v from $input union all select count(b), max(w) from $input"
    )
  }
  declines("negative: one empty set is a plain global aggregate", "SINGLE_AGGREGATE")(
    "select count(*), sum(c) from none group by grouping sets (())"
  )

  // Duplicates.
  shares("duplicate sets")("select a, b, count(*) from t group by grouping sets ((a), (a), (b), (a, b), (b, a))")
  shares("duplicate sets, all equal")("select a, sum(c), count(*) from t group by grouping sets ((a), (a), (a))")
  shares("duplicate empty sets")("select a, sum(c), count(*) from t group by grouping sets ((), (a), ())")
  shares("all sets empty")("select sum(c), count(*) from t group by grouping sets ((), (), ())")
  shares("a key twice in one set")("select a, count(*) from t group by grouping sets ((a, a), (a), (b))")
  shares("cube of a key with itself")("select a, count(*), grouping_id() from t group by cube(a, a)")
  shares("concatenated cube and rollup")("select a, b, dt, count(*) from t group by cube(a), rollup(b, dt)")
  shares("partial rollup")("select a, b, dt, count(*), grouping_id() from t group by a, rollup(b, dt)")
  shares("nested sets")("select a, b, dt, count(*) from t group by grouping sets (rollup(a, b), cube(dt), (a, dt))")

  // NULL of the data, NULL of the grouping.
  shares("NULL data at every level")(
    "select a, b, flag, count(*), grouping(a), grouping(b), grouping(flag) from t group by cube(a, b, flag)"
  )
  shares("only NULL in the key")(
    "select k, b, count(*), grouping_id(k, b) from (select cast(null as int) + a * 0 k, b from t where a is null) group by cube(k, b)"
  )
  shares("coalesce over grouping")(
    "select if(grouping(a) = 1, 'all', coalesce(cast(a as string), 'unknown')) l, sum(c) from t group by rollup(a, b)"
  )

  // grouping_id.
  shares("grouping_id of all")("select a, b, dt, by, grouping_id(), count(*) from t group by cube(a, b, dt, by)")
  shares("grouping_id in another order than the keys")(
    "select grouping_id(a, b), grouping(b), grouping(a), sum(c) from t group by rollup(a, b)"
  )
  shares("grouping_id alone")("select grouping_id(b, a) g, count(*) from t group by grouping sets ((b), (a), ())")
  shares("grouping_id in an expression of aggregates")(
    "select a, sum(c) * (grouping_id() + 1), max(c) - grouping(a) from t group by cube(a, b)"
  )
  test("grouping_id as long and as int") {
    Seq("true", "false").foreach(legacy =>
      withConf("spark.sql.legacy.integerGroupingId" -> legacy)(
        checkSharedSql("select a, b, grouping_id(), count(*) from t group by cube(a, b)")
      )
    )
  }

  // HAVING.
  shares("having on a key")("select a, b, count(*) n from t group by cube(a, b) having a > 1")
  shares("having a key is NULL")("select a, b, count(*) n from t group by cube(a, b) having a is null")
  shares("having on a grouping")("select a, b, count(*) n from t group by cube(a, b) having grouping(a) = 1")
  shares("having on the grouping id")(
    "select a, b, count(*) n from t group by cube(a, b) having grouping_id() in (0, 3)"
  )
  shares("having on an aggregate")("select a, b, count(*) n from t group by cube(a, b) having sum(c) > 200")
  shares("having on all three")(
    "select a, b from t group by cube(a, b) having grouping_id() < 3 and count(*) > 3 and (b = 'k1' or b is null)"
  )
  shares("having on an aggregate that is not selected")("select b from t group by rollup(b, a) having max(c) % 2 = 0")
  shares("a filter above")(
    "select * from (select a, b, count(*) n from t group by cube(a, b)) where b = 'k1' and n > 2"
  )
  declines("negative: having leaves one set", "SINGLE_AGGREGATE")(
    "select a, count(*) n from t group by cube(a) having grouping_id() = 0"
  )

  // A key as the input of an aggregate sees the value, not the NULL of the grouping.
  shares("a key as input")("select a, b, sum(a), min(a), max(b), count(a), count(b), avg(a) from t group by cube(a, b)")
  shares("an expression of a key as input")("select a, sum(a + 1), count(a is null) from t group by rollup(a, b)")
  shares("a key in a FILTER clause")(
    "select a, count(*) filter (where a > 1), sum(c) filter (where b = 'k1') from t group by cube(a, b)"
  )
  shares("a key expression as input")("select a % 2, sum(a % 2), max(c) from t group by cube(a % 2, b)")

  // Keys of all types.
  for (
    key <-
      Seq("a", "b", "c", "d", "w", "x", "f", "flag", "by", "sh", "dt", "ts", "tn", "bin", "s", "r", "ym", "ds", "n")
  )
    shares(s"a key of column $key")(s"select $key, z, count(*), sum(c), count($key) from t group by cube($key, z)")
  shares("keys of several types at once")(
    "select a, b, d, w, x, flag, s, count(*) from t group by grouping sets ((a, b, d), (w, x), (flag, s, b), (x, a), ())"
  )
  shares("nested keys of structs and arrays")(
    "select q, p, count(*) from (select named_struct('s', s, 'r', r) q, array(b, cast(a as string)) p from t) group by cube(q, p)"
  )
  shares("keys narrower than a word, signed")("select by, sh, flag, a, count(*) from t group by cube(by, sh, flag, a)")
  shares("a TIME key")(
    "select h, b, count(*), max(c), min(h) from (select cast(concat('0', z, ':30:00') as time) h, b, c from t) group by cube(h, b)"
  )
  shares("tumbling windows as keys")(
    "select window(ts, '1 hour') w, a, count(*) from t group by cube(window(ts, '1 hour'), a)"
  )
  shares("tumbling windows with an offset")(
    "select w.start, w.end, b, sum(c) from (select window(tn, '90 minutes', '90 minutes', '10 minutes') w, b, c from t) group by grouping sets ((w, b), (w), (b))"
  )
  declines("negative: a collated key", "UNSUPPORTED_KEY_TYPE")(
    "select k, a, count(*) from (select b collate UTF8_LCASE k, a from t) group by cube(k, a)"
  )
  declines("negative: a collated input", "UNSUPPORTED_INPUT_TYPE")(
    "select a, max(b collate UTF8_LCASE) from t group by cube(a, dt)"
  )

  shares("a condition that is true, asked after what may fail, before values in common")(
    """select n, -x, a, var_pop(abs(hash(x)) % 7), covar_samp(abs(hash(x)) % 7, abs(hash(n)) % 7), count(*) from t where a > 0
      |group by cube(n, -x, a) having n is not null""".stripMargin
  )

  // Constants and expressions.
  shares("keys that are expressions")("select a + n, upper(b), count(*) from t group by cube(a + n, upper(b))")
  shares("a constant key")("select a, 'x' k, count(*) from t group by cube(a, 'x')")
  shares("a NULL key")("select a, null k, count(*) from t group by cube(a, null)")
  shares("constants beside keys")("select 1 one, a, 'v' v, count(*) from t group by rollup(a, b)")
  shares("no aggregate at all")("select a, b from t group by grouping sets ((a), (b), ())")
  shares("no column of the input")("select a, count(1) from t group by cube(a) having grouping(a) = 0 or count(1) > 0")
  shares("an aggregate twice")("select a, sum(c) s1, sum(c) s2, sum(c) + sum(c) from t group by cube(a, b)")

  // Above and below.
  test("ORDER BY above")(
    checkSharedSql("select a, b, count(*) n from t group by cube(a, b) order by a nulls last, b, n", ordered = true)
  )
  test("ORDER BY and LIMIT above")(
    checkSharedSql(
      "select a, b, grouping_id() g, sum(c) v from t group by cube(a, b) order by v desc nulls last, g, a, b limit 7",
      ordered = true
    )
  )
  shares("LIMIT above all rows")("select a, b, count(*) from t group by cube(a, b) limit 1000")
  shares("a count of a LIMIT")("select count(*) from (select a, b, count(*) n from t group by cube(a, b) limit 5)")
  shares("a window function above")(
    "select a, b, n, rank() over (partition by grouping_id order by n desc, a, b) from (select a, b, count(*) n, grouping_id() grouping_id from t group by cube(a, b))"
  )
  shares("joined with itself")(
    "with q as (select a, b, count(*) n from t group by cube(a, b)) select l.a, l.n, r.n m from q l join q r on l.a = r.a and r.b is null where l.b is not null"
  )
  shares("joined with a table")(
    "select name, q.n from (select a, count(*) n from t group by rollup(a, b)) q left join dim on q.a = dim.a"
  )
  shares("aggregated again")(
    "select b, sum(n), count(*) from (select a, b, count(*) n from t group by cube(a, b)) group by b"
  )
  shares("over a join")("select name, b, sum(c), count(*) from t join dim on t.a = dim.a group by cube(name, b)")
  shares("over an outer join")(
    "select name, b, sum(c), count(name) from t left join dim on t.a = dim.a group by cube(name, b)"
  )
  shares("over a distinct")("select a, b, count(*) from (select distinct a, b, z from t) group by cube(a, b)")
  shares("over an aggregate")(
    "select a, b, sum(n) from (select a, b, count(*) n from t group by a, b, dt) group by rollup(a, b)"
  )
  shares("over an explode")("select a, e, count(*) from (select a, explode(r) e from t) group by cube(a, e)")
  shares("in a subquery of a filter")(
    "select a, c from t where c > (select max(n) from (select count(*) n from t group by cube(a, b)))"
  )

  // What must not be shared.
  declines("negative: nondeterministic", "NONDETERMINISTIC")(
    "select k, b, count(*) > 0 from (select a + rand(1) * 0 k, b from t) group by cube(k, b)"
  )
  declines("negative: first and last", "ORDER_DEPENDENT")("select n, first(n), last(n) from t group by cube(n)")
  declines("negative: collected lists", "ORDER_DEPENDENT")("select n, size(collect_list(c)) from t group by cube(n, z)")
  shares("DISTINCT")(
    "select a, count(distinct b), count(distinct b) filter (where z > 0) from t group by cube(a, dt)"
  )
  declines(
    "negative: other functions",
    "UNSUPPORTED_FUNCTION"
  )("select a, mode(c) is null from t group by cube(a, dt)")
  declines("negative: a subquery in a filter clause", "SUBQUERY")(
    "select a, count(*) filter (where c > (select avg(a) from dim)) from t group by cube(a, b)"
  )
  test("negative: observe() below") {
    checkDeclined(
      spark.table("t").observe("seen", org.apache.spark.sql.functions.count("*")).cube("a", "b").count(),
      "OBSERVED"
    )
  }
}
