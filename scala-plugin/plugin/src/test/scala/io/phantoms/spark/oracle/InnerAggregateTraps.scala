package io.phantoms.spark.oracle

import io.phantoms.spark.decide.{Decision, Shared}
import io.phantoms.spark.explain.Explanations

import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Union}
import org.scalatest.funsuite.AnyFunSuite

/**
 * Aggregates over an aggregate, or over a union, that is read several times: the optimizer leaves of each copy what is read
 * of it.
 */
trait InnerAggregateTraps extends Traps { this: AnyFunSuite =>

  private def decisions(sql: String): Seq[Decision] = Explanations.explain(spark.sql(sql))

  /** Shared by what reads the aggregate, or the union, that stands inside. */
  private def sharesOver(name: String)(sql: String): Unit = test(name) {
    checkSharedSql(sql)
    assert(isSharedOver(sql), s"${decisions(sql)}\n$sql")
  }

  private def isSharedOver(sql: String): Boolean = decisions(sql).exists {
    case s: Shared => s.workload.base.exists(p => p.isInstanceOf[Aggregate] || p.isInstanceOf[Union])
    case _ => false
  }

  /** Each reads a copy of its own. */
  private def keepsApart(name: String)(sql: String): Unit = test(name) {
    checkSame(sql)
    assert(!isSharedOver(sql), sql)
  }

