package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/** DISTINCT aggregates, which are computed from groupBys by the keys and the distinct columns. */
trait DistinctTraps extends Traps { this: AnyFunSuite =>

  shares("several distinct counts")(
    "select a, count(distinct b), count(distinct c), count(distinct z) from t group by a"
  )
  shares("several distinct counts of all rows")("select count(distinct b), count(distinct c), count(distinct n) from t")
  shares("beside what is not DISTINCT")(
    """select a, count(*), count(distinct b), sum(c), avg(d), max(b), min(s), count(distinct z, n), max(r)
      |from t group by a""".stripMargin
  )
  shares("one distinct count beside what is not DISTINCT")(
    "select a, count(distinct b), count(b), sum(c), min(x) from t group by a"
  )
  shares("sums and averages of one column's values, and of all")(
    "select z, sum(distinct c), avg(distinct c), count(distinct c), sum(c), avg(c), count(c) from t group by z"
  )
  shares("of all rows, beside what is not DISTINCT")(
    "select count(distinct a), sum(distinct c), count(*), sum(c), max(b), avg(x) from t"
  )
  shares("no row: groups, and all rows")(
    """select * from (select a k, count(distinct b) p, count(distinct c) q, sum(c) s, count(*) n from none group by a)
      |union all select * from (select -1, count(distinct b), count(distinct c), sum(c), count(*) from none)""".stripMargin
  )
  shares("no row of all rows")(
    "select count(distinct a), count(distinct b), sum(distinct c), count(*), min(b), count(distinct 1), 5 from none"
  )
  shares("rows that a filter drops, all of them")(
    "select count(distinct a), avg(distinct c), count(*), max(b) from t where c > 100000"
  )
  shares("FILTER clauses")(
    """select a, count(distinct b) filter (where c > 50), count(distinct b) filter (where z = 1), count(distinct b),
      |sum(distinct c) filter (where flag), sum(c) filter (where not flag), count(*) filter (where z is null)
      |from t group by a""".stripMargin
  )
  shares("a FILTER clause that is NULL, and one that never holds")(
    """select z, count(distinct b) filter (where cast(null as boolean)), count(distinct b) filter (where c < -1000),
      |sum(distinct c) filter (where c < -1000), count(distinct b) filter (where x > 1), max(b) from t group by z""".stripMargin
  )
  shares("conditions within DISTINCT")(
    """select a, count(distinct if(c > 10, b, null)), count(distinct case when z = 1 then b end), count(distinct b),
      |count(distinct if(flag, null, b)), sum(distinct if(c > 0, n, null)), avg(distinct case when x > 1 then n end)
      |from t group by a""".stripMargin
  )
  shares("conditions within DISTINCT of one column, and nothing else")(
    "select a, count(distinct if(c > 10, b, null)), count(distinct if(c > 20, b, null)) from t group by a"
  )
  shares("conditions within DISTINCT and FILTER clauses")(
    """select z, count(distinct if(c > 10, b, null)) filter (where flag), count(distinct if(c > 10, b, null)),
      |count(distinct if(c > 10, 1, null)), sum(distinct if(c < 10, 3, null)) filter (where n = 1) from t group by z""".stripMargin
  )
  shares("more conditions than a word has bits")(
    (0 until 70).map(i => s"count(distinct if(c > ${i * 3 - 60}, b, null)) c$i")
      .mkString("select a, ", ", ", ", count(*) from t group by a")
  )
  shares("distinct rows of several columns, with NULLs")(
    "select n, count(distinct a, b), count(distinct b, a), count(distinct a, z, flag), count(distinct a) from t group by n"
  )
  shares("floats: zeros of both signs and NaN are one value each")(
    "select z, count(distinct x), count(distinct f), sum(distinct f), max(x), count(distinct x, f) from t group by z"
  )
  shares("decimals")(
    """select z, sum(distinct d), avg(distinct d), sum(d), count(distinct d), sum(distinct w), avg(distinct w), avg(w),
      |count(distinct cast(d as decimal(18, 4))) from t group by z""".stripMargin
  )
  shares("strings, binary, structs and arrays")(
    "select z, count(distinct bin), count(distinct s), count(distinct r), count(distinct s.v), max(b), min(bin) from t group by z"
  )
  shares("times and intervals")(
    "select z, count(distinct dt), count(distinct ts), count(distinct tn), sum(distinct ym), avg(distinct ds), max(ts) from t group by z"
  )
  shares("other functions of distinct values")(
    """select z, stddev(distinct c), bit_xor(distinct c), bool_or(distinct flag), var_pop(distinct sh), count(distinct by)
      |from t group by z""".stripMargin
  )
  shares("values that are keys")(
    "select a, b, count(distinct a), count(distinct b, c), count(distinct upper(b)), count(*) from t group by a, b"
  )
  shares("expressions as keys and values")(
    """select a % 2 k, a % 2 + 1, count(distinct a % 2), count(distinct a % 3, b), sum(distinct c % 7) + count(*)
      |from t group by a % 2""".stripMargin
  )
  shares("NULL-safe and constant keys")(
    "select 'x' k, b, count(distinct a), count(distinct c), max(c) from t group by 'x', b"
  )
  shares("constants")(
    "select a, count(distinct 1), count(distinct b, 1), sum(distinct 2), count(distinct b), max(3) from t group by a"
  )
  shares("constants of all rows")("select count(distinct 1), sum(distinct 3), count(distinct b), count(1) from t")
  shares("grouping sets")(
    "select a, b, grouping(a), count(distinct c), count(distinct z), sum(c), count(*) from t group by cube(a, b)"
  )
  shares("one distinct count under grouping sets")(
    "select a, dt, count(distinct b) from t group by grouping sets ((a, dt), (a), (dt), ())"
  )
  shares("values that are keys of some grouping sets, and a filter on the grouping id")(
    """select a, b, count(distinct a), count(distinct b) filter (where z > 0), sum(c) from t group by rollup(a, b)
      |having grouping_id() < 3""".stripMargin
  )
  test("duplicate grouping sets of no row") {
    // Adaptive execution leaves nothing of a plan without rows.
    withConf("spark.sql.adaptive.enabled" -> "false") {
      checkSharedSql("select a, count(distinct b), count(distinct c) from none group by grouping sets ((a), (a), ())")
    }
  }
  shares("HAVING and ORDER BY")(
    """select a, count(distinct b) p, sum(c) s from t group by a
      |having count(distinct b) > 2 and count(distinct c) > 5 order by p, a""".stripMargin
  )
  shares("a branch of a union")(
    """select a, count(distinct b) n, sum(c) s from t group by a
      |union all select z, count(*), max(c) from t group by z union all select n, count(c), min(c) from t group by n""".stripMargin
  )
  test("a branch of a union, where exchanges are not reused: it and the others, each for themselves") {
    withConf("spark.sql.exchange.reuse" -> "false") {
      checkSharedSql(
        """select a, count(distinct b) n, count(distinct c) s from t group by a
          |union all select z, count(*), max(c) from t group by z union all select n, count(c), min(c) from t group by n""".stripMargin
      )
    }
  }
  shares("sides of a join")(
    """select x.a, x.p, y.q, y.s from (select a, count(distinct b) p from t group by a) x
      |join (select z, count(distinct b) q, sum(c) s from t group by z) y on x.a = y.z""".stripMargin
  )
  shares("one side of a join, beside one without")(
    "select x.a, x.n, y.m from (select a, count(distinct z) n from t group by a) x join (select a, max(c) m from t group by a) y on x.a = y.a"
  )
  shares("totals under six filters")(
    (0 until 6).map(i =>
      s"(select avg(d) v$i, count(d) c$i, count(distinct d) u$i from t where n = ${i % 3} and (c between ${i * 9} and ${i * 9 + 40} or z = ${i % 2})) b$i"
    ).mkString("select * from ", " cross join ", "")
  )
  shares("totals under filters that let nothing through")(
    """select * from (select count(distinct b) p, count(*) n, sum(distinct c) s from t where c > 1000) x
      |cross join (select count(distinct b) q, max(b) m, avg(c) v from t where z = 0) y
      |cross join (select count(distinct b) r, min(a) l from t where a > 77) w""".stripMargin
  )
  shares("over a join, and under another aggregate")(
    """select p, count(*), sum(s) from (select name, count(distinct b) p, count(distinct z) q, sum(c) s
      |from t join dim on t.a = dim.a group by name) group by p""".stripMargin
  )
  shares("a sliding window")(
    "select window(ts, '20 minutes', '5 minutes').start, count(distinct a), count(distinct b), sum(c) from t group by window(ts, '20 minutes', '5 minutes')"
  )
  shares("a scalar subquery in a result")(
    "select a, count(distinct b) + (select max(a) from dim), count(distinct c) from t group by a"
  )
  test("values that fail: the same error") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkFailsSharedSql("select a, count(distinct 1 div (z - 1)), count(distinct b) from t group by a")
      checkFailsSharedSql("select a, count(distinct c), count(distinct b), sum(1 div (z - 1)) from t group by a")
      checkFailsSharedSql(
        "select a, 1 div (count(distinct b) - count(distinct b)), count(distinct c) from t group by a"
      )
      checkFailsSharedSql(
        "select a, count(distinct if(z <> 0, 1 div (z - 1), null)), count(distinct if(z <> 1, 1 div (z - 1), null)) from t group by a"
      )
    }
  }
  test("conditions keep values from failing") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql(
        "select a, count(distinct if(z <> 0, 6 div z, null)), count(distinct if(z > 1, 6 div z, null)), count(*) from t group by a"
      )
    }
  }
  test("a filter keeps values of one side from failing") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql(
        """select x.a, x.p, y.q, y.m from (select a, count(distinct 6 div z) p, sum(6 div z) s from t where z <> 0 group by a) x
          |join (select a, count(distinct b) q, max(c) m from t group by a) y on x.a = y.a""".stripMargin
      )
    }
  }
  test("sums of distinct values that overflow: the same error") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkFailsSharedSql(
        "select k, sum(distinct v), count(distinct k) from (select id % 3 k, 9223372036854775807 - id v from range(10)) group by k"
      )
    }
  }
  test("negative: FILTER clauses that may fail, and what is read behind one") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkDeclinedSql(
        "select a, count(distinct b) filter (where 1 div (n + 1) > 0), count(distinct c) from t group by a",
        "DISTINCT_AGGREGATE"
      )
      checkDeclinedSql(
        "select a, count(distinct b), count(distinct c), sum(1 div z) filter (where z <> 0) from t group by a",
        "DISTINCT_AGGREGATE"
      )
    }
  }
  test("negative: switched off, and floats that have to be exact") {
    val sql = "select a, count(distinct b), sum(distinct x) from t group by a"
    withConf("spark.phantoms.distinct.enabled" -> "false") {
      checkDeclinedSql(sql, "DISABLED")
      checkSharedSql(
        s"$sql union all select z, count(*), 1.5 from t group by z union all select n, max(c), 2.5 from t group by n"
      )
    }
    withConf("spark.phantoms.exactFloatingPoint" -> "true") {
      checkDeclinedSql(sql, "EXACT_FLOATING_POINT")
      checkSharedSql("select a, count(distinct b), count(distinct x) from t group by a")
    }
    withConf("spark.phantoms.groupingSets.enabled" -> "false") {
      checkDeclinedSql("select a, count(distinct b), count(distinct c) from t group by cube(a, n)", "DISABLED")
    }
  }
  declines(
    "negative: one distinct count and nothing else",
    "SINGLE_AGGREGATE"
  )("select a, count(distinct b) from t group by a")
  declines("negative: subqueries that Spark makes one of", "SINGLE_AGGREGATE")(
    "select (select count(distinct a) + count(*) from t), (select sum(distinct a) + max(c) from t)"
  )
  shares("a subquery of several distinct columns")(
    "select (select count(distinct a) + count(distinct b) from t), (select max(c) from t)"
  )
  declines("negative: by the order of rows", "ORDER_DEPENDENT")(
    "select size(collect_set(distinct b)), count(distinct c) from t"
  )
  declines("negative: values of which many are equal and not the same", "UNSUPPORTED_KEY_TYPE")(
    "select a, count(distinct b collate unicode_ci), count(distinct c) from t group by a"
  )
}
