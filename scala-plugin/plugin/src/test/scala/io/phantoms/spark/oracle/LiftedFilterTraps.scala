package io.phantoms.spark.oracle

import io.phantoms.spark.decide.Shared
import io.phantoms.spark.explain.Explanations

import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Union}
import org.scalatest.funsuite.AnyFunSuite

/**
 * Copies of a groupBy, or of a union, of which Spark has pushed a filter of each below: where the filters go wrong on their
 * way up, and down again.
 */
trait LiftedFilterTraps extends Traps { this: AnyFunSuite =>

  private def isSharedOver(sql: String): Boolean = Explanations.explain(spark.sql(sql)).exists {
    case s: Shared => s.workload.base.exists(p => p.isInstanceOf[Aggregate] || p.isInstanceOf[Union])
    case _ => false
  }

  /** Both copies are one. */
  private def lifts(name: String)(sql: String): Unit = test(name) {
    checkSharedSql(sql)
    assert(isSharedOver(sql), s"${Explanations.explain(spark.sql(sql))}\n$sql")
  }

  /** Each reads a copy of its own. */
  private def keepsApart(name: String)(sql: String): Unit = test(name) {
    checkSame(sql)
    assert(!isSharedOver(sql), sql)
  }

  /** Nothing that a filter guards is computed of other rows. */
  private def ansi(name: String, isShared: Boolean)(sql: String): Unit = test(s"ANSI: $name") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      assert(plain(spark.sql(sql)).result.isRight, "what is guarded does not fail by itself")
      checkSame(sql)
      assert(isSharedOver(sql) == isShared, s"${Explanations.explain(spark.sql(sql))}\n$sql")
    }
  }

  private def years(first: String, second: String): String =
    s"""with u as (select a y, b, c, by from t union select z, b, n, sh from t where flag
       |union select t.n, name, t.c, 1 from t left join dim on t.a = dim.a),
       |v as (select y, b, sum(c) s, count(*) k from u group by y, b)
       |select p.b, p.s, q.s, p.k, q.k from (select * from v where $first) p join (select * from v where $second) q on p.b = q.b
       |""".stripMargin

  lifts("two years of a groupBy over a union without duplicates")(years("y = 1", "y = 2"))
  lifts("keys that are NULL")(years("y is null", "y <=> 1"))
  lifts("one year, and all")(years("y = 1", "k > 0"))
  test("no row of a year") {
    checkSame(years("y = 1", "y = 77"))
    assert(isSharedOver(years("y = 1", "y = 77")))
  }
  lifts("ranges that overlap, HAVING as well")(years("y > 0 and s > 3", "y in (0, 1, 2) and k > 1"))
  lifts("more years than filters have keys")(
    """with v as (select y, b, sum(c) s, count(*) k from (select a y, b, c from t union all select z, b, n from t) group by y, b)
      |""".stripMargin +
      (0 until 20).map(i => s"select y, sum(s) s, max(k) k from v where y > ${i - 4} and b > 'k${i % 3}' group by y")
        .mkString(" union all ")
  )
  lifts("a union without a groupBy")(
    """with u as (select a y, b, c from t union all select z, b, sh from t union all select n, name, 5 from t join dim using (a))
      |select b, sum(c) s from u where y = 1 group by b union all select b, max(c) from u where y = 0 group by b""".stripMargin
  )
  lifts("conditions that stay in some branches")(
    """with u as (select a y, b, c from t where c > 3 union all select z, b, sh from t where b is null or n = 1 union all
      |select n, b, c from t)
      |select y, b, sum(c) s from u where y < 2 group by y, b union all select y, b, max(c) from u where y = 2 group by y, b""".stripMargin
  )
  lifts("a branch over nothing")(
    """with u as (select a y, b, c from t union all select z, b, sh from none)
      |select b, sum(c) s from u where y = 1 group by b union all select b, max(c) from u where y is null group by b""".stripMargin
  )
  lifts("dates and decimals of a groupBy")(
    """with v as (select dt, d, z, avg(c) m, count(distinct b) k from t group by dt, d, z)
      |select p.z, p.m, q.k from (select z, max(m + k) m from v where dt > date'2024-01-02' group by z) p
      |full join (select z, sum(k) k from v where dt <= date'2024-01-03' and d < 20 group by z) q on p.z <=> q.z""".stripMargin
  )
  lifts("two keys in one condition")(
    """with v as (select a, z, b, sum(c) s from t group by a, z, b)
      |select b, sum(s) v from v where a < z group by b union all select b, max(s) from v where z <= a or z is null group by b""".stripMargin
  )
  lifts("a key that neither copy hands on")(
    """select b, sum(s) v from (select b, sum(c) s from t where a = 1 group by a, b) group by b
      |union all select b, max(s) from (select b, sum(c) s from t where a = 2 group by a, b) group by b""".stripMargin
  )
  lifts("groupBys of groupBys, on both sides of a join")(
    """with v as (select a, b, z, sum(c) s from t group by a, b, z), w as (select a, z, max(s) m from v group by a, z),
      |j as (select w.a, w.z, w.m, name from w join dim on w.a = dim.a)
      |select name, sum(m) v from j where z = 0 group by name union all select name, min(m) from j where z = 1 group by name""".stripMargin
  )
  lifts("HAVING inside")(
    """with v as (select a, b, sum(c) s, count(*) k from t group by a, b having count(*) > 2)
      |select b, sum(s) v from v where a = 1 group by b union all select b, max(s + k) from v where a > 1 group by b""".stripMargin
  )
  lifts("HAVING inside on decimals, which may be out of range")(
    """with v as (select a, b, sum(d) s, count(*) k from t group by a, b having sum(d) > 0)
      |select b, sum(s) v from v where a = 1 group by b union all select b, max(s) from v where a > 1 group by b""".stripMargin
  )
  lifts("a part, and in a subquery all of it")(
    """with v as (select upper(name) u, b, sum(c) s from t join dim on t.a = dim.a group by 1, 2)
      |select b, sum(s) v from v where b = 'k1' group by b having sum(s) > (select 0.05 * avg(s) from v)""".stripMargin
  )
  test("empty input") {
    val sql =
      """with v as (select y, b, sum(c) s from (select a y, b, c from none union all select z, b, n from none) group by y, b)
        |select p.b, p.s, q.s from (select * from v where y = 1) p full join (select * from v where y = 2) q on p.b = q.b""".stripMargin
    checkSame(sql)
    assert(isSharedOver(sql))
  }
  shares("two groupBys alike, and in two subqueries alike a total under one filter more")(
    Seq("asc", "desc").map { order =>
      s"""(select a, rank() over (order by m $order) r from (select a, avg(d) m from t where z = 1 group by a
         |having avg(d) > (select 0.1 * avg(d) from t where z = 1 and flag is null group by z))) $order""".stripMargin
    }.mkString("select asc.a, desc.a d, asc.r from ", " join ", " on asc.r = desc.r")
  )
  keepsApart("a column that is wider in one branch")(
    """with u as (select a y, b from t union all select c, b from t)
      |select b, count(*) s from u where y = 1 group by b union all select b, max(y) from u where y = 0 group by b""".stripMargin
  )
  test("columns of a union that are one in some branches") {
    checkSame(
      """with u as (select a p, a q, c from t union all select a, z, c from t)
        |select p k, sum(c) s from u where p = 1 group by p union all select q, max(c) from u where q = 1 group by q""".stripMargin
    )
  }
  test("a branch that one of the filters empties") {
    checkSame(
      """with u as (select 1 y, b, c from t union all select a, b, c from t)
        |select b, sum(c) s from u where y = 1 group by b union all select b, max(c) from u where y = 2 group by b""".stripMargin
    )
  }
  keepsApart("a total inside: a row of no row")(
    """select k, count(*) v from (select count(*) k, max(c) m from t where a = 1) group by k
      |union all select m, count(*) from (select count(*) k, max(c) m from t where a = 77) group by m""".stripMargin
  )
  keepsApart("zeros of both signs, and NaN")(
    """with v as (select x, b, sum(c) s from t group by x, b)
      |select b, sum(s) v from v where x = 0.0 group by b union all select b, max(s) from v where isnan(x) group by b""".stripMargin
  )
  keepsApart("a filter of rows, not of groups")(
    """select b, sum(s) v from (select a, b, sum(c) s from t where z = 1 group by a, b) group by b
      |union all select b, max(s) from (select a, b, sum(c) s from t where z = 0 group by a, b) group by b""".stripMargin
  )
  test("grouping sets, windows and limits inside") {
    checkSame(
      """with v as (select a, b, sum(c) s from t group by cube(a, b))
        |select b, sum(s) v from v where a = 1 group by b union all select b, max(s) from v where a is null group by b""".stripMargin
    )
    checkSame(
      """with v as (select a, b, s, rank() over (partition by a order by s, b) r from (select a, b, sum(c) s from t group by a, b))
        |select b, sum(r) v from v where a = 1 group by b union all select b, max(r) from v where a = 2 group by b""".stripMargin
    )
    checkSame(
      """with v as (select a, b, sum(c) s from (select * from t order by c, n, a, b, z limit 50) group by a, b)
        |select b, sum(s) v from v where a = 1 group by b union all select b, max(s) from v where a = 2 group by b""".stripMargin
    )
  }
  ansi("divisions below a union, which the filters guard", isShared = true)(
    """with v as (select y, b, sum(q) s from (select a y, b, 10 div a q from t union all select z, b, 10 div z from t) group by y, b)
      |select p.b, p.s, q.s r from (select * from v where y = 1) p join (select * from v where y = 2) q on p.b = q.b""".stripMargin
  )
  ansi("a division that one copy reads, of groups that it drops", isShared = false)(
    """with v as (select a, b, sum(10 div a) s, max(z) m from t group by a, b)
      |select p.b, p.s, q.m from (select b, sum(s) s from v where a = 1 group by b) p
      |join (select b, max(m) m from v where a = 0 group by b) q on p.b = q.b""".stripMargin
  )
  ansi("a sum out of range that one copy reads, of groups that it drops", isShared = false)(
    """with v as (select a, b, sum(if(a = 2, 9223372036854775807L, 1L)) s, count(*) k from t group by a, b)
      |select p.b, p.s, q.k from (select b, max(s) s from v where a = 1 group by b) p
      |join (select b, max(k) k from v where a = 2 group by b) q on p.b = q.b""".stripMargin
  )
  ansi("a result of groups that neither wants", isShared = true)(
    """with v as (select a, b, sum(if(a = 2, 9223372036854775807L, 1L)) s, 100 div max(a) r from t group by a, b)
      |select p.b, p.s, q.s o from (select b, max(s) s, sum(r) r from v where a = 1 group by b) p
      |join (select b, max(s) s, min(r) r from v where a = -1 group by b) q on p.b = q.b and p.r <> q.r""".stripMargin
  )
  ansi("a condition that may fail above the groups that another one keeps", isShared = false)(
    """with v as (select a, b, max(c) s, max(z) m from t group by a, b)
      |select b, sum(s) v from v where a = 1 and 100 div (m + 5) > 3 group by b
      |union all select b, max(s) from v where a = 2 group by b""".stripMargin
  )
  test("ANSI: an error of groups that both want") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkFailsSharedSql(
        """with v as (select a, b, sum(10 div (z - 1)) s from t group by a, b)
          |select b, sum(s) v from v where a = 1 group by b union all select b, max(s) from v where a >= 1 group by b""".stripMargin
      )
    }
  }
}
