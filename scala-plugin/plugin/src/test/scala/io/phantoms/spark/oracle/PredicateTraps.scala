package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/** Where groupBys under different filters go wrong: NULL, rows of none and of several, what a filter guards, global groups. */
trait PredicateTraps extends Traps { this: AnyFunSuite =>

  shares("two filters")(
    "select a k, count(*) n from t where c > 10 group by a union all select a, count(*) from t where c <= 10 group by a"
  )
  shares("filters that overlap, one in the other, and the same by another grouping")(
    """select a k, count(*) n, sum(c) v, min(b) l from t where c > 10 group by a
      |union all select a, count(*), sum(c), max(b) from t where c > 50 group by a
      |union all select z, count(*), sum(c), max(b) from t where c > 10 and z is not null group by z
      |union all select a, count(c), max(c), min(b) from t where flag group by a""".stripMargin
  )
  // Of NULL these are no more true than others: Spark puts no IsNotNull before them that would stand for one of them.
  shares("filters of which several parts say nothing about keys, each of them something of its own", EveryTurn)(
    """select a k, count(*) n, sum(c) v from t where coalesce(c, 0) < 60 and coalesce(z, 0) > 0 and coalesce(a, 0) > 0 group by a
      |union all select a, count(*), sum(c) from t where coalesce(z, 5) < 2 and coalesce(c, 90) > 30 group by a""".stripMargin
  )
  shares("one without a filter")(
    "select a k, count(*) n from t group by a union all select z, sum(c) from t where c > 2 group by z"
  )
  shares("conditions that are NULL")(
    """select a k, count(*) n from t where flag group by a union all select a, count(*) from t where not flag group by a
      |union all select a, count(*) from t where flag is null group by a
      |union all select a, count(*) from t where (c > 5) <=> null group by a""".stripMargin
  )
  shares("no row for one of them")(
    "select a k, count(*) n from t where c > 1000000 group by a union all select a, count(*) from t where c > 0 group by a"
  )
  shares("no row for any")(
    "select a k, count(*) n from t where c > 1000000 group by a union all select a, count(*) from t where c < -1000000 group by a"
  )
  for (input <- Seq("none", "nothing"))
    shares(s"empty input, $input")(
      s"select a k, count(*) n from $input where c > 1 group by a union all select a, sum(c) from $input where c < 1 group by a"
    )
  shares("global groups: a row each, whatever their filters let through")(
    """select count(*) n, sum(c) v, max(b) m from t where c > 50 union all select count(c), min(c), min(b) from t where c > 1000000
      |union all select count(*), sum(n), max(b) from t""".stripMargin
  )
  shares("global and grouped ones")(
    """select null k, count(*) n from t where c > 1000000 union all select a, count(*) from t where flag group by a
      |union all select null, sum(c) from t where b is null""".stripMargin
  )
  shares("FILTER clauses and conditions on results")(
    """select a k, sum(c) filter (where flag) v from t where z > 0 group by a having count(*) > 2
      |union all select a, sum(c) filter (where not flag) from t where z <= 1 group by a having sum(c) is not null or a = 1""".stripMargin
  )
  shares("lists, ranges and texts")(
    """select b k, count(*) n from t where a in (1, 2, 3) group by b union all select b, count(*) from t where a in (2, 0) group by b
      |union all select b, count(*) from t where b like 'k%' group by b
      |union all select b, count(*) from t where dt between date'2024-01-02' and date'2024-01-03' group by b""".stripMargin
  )
  shares("many filters")((0 until 24).map(i =>
    s"select a k, count(*) n, sum(c) v from t where c >= ${i * 6 - 50} and c < ${i * 7 - 20} group by a"
  ).mkString(" union all "))
  shares("keys and inputs that a filter guards")(
    """select 100 div c k, count(*) n, sum(10 div c) v from t where c <> 0 group by 100 div c
      |union all select a, count(*), sum(10 div n) from t where n > 0 group by a
      |union all select a, count(*), sum(c) from t where c = 0 or n = 0 group by a""".stripMargin
  )
  test("what no filter guards fails as ever") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql(
        "select a k, sum(10 div c) v from t where n >= 0 group by a union all select a, sum(c) from t where c > 0 group by a",
        fails = Some("DIVIDE_BY_ZERO")
      )
    }
  }
  shares("over a join")(
    """select name k, sum(c) s from t left join dim on t.a = dim.a where name is null or c > 10 group by name
      |union all select t.b, count(*) from t left join dim on t.a = dim.a where name > 'b' or c < 20 group by t.b""".stripMargin
  )
  shares("windows under different filters")(
    """select window.start s, a, sum(c) v from t where c > 10 group by window(ts, '2 hours', '1 hour'), a
      |union all select window.start, z, count(*) from t where flag group by window(ts, '2 hours', '1 hour'), z
      |union all select window.start, a, count(*) from t where c < 30 group by window(ts, '3 hours', '45 minutes'), a""".stripMargin
  )

  shares("a filter that may fail")(
    "select a k, count(*) n from t where 100 div (c + 1000) > 1 group by a union all select a, count(*) from t where c > 2 group by a"
  )
  declines("negative: a filter that is not deterministic", "NONDETERMINISTIC")(
    "select a k, count(*) n from t where rand(1) > 0.5 group by a union all select a, count(*) from t where c > 2 group by a"
  )
  declines("negative: other inputs below the filters", "DIFFERENT_INPUTS")(
    "select a k, count(*) n from t where a > 1 group by a union all select a, count(*) from dim where a > 2 group by a"
  )
  test("negative: switched off") {
    withConf("spark.phantoms.predicates.enabled" -> "false") {
      checkDeclinedSql(
        "select a k, count(*) n from t where c > 10 group by a union all select a, count(*) from t where c <= 10 group by a",
        "DISABLED"
      )
    }
  }

  shares("filters on one side of a join")(
    """select name, sum(c) s, count(*) n from t join dim on t.a = dim.a where t.z = 0 group by name
      |union all select name, sum(c), count(*) from t join dim on t.a = dim.a where t.z = 1 group by name""".stripMargin
  )
  shares("filters on different sides of a join, and one in common")(
    """select name, b, sum(c) s from t join dim on t.a = dim.a where t.z = 0 and t.n < 2 group by name, b
      |union all select name, b, max(c) from t join dim on t.a = dim.a where dim.name > 'n1' and t.n < 2 group by name, b
      |union all select name, '-', min(c) from t join dim on t.a = dim.a where dim.name in ('n0', 'n2') and t.n < 2 and t.flag
      |group by name""".stripMargin
  )
  shares("filters below two joins, of columns that only they read")(
    """select d.name, count(*) n from t join dim d on t.a = d.a join dim e on t.z = e.a where e.name = 'n1' and t.sh > 0 group by d.name
      |union all select d.name, count(*) from t join dim d on t.a = d.a join dim e on t.z = e.a where e.name = 'n0' and t.by < 0
      |group by d.name""".stripMargin
  )
  shares("filters on the left of an outer join and of a semi join")(
    """select name, sum(c) s from t left join dim on t.a = dim.a where t.z = 0 group by name
      |union all select name, sum(c) from t left join dim on t.a = dim.a where t.z > 0 and t.c > 10 group by name
      |union all select b, sum(c) from t left semi join dim on t.a = dim.a where t.z > 0 group by b
      |union all select b, sum(c) from t left semi join dim on t.a = dim.a where t.z < 2 group by b""".stripMargin
  )
  declines("filters on the right of an outer join, whose rows then find no partner", "DIFFERENT_INPUTS")(
    """select name, sum(c) s from t left join (select * from dim where name > 'n1') d on t.a = d.a group by name
      |union all select name, sum(c) from t left join (select * from dim where name < 'n3') d on t.a = d.a group by name""".stripMargin
  )
  test("a filter below a join that may fail is asked of rows without a partner, too") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      val sql =
        """select name, sum(c) s from t join (select * from dim where 1 div a > -5) d on t.a = d.a group by name
          |union all select name, sum(c) from t join (select * from dim where a < 3) d on t.a = d.a group by name""".stripMargin
      val expected = plain(spark.sql(sql))
      assert(expected.result.isLeft)
      same(expected, shared(spark.sql(sql)), ordered = false, sql)
      checkDeclinedSql(sql.replace("1 div a", "1 div (a + 1)"), "DIFFERENT_INPUTS")
    }
  }
  test("what may fail above a join is not asked of rows that a filter below it drops") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql(
        """select name, sum(10 div z) s from t join dim on t.a = dim.a where t.z <> 0 group by name
          |union all select name, sum(10 div z) from t join dim on t.a = dim.a where t.z > 1 group by name""".stripMargin
      )
    }
  }
}
