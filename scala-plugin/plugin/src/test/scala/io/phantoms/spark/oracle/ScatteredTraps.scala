package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/** Aggregates over one input in several places of a query: joins, subqueries that become joins, common table expressions. */
trait ScatteredTraps extends Traps { this: AnyFunSuite =>

  shares("two sides of a join")(
    "select x.a, x.s, y.m from (select a, sum(c) s from t group by a) x join (select a, max(c) m from t group by a) y on x.a = y.a"
  )
  shares("sides of different keys")(
    "select x.a, y.z, x.n, y.s from (select a, count(*) n from t group by a) x join (select z, sum(n) s from t group by z) y on x.a = y.z"
  )
  shares("NULL-safe join of keys with NULLs")(
    "select x.b, x.n, y.h from (select b, count(*) n from t group by b) x full join (select b, a, max(x) h from t group by b, a) y on x.b <=> y.b"
  )
  shares("outer joins")(
    """select x.a, x.n, y.s, v.l from (select a, count(*) n from t where c > 20 group by a) x
      |left join (select a, sum(c) s from t where c > 100 group by a) y on x.a = y.a
      |right join (select z, min(d) l from t group by z) v on v.z = x.a""".stripMargin
  )
  shares("a total beside groups")(
    "select a, s, total from (select a, sum(c) s from t group by a) cross join (select sum(c) total from t)"
  )
  shares("a total over no row beside groups")(
    "select a, s, total from (select a, sum(c) s from none group by a) full join (select count(*) total from none) on a = total"
  )
  shares("a common table expression used in several ways")(
    """with base as (select a, b, c, x from t where c > -20)
      |select p.a, p.s, q.b, q.h from (select a, sum(c) s from base group by a) p
      |join (select b, a, max(x) h from base group by b, a) q on p.a = q.a""".stripMargin
  )
  shares("one aggregate used twice, and another")(
    """with s as (select a, sum(c) v, count(*) n from t group by a)
      |select x.a, x.v, y.n, m.h from s x join s y on x.a = y.n join (select a, max(d) h from t group by a) m on m.a = x.a""".stripMargin
  )
  shares("different filters on each side")(
    """select x.a, x.s, y.s from (select a, sum(c) s from t where z = 0 group by a) x
      |join (select a, sum(c) s from t where z = 1 group by a) y on x.a = y.a""".stripMargin
  )
  shares("filters that overlap, on keys and other columns")(
    """select x.a, x.s, y.n, v.m from (select a, sum(c) s from t where a > 0 and c < 100 group by a) x
      |join (select a, count(*) n from t where c > 0 group by a) y on x.a = y.a
      |join (select z, min(by) m from t where a in (1, 2) group by z) v on v.z = x.a""".stripMargin
  )
  shares("HAVING on both sides")(
    """select x.a, x.s, y.m from (select a, sum(c) s from t group by a having sum(c) > 0) x
      |join (select a, max(c) m from t group by a having count(*) > 3) y on x.a = y.a""".stripMargin
  )
  shares("a correlated scalar subquery")(
    "select p.a, p.b, p.s from (select a, b, sum(c) s from t group by a, b) p where p.s > (select avg(c) from t q where q.a = p.a)"
  )
  shares("window functions over the results")(
    """select x.a, x.s, rank() over (order by x.s, x.a) r, y.m from (select a, sum(c) s from t group by a) x
      |join (select a, max(sum(c)) over (order by a) m from t group by a having count(*) > 1) y on x.a = y.a""".stripMargin
  )
  shares("grouping sets on one side, a groupBy on the other")(
    """select x.a, x.b, x.s, y.n from (select a, b, sum(c) s from t group by cube(a, b)) x
      |left join (select b, count(*) n from t group by b) y on x.b <=> y.b""".stripMargin
  )
  shares("grouping sets on both sides")(
    """select x.a, x.s, y.z, y.m from (select a, b, sum(c) s from t group by rollup(a, b)) x
      |join (select z, b, max(c) m from t group by cube(z, b)) y on x.b = y.b""".stripMargin
  )
  shares("branches of a union that are joins")(
    """select x.a, x.s + y.n v from (select a, sum(c) s from t group by a) x join (select a, count(*) n from t group by a) y on x.a = y.a
      |union all select z, max(c) from t group by z""".stripMargin
  )
  shares("an aggregate over a join of aggregates")(
    """select r, count(*), sum(s) from (select x.s % 3 r, x.s from (select a, sum(c) s from t group by a) x
      |join (select a, b, count(*) n from t group by a, b) y on x.a = y.a) group by r""".stripMargin
  )
  shares("inputs that are joins")(
    """select x.name, x.s, y.m from (select name, sum(c) s from t join dim on t.a = dim.a group by name) x
      |join (select name, b, max(c) m from t join dim on t.a = dim.a group by name, b) y on x.name = y.name""".stripMargin
  )
  shares("inputs that are aggregates")(
    """with day as (select a, b, sum(c) s, count(*) n from t group by a, b)
      |select p.a, p.v, q.b, q.v from (select a, sum(s) v, max(n) l from day group by a) p
      |join (select b, sum(s) v, max(n) h from day group by b) q on p.a = q.v % 5 and p.l < q.h""".stripMargin
  )
  shares("a sliding window on each side")(
    """select x.w.start, x.n, y.s from (select window(ts, '10 minutes', '5 minutes') w, count(*) n from t group by 1) x
      |join (select window(ts, '20 minutes', '5 minutes') w, sum(c) s from t group by 1) y on x.w.start = y.w.start""".stripMargin
  )
  shares("a tumbling and a sliding window")(
    """select x.w.start, x.n, y.s from (select window(ts, '5 minutes') w, count(*) n from t group by 1) x
      |join (select window(ts, '20 minutes', '5 minutes') w, sum(c) s from t group by 1) y on x.w.start = y.w.start""".stripMargin
  )
  shares("conditional aggregates beside others")(
    """select x.a, x.p, x.q, y.s from (select a, count_if(z = 0) p, sum(c) filter (where flag) q from t group by a) x
      |join (select a, sum(sh) s from t group by a) y on x.a = y.a""".stripMargin
  )
  shares("broadcast of one")(
    """select /*+ broadcast(y) */ x.a, x.s, y.m from (select a, sum(c) s from t group by a) x
      |join (select a, max(c) m from t group by a) y on x.a = y.a""".stripMargin
  )
  shares("merge join of both, in order")(
    """select /*+ merge(y) */ x.a, x.s, y.m from (select a, sum(c) s from t group by a) x
      |join (select a, max(c) m from t group by a) y on x.a = y.a order by 1, 2""".stripMargin
  )
  shares("columns of the results pruned, and renamed")(
    """select x.k from (select a k, sum(c) s, max(d) h from t group by a) x
      |join (select a l, count(*) n, min(b) from t group by a) y on x.k = y.l and y.n > 5""".stripMargin
  )
  shares("strings in one and no function in the other")(
    "select x.b, x.h from (select b, max(b) h from t group by b) x join (select distinct b, a from t) y on x.b = y.b"
  )
  test("a value that fails in one of them only: the same error") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkFailsSharedSql(
        "select x.a, x.s, y.m from (select a, sum(1 div (z - 1)) s from t group by a) x join (select a, max(c) m from t group by a) y on x.a = y.a"
      )
    }
  }
  test("a filter keeps one of them from failing") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql(
        """select x.a, x.s, y.m from (select a, sum(1 div z) s from t where z <> 0 group by a) x
          |join (select a, max(c) m from t group by a) y on x.a = y.a""".stripMargin
      )
    }
  }
  declines("inputs of different tables", "DIFFERENT_INPUTS")(
    "select x.a, x.n, y.m from (select a, count(*) n from t group by a) x join (select a, max(name) m from dim group by a) y on x.a = y.a"
  )
  declines("copies of one aggregate, which Spark computes once", "DIFFERENT_INPUTS")(
    "with s as (select a, sum(c) v from t group by a) select x.a, y.v from s x join s y on x.a = y.v and x.v = y.a"
  )
  test("several consumers without reuse of exchanges") {
    withConf("spark.sql.exchange.reuse" -> "false") {
      checkDeclinedSql(
        "select x.a, x.s, y.m from (select a, sum(c) s from t group by a) x join (select a, max(c) m from t group by a) y on x.a = y.a",
        "INPUT_READ_TWICE"
      )
    }
  }
}
