package io.phantoms.spark.oracle

import org.apache.spark.sql.functions._
import org.scalatest.funsuite.AnyFunSuite

/** Where unions of groupBys go wrong: columns, constants, nullability of each branch, limits, what stands around. */
trait UnionTraps extends Traps { this: AnyFunSuite =>

  shares("union of equal groupings")(
    "select a, sum(c) v from t group by a union all select a, max(c) from t group by a union all select a, sum(c) from t group by a"
  )
  shares("a global count among grouped ones")(
    "select a, count(*) n from t group by a union all select null, count(*) from t"
  )
  shares("branches told apart by constants")(
    "select 'a' what, cast(a as string) k, count(*) n from t group by a union all select 'b', b, count(*) from t group by b union all select 'all', 'all', count(*) from t"
  )
  shares("constants of different types per branch")(
    "select 1 k, sum(c) v from t group by a union all select 2.5, count(*) from t group by b union all select null, min(by) from t group by z"
  )
  shares("a key of NULLs for other branches")(
    "select a, null b, count(*) n from t group by a union all select null, b, count(*) from t group by b union all select a, b, count(*) from t group by a, b"
  )
  shares("nullability differs by branch")(
    "select n k, count(*) m from t group by n union all select a, count(*) from t group by a union all select 3, count(c) from t"
  )
  shares("nothing may be NULL")(
    "select n k, count(*) m from t group by n union all select n + 1, count(c) from t group by n + 1"
  )
  shares("functions differ by filter only")(
    """select a k, count(*) filter (where z = 0) p, sum(c) filter (where flag) q from t group by a
      |union all select z, count(*) filter (where z > 0), sum(c) filter (where not flag) from t group by z
      |union all select n, count(*), sum(c) from t group by n""".stripMargin
  )
  shares("columns pruned differently")(
    "select k, n from (select a k, count(*) n, sum(c) s from t group by a union all select z, count(*), max(by) from t group by z)"
  )
  shares("only keys are left")(
    "select k from (select a k, count(*) n from t group by a union all select z, count(*) from t group by z)"
  )
  shares("columns swapped")(
    "select n, k from (select a k, count(*) n from t group by a union all select z, count(*) from t group by z)"
  )
  shares("duplicate columns")(
    "select a, a as a2, count(*), count(*) from t group by a union all select z, z, count(*), sum(n) from t group by z"
  )
  shares("cube and groupBy")(
    "select a, b, count(*) n from t group by cube(a, b) union all select z, b, sum(n) from t group by z, b"
  )
  shares("cube and rollup and a global one")(
    "select a, b, grouping_id() g, sum(c) v from t group by cube(a, b) union all select a, dt || '', grouping_id(), max(c) from t group by rollup(a, dt || '') union all select -1, 'all', 99, count(*) from t"
  )
  shares("nested unions")(
    "select * from (select a k, count(*) n from t group by a union all select z, count(*) from t group by z) union all select * from (select n, sum(n) from t group by n union all select by, count(*) from t group by by)"
  )
  shares("a distinct union")(
    "select a k, count(*) > 0 n from t group by a union select z, count(*) > 0 from t group by z"
  )
  shares("distinct branches")("select distinct a from t union all select distinct z from t")
  shares("sums of different views of a column")(
    "select a k, sum(c) v, sum(cast(c as double)) x from t group by a union all select z, sum(c + 1), avg(c) from t group by z"
  )
  shares("an aggregate's result in expressions")(
    "select a k, sum(c) / count(c) r, -max(c) m from t group by a union all select z, avg(c), min(c) * 2 from t group by z"
  )
  shares("having per branch")(
    "select a k, count(*) n from t group by a having sum(c) > 500 union all select z, count(*) from t group by z having z is null or max(c) > 10 union all select null, count(*) from t having count(*) > 1000000"
  )
  shares("a filter above that no branch can take")(
    "select * from (select a k, count(*) n from t group by a union all select z, sum(n) from t group by z) where n > 60 and (k > 0 or n % 2 = 1)"
  )
  shares("a filter above that says a sum is not NULL")(
    "select * from (select n k, count(*) m from t group by n union all select n + 1, sum(c) from t group by n + 1 union all select 9, count(*) from t) where m is not null"
  )
  shares("a filter above on the key becomes another one in each branch")(
    "select * from (select n k, count(*) m from t group by n union all select z, sum(c) from t group by z) where k > 1"
  )
  shares("equal filters below")(
    "select a k, count(*) n from t where c > 10 and flag group by a union all select z, sum(c) from t where c > 10 and flag group by z"
  )
  declines("negative: different tables", "DIFFERENT_INPUTS")(
    "select a k, count(*) n from t group by a union all select a, count(*) from dim group by a"
  )
  shares("a foreign branch stays")(
    "select a k, count(*) n from t group by a union all select a, 1 from dim union all select z, count(*) from t group by z"
  )
  shares("a foreign branch comes first")(
    "select a k, 1L n from dim union all select n, count(*) from t group by n union all select z, count(*) from t group by z"
  )
  shares("two inputs, both shared")(
    "select a k, count(*) n from t group by a union all select length(name), count(*) from dim group by length(name) union all select z, count(*) from t group by z union all select a, sum(a) from dim group by a"
  )
  shares("an empty branch")(
    "select a k, count(*) n from t group by a union all select z, count(*) from t where 1 = 0 group by z union all select z, sum(c) from t group by z"
  )
  shares("an empty global branch")(
    "select a k, count(*) n from t group by a union all select z, count(*) from t group by z union all select 5, count(*) from t where 1 = 0"
  )
  shares("over a join")(
    "with v as (select t.b, name, c, n from t join dim on t.a = dim.a) select b, sum(c) s from v group by b union all select name, max(c) from v group by name"
  )
  shares("over an outer join")(
    "with v as (select t.b, name, c, n from t left join dim on t.a = dim.a) select b, sum(c) s from v group by b union all select name, count(name) from v group by name union all select 'all', count(*) from v"
  )
  shares("over a full outer join with filters above it")(
    "with v as (select t.b, name, c from t full outer join dim on t.a = dim.a where coalesce(c, 0) > -10) select b, sum(c) s from v group by b union all select name, count(name) from v group by name"
  )
  shares("over a union that is pruned to other columns")(
    "with v as (select a, b, c from t where c > 0 union all select z, b, c from t where c <= 0) select b, sum(c) s from v group by b union all select cast(a as string), count(*) from v group by a"
  )
  shares("grouping sets over a union")(
    "with v as (select a, b, c from t where c > 0 union all select z, b, c from t where c <= 0) select a, b, sum(c) s, count(*) from v group by cube(a, b)"
  )
  shares("tumbling windows")(
    "select window(ts, '1 hour').start k, count(*) n from t group by window(ts, '1 hour') union all select window(ts, '1 day').start, sum(c) from t group by window(ts, '1 day')"
  )
  shares("rows of several casts of one key")(
    "select cast(a as bigint) k, count(*) n from t group by a union all select c, count(*) from t group by c union all select cast(by as bigint), count(*) from t group by by"
  )
  test("ORDER BY above a union") {
    checkSharedSql(
      "select a k, 1 b, count(*) n from t group by a union all select z, 2, count(*) from t group by z order by b, k nulls last",
      ordered = true
    )
  }
  shares("LIMIT above a union, counted")(
    "select count(*) from (select a k, count(*) n from t group by a union all select z, count(*) from t group by z limit 4)"
  )
  test("LIMIT above a union gives rows of it") {
    val all = "select a k, count(*) n from t group by a union all select c, sum(c) from t group by c"
    val rows = plain(spark.sql(all)).result.toOption.get.map(Rows.text)
    variants.foreach { v =>
      v.prepare()
      try {
        val some = withConf(v.confs: _*)(shared(spark.sql(s"$all limit 20")))
        assert(some.isShared, some.plan)
        val got = some.result.toOption.get.map(Rows.text)
        assert(got.size == 20, some.plan)
        assert(got.diff(rows).isEmpty)
      } finally v.cleanUp()
    }
  }
  test("union by name with missing columns") {
    val t = spark.table("t")
    checkShared(
      t.groupBy("a").agg(sum("c").as("s"), count("*").as("n"))
        .unionByName(t.groupBy("b").agg(count("*").as("n"), max("x").as("m")), allowMissingColumns = true)
        .unionByName(t.agg(avg("d").as("v")), allowMissingColumns = true)
    )
  }
  test("a DataFrame used twice") {
    val q = spark.table("t").where("c > 0").select(col("a"), (col("c") * 2).as("c2"), col("b"))
    checkShared(
      q.groupBy("a").agg(sum("c2").as("v")).selectExpr("cast(a as string) k", "v")
        .union(q.groupBy("b").agg(max("c2").as("v")))
    )
  }
  test("metadata of columns") {
    val meta = new org.apache.spark.sql.types.MetadataBuilder().putString("comment", "kept").build()
    val t = spark.table("t").withColumn("a", col("a").as("a", meta)).withColumn("z", col("z").as("z", meta))
    checkShared(t.groupBy("a").agg(count("*").as("n")).union(t.groupBy("z").agg(count("*").as("n"))))
    checkShared(t.cube("a", "z").agg(count("*").as("n", meta)))
  }
  declines("negative: nondeterministic input", "NONDETERMINISTIC")(
    "select a, count(*) from t where rand(3) < 0.5 group by a union all select z, count(*) from t where rand(3) < 0.5 group by z"
  )
  shares("a distinct count in a branch")(
    "select a, count(distinct b) n from t group by a union all select z, count(*) from t group by z"
  )
  shares("a branch with a limit, which gets its rows apart from the others")(
    "select a, count(*) n from t group by a union all (select z, count(*) from t group by z order by z limit 1000)"
  )
}
