package io.phantoms.spark.oracle

import io.phantoms.spark.Turns

import org.apache.spark.sql.Row
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/**
 * Where approximate distinct counts go wrong, which are programs of Spark's over words of a record: their results have to be
 * equal, not near.
 */
trait DistinctCountTraps extends Traps { this: AnyFunSuite =>

  /** Which of several errors of one row is met is plain Spark's only compiled and as the chooser has it. */
  protected def asChosen: Boolean = true

  private val columns =
    Seq("a", "b", "c", "d", "w", "x", "f", "flag", "by", "sh", "dt", "ts", "tn", "bin", "ym", "ds", "n", "z")

  private def withAnsi(on: Boolean)(body: => Unit): Unit = withConf("spark.sql.ansi.enabled" -> on.toString)(body)

  shares("of every type")(
    columns.map(c => s"approx_count_distinct($c)").mkString("select a, z, ", ", ", " from t group by cube(a, z)")
  )
  shares("of so many values that registers collide")(
    """select k, j, approx_count_distinct(v), approx_count_distinct(v, 0.2), approx_count_distinct(cast(v as string), 0.1),
      |count(*), sum(v) from (select id % 3 k, id % 7 j, id * 7919 % 60013 v from range(0, 60000, 1, 3))
      |group by grouping sets ((k, j), (k), (j), ())""".stripMargin
  )
  shares("with deviations of several sizes")(
    (Seq("0.39", "0.05", "0.03").map(sd => s"approx_count_distinct(c, $sd)") :+ "approx_count_distinct(b, 0.1)")
      .mkString("select a, n, ", ", ", " from t group by cube(a, n)")
  )
  shares("DISTINCT beside it")(
    "select a, approx_count_distinct(b), count(distinct c) from t group by cube(a, n)"
  )
  shares("of NULLs only, and of nothing")(
    """select a, n, approx_count_distinct(null), approx_count_distinct(if(z > 100, c, null)), approx_count_distinct(c) filter
      |(where z > 100), approx_count_distinct(1) filter (where z is null) from t group by cube(a, n)""".stripMargin
  )
  shares("of zeros of both signs and NaN")(
    "select z, n, approx_count_distinct(x), approx_count_distinct(f), approx_count_distinct(-x) from t group by cube(z, n)"
  )
  shares("of a grouping key, and of expressions of keys")(
    "select a, b, approx_count_distinct(a), approx_count_distinct(upper(b)) from t group by cube(a, b)"
  )
  declines("negative: of arrays, which a column of a batch reads in another way than a row", "UNSUPPORTED_INPUT_TYPE")(
    "select a, n, approx_count_distinct(r) from t group by cube(a, n)"
  )
  declines("negative: of structs", "UNSUPPORTED_INPUT_TYPE")(
    "select a, n, approx_count_distinct(s), approx_count_distinct(struct(r)) from t group by cube(a, n)"
  )
  shares("of collated strings")(
    "select a, n, approx_count_distinct(b collate unicode_ci) from t group by cube(a, n)"
  )
  shares("beside functions of every other kind of buffer")(
    """select a, n, count(*), approx_count_distinct(c), sum(c), sum(w), avg(d), approx_count_distinct(b), max(b), avg(x), max(w),
      |max_by(c, c), bit_xor(c), min(r), try_sum(ds) from t group by cube(a, n)""".stripMargin
  )
  shares("in expressions and conditions")(
    """select a, n, approx_count_distinct(c) * 2 + count(*), approx_count_distinct(b) = 0 from t group by cube(a, n)
      |having approx_count_distinct(c) > 1 and approx_count_distinct(z) < 100""".stripMargin
  )
  shares("in a union of groupings, one of them without")(
    """select a k, approx_count_distinct(c) v from t group by a union all select z, approx_count_distinct(c) from t group by z
      |union all select n, count(*) from t group by n union all select null, approx_count_distinct(b, 0.1) from t""".stripMargin
  )
  shares("in a union with an empty global branch")(
    """select a k, approx_count_distinct(c) v from t group by a union all select 1, approx_count_distinct(c) from t where 1 = 0
      |union all select z, approx_count_distinct(c) from t group by z""".stripMargin
  )
  shares("under conditions of their own")(
    (0 until 4).map(i =>
      s"select $i q, a k, approx_count_distinct(c) v, count(*) m from t where z > ${i - 1} group by a"
    )
      .mkString(" union all ")
  )
  shares("of sliding windows")(
    """select window(ts, '3 hours', '1 hour') w, a, approx_count_distinct(c), count(*), max(b) from t
      |group by window(ts, '3 hours', '1 hour'), a""".stripMargin
  )
  shares("of several sliding windows")(
    Seq("3 hours" -> "1 hour", "4 hours" -> "2 hours").map { case (range, slide) =>
      s"select window(ts, '$range', '$slide').start w, z, approx_count_distinct(c) v from t group by window(ts, '$range', '$slide'), z"
    }.mkString(" union all ")
  )
  shares("of fragments of a group")(
    (0 until 9).map(i =>
      s"approx_count_distinct(c) filter (where c > ${10 * i}), approx_count_distinct(if(c < ${9 * i}, b, null)) m$i"
    ).mkString("select a, ", ", ", ", count(*) from t group by a")
  )
  shares("by several consumers")(
    """with q as (select a, n, approx_count_distinct(c) v, count(*) m from t group by cube(a, n))
      |select l.a, l.v, r.v u from q l join q r on l.a = r.a and l.n is null and r.n = 1
      |where l.v >= (select min(v) from q)""".stripMargin
  )
  shares("aggregated again, and over aggregates")(
    "select k, n, sum(v), approx_count_distinct(m) from (select a k, n, z, approx_count_distinct(c) v, count(*) m from t group by a, n, z) group by cube(k, n)"
  )
  test("with hardly any room for tables") {
    withConf("spark.phantoms.lfta.memory" -> "64k")(
      checkSharedSql(
        """select k, j, l, approx_count_distinct(v), approx_count_distinct(j, 0.02) from (select id % 13 k, id % 17 j, id % 5 l,
          |id * 7919 % 6007 v from range(0, 12000, 1, 3)) group by cube(k, j, l)""".stripMargin
      )
    )
  }
  test("over no row, and over no file") {
    for (t <- Seq("none", "nothing")) {
      checkSharedSql(s"select a, b, approx_count_distinct(c), count(*) from $t group by cube(a, b)")
      checkSharedSql(s"select approx_count_distinct(a) v from $t union all select approx_count_distinct(b) from $t")
    }
  }

