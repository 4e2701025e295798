package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/** Aggregates in subqueries that share an input with each other, or with the query that they are of. */
trait SubqueryTraps extends Traps { this: AnyFunSuite =>

  shares("scalar ones under filters of their own")(
    """select (select sum(c) from t where z = 0) p, (select max(c) from t where z = 1) q,
      |(select count(*) from t where a > 2) n, (select avg(sh) from t where b is null) m""".stripMargin
  )
  shares("one under CASE, of several a filter")(
    Seq(0, 1, 2).map { z =>
      s"""case when (select count(*) from t where z = $z) > 10 then (select avg(c) from t where z = $z)
         |else (select min(c) from t where z = $z) end p$z""".stripMargin
    }.mkString("select ", ", ", " from dim where a = 1")
  )
  // Spark computes these as one.
  declines("scalar ones under one filter", "SINGLE_AGGREGATE")(
    "select (select sum(c) from t where z = 0) p, (select max(c) from t where z = 0) q"
  )
  declines("a filter, and none", "SINGLE_AGGREGATE")(
    "select (select sum(c) from t where z = 0) p, (select max(c) from t) q"
  )
  test("a filter, and none, which Spark is told not to compute as one") {
    withConf("spark.sql.optimizer.mergeSubplans.filterPropagation.enabled" -> "false") {
      checkSharedSql("select (select sum(c) from t where z = 0) p, (select max(c) from t) q")
    }
  }
  shares("a total beside groups")("select a, sum(c) s, (select sum(c) from t) total from t group by a")
  shares("a total in a part")("select a, sum(c) / (select sum(c) from t where c > 0) from t where c > 0 group by a")
  shares("HAVING against a total")(
    "select a, b, sum(c) s from t group by a, b having sum(c) > (select avg(s) from (select sum(c) s from t group by a))"
  )
  shares("rows above the mean, beside groups of all")(
    """select p.a, p.n, q.s from (select a, count(*) n from t where c > (select avg(c) from t) group by a) p
      |join (select a, sum(c) s from t group by a) q on p.a = q.a""".stripMargin
  )
  shares("a subquery in a subquery")(
    """select a, count(*) n from t group by a
      |having count(*) > (select count(*) from dim where a < (select max(s) from (select b, sum(sh) s from t group by b)))""".stripMargin
  )
  shares("over no row")(
    "select (select count(*) from none where a = 1) p, (select sum(c) from none where a = 2) q, (select max(b) from none where a = 3) r"
  )
  shares("groups of no row")(
    "select (select count(*) n from none where z = 1 group by a) p, (select sum(c) from none where z = 2) q"
  )
  shares("IN")(
    "select * from (select a, sum(c) s from t group by a) where s in (select sum(c) from t group by a, b having count(*) > 1)"
  )
  shares("IN, of several columns, beside others in the condition")(
    """select a, name from dim where (a, name) in (select a, max(b) from t group by a)
      |or a in (select max(z) from t group by b)""".stripMargin
  )
  shares("NOT IN, with NULLs")(
    "select a from dim where a not in (select max(a) from t where a > 0 group by b) and a not in (select z from t group by z having count(*) > 1000000)"
  )
  shares("NOT IN, with a NULL in it")(
    "select a from dim where a not in (select if(count(*) > 5, null, z) from t group by z) or a in (select a from t group by a, z)"
  )
  shares("EXISTS with its own aggregate")(
    "select x.a, x.n from (select a, count(*) n from t group by a) x where exists (select 1 from (select z, sum(n) s from t group by z) y where y.s > x.n and y.z <> x.a)"
  )
  shares("NOT EXISTS with its own aggregate")(
    "select x.a, x.n from (select a, count(*) n from t group by a) x where not exists (select 1 from (select z, sum(n) s from t group by z) y where y.s > x.n and y.z <> x.a)"
  )
  shares("EXISTS of anything")(
    "select a from dim where exists (select a, count(*) from t group by a having count(*) > 2) and a in (select z from t group by z)"
  )
  shares("a common table expression above and below")(
    """with v as (select a, b, sum(c) s from t group by a, b)
      |select a, sum(s) from v group by a having sum(s) > (select avg(s) from v)""".stripMargin
  )
  shares("in the condition of a join")(
    """select x.a, d.name from (select a, sum(c) s from t group by a) x
      |left join dim d on d.a = x.a and x.s > (select avg(c) from t where z = 1)""".stripMargin
  )
  shares("in the order")("select a, sum(c) s from t group by a order by s > (select avg(c) from t where z <> 1), a")
  shares("grouping sets beside a total")("select a, b, sum(c) / (select sum(c) from t) from t group by rollup(a, b)")
  shares("a union of them")(
    """select 'p', (select sum(c) from t where z = 0) union all select 'q', (select max(c) from t where z = 1)
      |union all select 'r', count(*) from dim""".stripMargin
  )
  shares("one that is asked twice, and others")(
    """select (select sum(c) from t where z = 0) + (select max(c) from t where z = 1) x from dim
      |where a <> (select sum(c) from t where z = 0) or a = (select min(c) from t where z = 2)""".stripMargin
  )
  shares("results that ask several, and keys")(
    """select a + 1, b, max(c) - min(c), (sum(c) + (select count(*) from t where z = 1)) * a, (select max(name) from dim)
      |from t group by a, b having max(c) > (select avg(c) from t where a = 1) or a is null""".stripMargin
  )
  shares("a correlated one, and others")(
    """select p.a, p.s, (select avg(c) from t q where q.a = p.a) m from (select a, sum(c) s from t group by a) p
      |where p.s > (select min(c) from t where z = 1)""".stripMargin
  )
  declines("in what is added up", "SINGLE_AGGREGATE")(
    "select a, sum(c * (select count(*) from dim)) s from t group by a"
  )
  shares("in what is added up, beside others")(
    """select x.a, x.s, y.n, z.m from (select a, sum(c * (select count(*) from dim)) s from t group by a) x
      |join (select a, count(*) n from t group by a) y on x.a = y.a join (select a, b, max(c) m from t group by a, b) z on z.a = x.a""".stripMargin
  )
  shares("a key that asks one")(
    """select x.k, x.n, y.m from (select a + (select min(a) from dim) k, count(*) n from t group by 1) x
      |join (select a, b, max(c) m from t group by a, b) y on x.k = y.a join (select z, sum(c) s from t group by z) v on v.z = y.a""".stripMargin
  )
  shares("an input that asks what reads it, too, below a join")(
    """select d.name, sum(x.dev) s, max(y.m) m from (select a, c - (select max(t.c) from t join dim on t.a = dim.a) dev from t) x
      |join dim d on x.a = d.a join (select a, max(c) m from t group by a) y on y.a = x.a
      |join (select a, b, min(c) m from t group by a, b) w on w.a = y.a group by d.name""".stripMargin
  )
  test("an input that asks what reads it") {
    checkSame(
      """select d.name, sum(x.dev) s from (select a, c - (select max(t.c) from t join dim on t.a = dim.a) dev from t) x
        |join dim d on x.a = d.a group by d.name""".stripMargin
    )
    checkSame(
      """with v as (select a, z, sum(c) s from t group by a, z)
        |select a, sum(d) s from (select a, z, s - (select max(s) from v) d from v) group by a
        |union all select z, max(s) from v group by z""".stripMargin
    )
  }
  test("EXISTS whose conditions are no equality") {
    checkSame(
      """select d.a from dim d where exists (select z from t where t.a < d.a group by z having max(n) > 1)
        |and exists (select n from t where t.a < d.a group by n having max(z) > 1)""".stripMargin
    )
  }
  test("HAVING that asks one keeps results from failing") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSame(
        """select a, sum(c) div (max(z) - 2) q from t group by a
          |having max(z) <> 2 and count(*) > (select min(c) from t where z = 1)""".stripMargin
      )
      checkSame(
        """select a, z, sum(c) div max(z) q from t group by grouping sets ((a, z), (a))
          |having max(z) <> 0 and count(*) > (select count(*) from dim where a > 100)""".stripMargin
      )
    }
  }
  declines("IN beside others in the condition of an input", "INPUT_READ_TWICE")(
    """select x.a, x.n, y.m from (select a, count(*) n from t where a in (select a from dim) or z = 1 group by a) x
      |join (select a, b, max(c) m from t where a in (select a from dim) or z = 1 group by a, b) y on x.a = y.a""".stripMargin
  )
  declines("of different tables", "SINGLE_AGGREGATE")(
    "select a, (select max(name) from dim) h, count(*) from t group by a"
  )
  declines("one that plain Spark computes once", "SINGLE_AGGREGATE")(
    "select name, (select sum(c) from t where z = 0) p from dim where a < (select sum(c) from t where z = 0)"
  )
  test("more rows than one: the same error") {
    checkFailsSharedSql("select (select sum(c) from t group by a) p, (select max(c) from t where z = 1) q")
  }
  test("a value that fails in one of them only: the same error") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkFailsSharedSql(
        "select (select sum(1 div (z - 1)) from t where a > 0) p, (select max(c) from t where z = 1) q"
      )
    }
  }
  test("a filter keeps one of them from failing") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql("select (select sum(1 div z) from t where z <> 0) p, (select max(c) from t where z = 0) q")
    }
  }
  test("a result that may fail, of groups that are kept only") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql(
        "select a, sum(c) div (max(z) - 2) q, max(d) / (select count(*) from t) from t group by a having max(z) <> 2"
      )
      checkFailsSharedSql("select a, sum(c) div ((select count(*) from t) - count(*)) from t group by rollup(a)")
    }
  }
  test("subqueries without reuse of exchanges") {
    withConf("spark.sql.exchange.reuse" -> "false") {
      checkDeclinedSql("select a, (select sum(c) from t) s, count(*) from t group by a", "INPUT_READ_TWICE")
    }
  }
}
