package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/**
 * What keeps an expression from failing keeps it from that in a shared plan, too: filters below and above a groupBy, the
 * order in which Spark asks their parts, and FILTER clauses. All with ANSI's errors.
 */
class GuardsSuite extends AnyFunSuite with TrapTables {
  override protected def variants: Seq[Variant] = Seq(Variant("auto", Nil))

  override protected def createTables(): Unit = {
    super.createTables()
    val files = java.nio.file.Files.createTempDirectory("phantoms-guards").resolve("g").toString
    spark.sql(
      """select int(id % 3) k, int(id % 4) x, int(id % 5) w, cast(null as int) y, if(id = 7, null, int(id % 2)) z,
        |if(id = 7, 0, 1 + int(id % 3)) c, concat('s', id % 4) s, bigint(id) v, id = 7 f,
        |if(id = 20, date'+300000-01-01', date_add(date'2024-01-01', int(id))) d, timestamp_seconds(id) ts, id
        |from range(40)""".stripMargin
    ).write.parquet(files)
    spark.read.parquet(files).createOrReplaceTempView("g")
  }

  private def checked(name: String, fails: Option[String] = None)(sql: String): Unit = test(name) {
    withConf("spark.sql.ansi.enabled" -> "true")(checkSharedSql(sql, fails = fails))
  }

  // One input read twice by a function, or by two, is computed before the functions, for every row.
  checked("a WHERE before an average")(
    "select k, avg(10/x) v from g where x <> 0 group by k union all select k, count(*) from g group by k"
  )
  checked("a WHERE before functions with an input in common")(
    "select k, sum(10 div x) v, max(10 div x) m from g where x > 0 group by k union all select k, count(*), 0 from g group by k"
  )
  checked("several WHEREs, bits of a signature")(
    (0 to 3).map(i => s"select k, avg(10/(x - $i)) v, sum(v) t from g where x > $i group by k").mkString(" union all ")
  )
  checked("a WHERE before an average of a side of a join")(
    """select l.k, l.v, r.n from (select k, avg(10/x) v from g where x <> 0 group by k) l
      |join (select k, count(*) n from g group by k) r on l.k = r.k""".stripMargin
  )
  checked("a WHERE before a FILTER that may fail, and NULL")(
    """select count(*) filter (where 10/x > 1) n from g where y > 0 or z > 0
      |union all select count(*) from g where w > 3""".stripMargin
  )
  checked("the same by keys")(
    """select k, sum(v) filter (where 10/c > 1) n from g where y > 0 or z >= 0 group by k
      |union all select k, count(*) from g where w > 3 group by k""".stripMargin
  )

  // Results are computed of groups that stay.
  checked("HAVING above grouping sets")(
    "select k, w, sum(v)/sum(x) q from g group by cube(k, w) having sum(x) <> 0 and sum(v) / sum(x) > 1"
  )
  checked("HAVING above groupBys that are joined")(
    """select l.k, q, n from (select k, id % 9 m, 100 / sum(x) q from g group by k, id % 9 having sum(x) > 0) l
      |join (select k, count(*) n from g group by k) r on l.k = r.k""".stripMargin
  )
  checked("HAVING above windows")(
    """select window(ts, '6 seconds', '2 seconds') t, x, 100 / sum(c - 1) q from g where x is not null
      |group by window(ts, '6 seconds', '2 seconds'), x having sum(c - 1) <> 0""".stripMargin
  )
  checked("nothing keeps a result from failing", fails = Some("DIVIDE_BY_ZERO"))(
    "select k, w, 100 / sum(x - x) q from g group by cube(k, w) having sum(v) >= 0"
  )

  // Filters that are evaluated with the keys ask their parts as Spark's do.
  checked("behind NULL nothing is asked")(
    "select k, w, sum(v) from g where (y > 0 or z >= 0) and 100 div c > 1 group by cube(k, w)"
  )
  checked("what is asked first fails first", fails = Some("DIVIDE_BY_ZERO"))(
    "select k, w, sum(v) from g where 100 div c > 1 and z > 0 group by cube(k, w)"
  )

  // What Spark compiles, and what it does not.
  checked("more FILTER clauses than a stage's code has columns")(
    "select k, " + (0 until 110).map(i => s"sum(10 div x) filter (where x <> 0 and v > $i) m$i").mkString(", ") +
      " from g group by k union all select k, " + (0 until 110).map(i => s"sum(v) m$i").mkString(
        ", "
      ) + " from g group by k"
  )

  // What FILTER clauses have in common is evaluated for every row then, whatever stands before it in each of them.
  private def manyFilters(condition: Int => String, input: String) =
    "select k, " + (0 until 12).map(i => s"sum(v) filter (where ${condition(i)}) m$i").mkString(", ") +
      s" from $input group by k"

  private def beyondStages(name: String, fails: Option[String] = None)(sql: String): Unit = test(name) {
    withConf("spark.sql.ansi.enabled" -> "true", "spark.sql.codegen.maxFields" -> "9")(
      checkSharedSql(sql, fails = fails)
    )
  }
  beyondStages("an expression that may fail and that many FILTER clauses beyond a stage's code have in common")(
    manyFilters(i => s"id % ${i + 2} = 1 and 100 div c > ${20 * (i % 4)}", "(select * from g where c > 0)")
  )
  beyondStages("it fails for rows that no clause asks about it", fails = Some("DIVIDE_BY_ZERO"))(
    manyFilters(i => s"not f and 100 div c > ${8 * i}", "g")
  )
  beyondStages("nested in another one", fails = Some("DIVIDE_BY_ZERO"))(
    manyFilters(i => s"not f and abs(100 div c - 10) > ${8 * i}", "g")
  )
  checked("in a stage's code it is not: each clause guards its own")(
    manyFilters(i => s"not f and 100 div c > ${8 * i}", "g")
  )
}