  test("what an input or a condition fails with") {
    withAnsi(true) {
      checkSharedSql(
        "select a, approx_count_distinct(1 / z) from t group by cube(a, b)",
        fails = Some("DIVIDE_BY_ZERO")
      )
      checkSharedSql("select a, approx_count_distinct(1 / z) filter (where z <> 0) from t group by cube(a, b)")
      checkSharedSql("select a, approx_count_distinct(if(z = 0, 0, 1 / z)), max(c) from t group by cube(a, b)")
      checkSharedSql(
        "select a, approx_count_distinct(b) filter (where 1 / z > 0) from t group by cube(a, b)",
        fails = Some("DIVIDE_BY_ZERO")
      )
    }
    withAnsi(false)(checkSharedSql("select a, approx_count_distinct(1 / z) from t group by cube(a, b)"))
  }
  if (asChosen) test("of two inputs that fail, Spark evaluates that of expressions first") {
    withAnsi(true)(
      checkSharedSql(
        "select a, approx_count_distinct(cast(concat('x', b) as int)), sum(1 div (z - z)) from t where z is not null and b is not null group by cube(a, n)",
        fails = Some("DIVIDE_BY_ZERO")
      )
    )
  }
  if (asChosen) test("conditions with something in common that may fail, which Spark then evaluates for every row") {
    val by = "from t group by cube(a, b)"
    def filtered(f: String, g: String, more: String): String =
      s"select a, $f filter (where z <> 0 and 1 div z > 0), $g filter (where z <> 0 and 1 div z > -1)$more $by"
    withAnsi(true) {
      // Of functions beside a program, in the projection that updates them, but not of the program's own.
      checkSharedSql(filtered("sum(c)", "max(c)", ", approx_count_distinct(b)"), fails = Some("DIVIDE_BY_ZERO"))
      checkSharedSql(filtered("sum(c)", "approx_count_distinct(c)", ""))
      checkSharedSql(filtered("sum(c)", "max(c)", ""))
    }
  }
  test("a decimal total that Spark keeps in a row beside it") {
    val nines = new java.math.BigDecimal("9" * 38)
    spark.createDataFrame(
      spark.sparkContext.parallelize(Seq.fill(11)(Row(1, nines)), 1),
      new StructType().add("k", IntegerType).add("v", DecimalType(38, 0))
    ).createOrReplaceTempView("wide")
    def global(f: String): String = s"select $f v, approx_count_distinct(v) n from wide"
    for (ansi <- Turns.some(Seq(true, false), 1)) withAnsi(ansi) {
      val sql = s"${global("avg(v)")} union all ${global("max(v)")}"
      if (plain(spark.sql(sql)).result.isLeft) checkFailsSharedSql(sql) else checkSharedSql(sql)
    }
  }
}