  private def ansi(name: String)(sql: String): Unit = test(s"ANSI: $name") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      assert(plain(spark.sql(sql)).result.isRight, "what is guarded does not fail by itself")
      checkSame(sql)
    }
  }

  sharesOver("levels of a rollup over a common table expression")(
    """with v as (select a, b, z, n, sum(c) s from t group by a, b, z, n)
      |select a, b, z, n, s from v
      |union all select a, b, z, null, sum(s) from v group by a, b, z
      |union all select a, b, null, null, sum(s) from v group by a, b
      |union all select a, null, null, null, sum(s) from v group by a
      |union all select null, null, null, null, sum(s) from v""".stripMargin
  )
  sharesOver("totals of channels, and of all of them, beside the channels")(
    """with x as (select 'one' channel, 'k' || a id, sum(c) s, sum(sh) r, max(by) p from t group by a
      |union all select 'two', 'l' || name, sum(a), count(*), max(a) from dim group by name),
      |v as (select channel, id, sum(s) s, sum(r) r, sum(p) p from x group by channel, id)
      |select channel, id, s, r, p from v union select channel, null, sum(s), sum(r), sum(p) from v group by channel
      |union select null, null, sum(s), sum(r), sum(p) from v""".stripMargin
  )
  sharesOver("a ratio that only one branch reads")(
    """with v as (select a, b, sum(c) p, sum(n) q, try_divide(sum(c), sum(n)) m from t group by a, b)
      |select m, a, b from v union select try_divide(sum(p), sum(q)), a, null from v group by a
      |union select try_divide(sum(p), sum(q)), null, null from v""".stripMargin
  )
  sharesOver("averages of averages")(
    """with v as (select a, b, z, avg(c) q from t join dim using (a) group by a, b, z)
      |select a, b, z, avg(q) from v group by a, b, z union all select a, b, null, avg(q) from v group by a, b
      |union all select a, null, null, avg(q) from v group by a union all select null, null, null, avg(q) from v""".stripMargin
  )
  sharesOver("ranks over a rollup by hand")(
    """with v as (select a, b, sum(c) s from t group by a, b), u as (
      |select s, a, b, 0 l from v union select sum(s), a, null, 1 from v group by a union select sum(s), null, null, 2 from v)
      |select *, rank() over (partition by l, case when l = 0 then a end order by s desc) r from u""".stripMargin
  )
  sharesOver("an input under an IN of ranks")(
    """with v as (select a, b, sum(c) s from t where z in
      |(select z from (select z, rank() over (order by sum(c)) r from t group by z) where r <= 2) group by a, b)
      |select a, null b, sum(s) s from v group by a union all select null, b, max(s) from v group by b
      |union all select null, null, sum(s) from v""".stripMargin
  )
  sharesOver("HAVING a total of everything, in branches of an inner union")(
    """with u as (select 'x' w, a, b, sum(c) s, count(*) m from t group by a, b having sum(c) > (select avg(c) from t)
      |union all select 'y', z, b, sum(n), count(*) from t group by z, b having sum(n) > (select avg(c) from t)),
      |v as (select w, a, b, sum(s) s, sum(m) m from u group by w, a, b)
      |select w, a, null b, sum(s), sum(m) from v group by w, a union all select w, null, null, sum(s), sum(m) from v group by w
      |union all select null, null, null, sum(s), sum(m) from v""".stripMargin
  )
  sharesOver("aggregates joined inside")(
    """with p as (select a, sum(c) s from t group by a), q as (select z, max(sh) m from t group by z),
      |v as (select a, m, sum(s) s, sum(coalesce(m, 0)) r from p left join q on p.a = q.z group by a, m)
      |select a, null m, sum(s), sum(r) from v group by a union all select null, m, sum(s), sum(r) from v group by m
      |union all select null, null, sum(s), sum(r) from v""".stripMargin
  )
  sharesOver("another function in each branch")(
    """with v as (select a, b, sum(c) s, max(d) m, count(x) k, min(b) l from t group by a, b)
      |select a, sum(s) v from v group by a union all select length(b), count(m) from v group by length(b)
      |union all select k, max(length(l)) from v group by k union all select null, count(*) from v""".stripMargin
  )
  sharesOver("sides of a join")(
    """with v as (select a, b, sum(c) s, max(z) m, count(*) k from t group by a, b)
      |select p.a, p.s, q.b, q.m from (select a, sum(s) s from v group by a) p
      |full join (select b, max(m) m from v group by b) q on p.a = q.m""".stripMargin
  )
  sharesOver("only the keys of one copy")(
    """with v as (select a, b, sum(c) s from t group by a, b)
      |select a, count(*) m from v group by a union all select length(b), sum(s) from v group by length(b)""".stripMargin
  )
  sharesOver("a filter above one copy")(
    """with v as (select a, b, count(*) k, max(c) m, min(z) l from t group by a, b)
      |select a, sum(k) s from v where m > 10 group by a union all select l, count(*) from v group by l""".stripMargin
  )
  sharesOver("filters above both copies")(
    """with v as (select a, b, count(*) k, max(c) m, min(z) l from t group by a, b)
      |select a, sum(k) s from v where m > 10 group by a union all select l, max(k) from v where k > 2 group by l""".stripMargin
  )
  sharesOver("HAVING inside")(
    """with v as (select a, b, sum(c) s, max(d) m, count(*) k from t group by a, b having count(*) > 2 and max(c) > 0)
      |select a, sum(s) v from v group by a union all select length(b), max(m) from v group by length(b)""".stripMargin
  )
  sharesOver("no row inside")(
    """with v as (select a, b, sum(c) s, max(d) m, count(*) k from none group by a, b)
      |select a, sum(s) v from v group by a union all select k, count(m) from v group by k
      |union all select null, sum(k) from v""".stripMargin
  )
  sharesOver("a total inside")(
    """with v as (select sum(c) s, count(*) k, max(z) m from t)
      |select k, sum(s) v from v group by k union all select m, count(*) from v group by m
      |union all select null, max(k) from v""".stripMargin
  )
  sharesOver("a total of no row inside")(
    """with v as (select sum(c) s, count(*) k, max(z) m from none)
      |select k, sum(s) v from v group by k union all select m, count(*) from v group by m""".stripMargin
  )
  sharesOver("an outer join inside: what may be NULL")(
    """with v as (select t.n, dim.name, dim.a, count(*) k, sum(t.n) s, max(dim.a) m from t left join dim on t.a = dim.a
      |group by t.n, dim.name, dim.a)
      |select n, sum(s) v from v group by n union all select a, max(m) from v group by a
      |union all select length(name), sum(k) from v group by length(name)""".stripMargin
  )
  sharesOver("DISTINCT inside")(
    """with v as (select a, b, count(distinct z) d, sum(c) s, max(sh) m from t group by a, b)
      |select a, sum(d) v, max(m) from v group by a union all select length(b), sum(d), sum(s) from v group by length(b)""".stripMargin
  )
  sharesOver("DISTINCT outside, beside branches without")(
    """with v as (select a, b, sum(c) s, max(z) m, count(*) k from t group by a, b)
      |select a, sum(s) v from v group by a union all select length(b), max(m) from v group by length(b)
      |union all select count(distinct k), count(distinct m) + sum(s) from v""".stripMargin
  )
  sharesOver("DISTINCT of a union of copies, and Spark's own approximation")(
    """with v as (select a, b, sum(c) s, max(z) m, count(*) k from t group by a, b)
      |select count(distinct a), sum(distinct w), count(*) from (select a, sum(s) w from v group by a
      |union all select length(b), approx_count_distinct(m) from v group by length(b))""".stripMargin
  )
  sharesOver("DISTINCT on one side of a join of copies")(
    """with v as (select a, b, sum(c) s, max(z) m, count(*) k from t group by a, b)
      |select p.a, p.s, q.d, q.e from (select a, sum(s) s from v group by a) p
      |full join (select m, count(distinct a) d, count(distinct k) e from v group by m) q on p.a = q.m""".stripMargin
  )
  sharesOver("a union with a DISTINCT branch inside")(
    """with u as (select a, count(*) n from t group by a union all select z, max(n) from t group by z
      |union all select length(b), count(distinct a) + count(distinct c) from t group by length(b))
      |select a, sum(n) s from u group by a union all select n, count(*) from u group by n""".stripMargin
  )
  sharesOver("keys with NaN and zeros of both signs, decimals and structs")(
    """with v as (select x, f, d, s, sum(w) u, max(d) m, avg(d) g, count(*) k from t group by x, f, d, s)
      |select x k1, sum(m) v, count(u) from v group by x union all select f, sum(g), count(s) from v group by f
      |union all select null, max(d), sum(k) from v""".stripMargin
  )
  sharesOver("groupBys of groupBys of groupBys")(
    """with u as (select a, b, z, n, sum(c) s, max(sh) m, count(*) k from t group by a, b, z, n),
      |v as (select a, b, z, sum(s) s, max(m) m, sum(k) k from u group by a, b, z)
      |select a, sum(s) v from v group by a union all select z, max(m) from v group by z
      |union all select length(b), sum(k) from v group by length(b)""".stripMargin
  )
  sharesOver("computed keys and columns inside")(
    """with v as (select a + 1 a1, upper(b) ub, sum(c * 2) s, sum(c * 3) s3, count(z) k from t where c > -40 group by a + 1, upper(b))
      |select a1, sum(s) v from v group by a1 union all select length(ub), sum(s3) from v group by length(ub)
      |union all select null, sum(k) from v""".stripMargin
  )
  sharesOver("different columns of a union")(
    """with u as (select a, b, c, sh, z from t where c > 0 union all select z, b, n, by, a from t where n > 0)
      |select a, sum(c) v from u group by a union all select length(b), max(sh) from u group by length(b)
      |union all select z, count(*) from u group by z""".stripMargin
  )
  sharesOver("columns of a union that are one in some branches")(
    """with u as (select a p, a q, z r from t union all select a, z, z from t union all select n, n, 7 from t)
      |select p, count(*) v from u group by p union all select q, sum(r) from u group by q
      |union all select r, sum(p) from u group by r""".stripMargin
  )
  sharesOver("a union of which one branch has no NULL")(
    """with u as (select n p, n q, c from t union all select a, z, sh from t)
      |select p, count(*) v from u group by p union all select q, count(c) from u group by q""".stripMargin
  )
  sharesOver("a union of groupBys under a groupBy")(
    """with u as (select a, b, sum(c) s, max(z) m from t group by a, b union all select a, name, sum(a), max(a) from dim group by a, name),
      |v as (select a, b, sum(s) s, max(m) m, count(*) k from u group by a, b)
      |select a, sum(s) v from v group by a union all select length(b), max(m) from v group by length(b)
      |union all select null, sum(k) from v""".stripMargin
  )
  sharesOver("inside beside the outside, which reads both copies")(
    """with v as (select a, b, sum(c) s, max(z) m from t group by a, b)
      |select a, sum(s) v from v group by a union all select length(b), max(m) from v group by length(b)
      |union all select m, s from v""".stripMargin
  )
  test("an error of a function that one branch reads") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkFailsSharedSql(
        """with v as (select a, b, sum(c) s, sum(1 div (z - 1)) f from t group by a, b)
          |select a, sum(s) v from v group by a union all select length(b), sum(f) from v group by length(b)""".stripMargin
      )
    }
  }
  ansi("a result that a filter guards in one copy")(
    """with v as (select a, b, max(z) m, count(*) k, 10 div max(z) q from t group by a, b)
      |select a, sum(q) v from v where m <> 0 group by a union all select length(b), sum(k) from v group by length(b)""".stripMargin
  )
  ansi("a result that filters guard in both copies")(
    """with v as (select a, b, max(z) m, count(*) k, 10 div max(z) q, 20 div max(z) r from t group by a, b)
      |select a, sum(q) v from v where m <> 0 group by a union all select length(b), sum(r) from v where m > 0 group by length(b)""".stripMargin
  )
  ansi("a result that filters of joined copies guard")(
    """with v as (select a, b, max(z) m, count(*) k, 10 div max(z) q from t group by a, b),
      |w as (select v.*, name from v join dim on v.a = dim.a where m + length(name) <> 2)
      |select a, sum(q) v from w where k + length(name) > 3 and m <> 0 group by a
      |union all select length(b), sum(k) from w where k + length(name) > 4 group by length(b)""".stripMargin
  )
  ansi("what conditions of two functions guard, each in a copy of its own")(
    """with v as (select a, b, sum(1 div z) filter (where z <> 0) p, max(1 div z) filter (where z <> 0 and n > 0) q from t group by a, b)
      |select a, sum(p) v from v group by a union all select length(b), sum(q) from v group by length(b)""".stripMargin
  )
  ansi("what conditions of two columns guard, each in a copy of its own")(
    """with v as (select a, b, sum(case when z <> 0 and 1 div z > 0 then c end) p, max(case when z <> 0 and 1 div z > 0 then n end) q
      |from t group by a, b)
      |select a, sum(p) v from v group by a union all select length(b), sum(q) from v group by length(b)""".stripMargin
  )
  ansi("totals out of range that a filter guards")(
    """with v as (select a, b, max(z) m, count(*) k, sum(w * 1e30) q from t group by a, b)
      |select a, count(q) v from v where m > 5 group by a union all select length(b), sum(k) from v where m > 0 group by length(b)""".stripMargin
  )
  ansi("a division below a join, of rows that find no partner")(
    """with d as (select explode(array(1, 2)) a)
      |select p.a, sum(p.r) v from (select a, z, c div z + 1 r from t) p join d on p.z = d.a group by p.a
      |union all select p.z, sum(p.r) from (select a, z, c div z + 2 r from t) p join d on p.z = d.a group by p.z""".stripMargin
  )
  ansi("a result that HAVING guards, beside a function that is not compiled")(
    """select a, sum(r) v from (select a, z, sum(c) div max(z) r from t group by a, z having max(z) <> 0) group by a
      |union all select z, count(m) from (select a, z, max(b) m from t group by a, z having max(z) <> 0) group by z""".stripMargin
  )
  ansi("what a FILTER guards, beside DISTINCT values and DISTINCT values under a FILTER")(
    """select a, sum(s) + sum(k) v from
      |(select a, z, sum(c / z) filter (where z <> 0) s, count(distinct n, flag) k from t group by a, z) group by a
      |union all select z, cast(sum(k) as double) from
      |(select a, z, count(distinct n) filter (where flag) k from t group by a, z) group by z""".stripMargin
  )
  test("ANSI: conditions in another order, of which one fails") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSame(
        """select a, sum(c) v from t where z <> 0 and c / z > 1 group by a
          |union all select n, sum(c) from t where c / z > 1 and z <> 0 group by n""".stripMargin
      )
      checkSame(
        """select a, n, sum(c) filter (where z <> 0 and c / z > 1) p, sum(c) filter (where c / z > 1 and z <> 0) q
          |from t group by cube(a, n)""".stripMargin
      )
    }
  }
  keepsApart("other groupings inside")(
    """with v as (select a, b, sum(c) s from t group by a, b), w as (select z, b, sum(c) s from t group by z, b)
      |select a, sum(s) v from v group by a union all select z, sum(s) from w group by z""".stripMargin
  )
  keepsApart("filters inside the copies")(
    """select a, sum(s) v from (select a, b, sum(c) s from t where c > 0 group by a, b) group by a
      |union all select length(b), sum(s) from (select a, b, sum(c) s from t where c > 1 group by a, b) group by length(b)""".stripMargin
  )
  keepsApart("DISTINCT in one copy")(
    """with v as (select a, b, count(distinct z) d, sum(c) s from t group by a, b)
      |select a, sum(d) v from v group by a union all select length(b), sum(s) from v group by length(b)""".stripMargin
  )
}
