package io.phantoms.spark.oracle

import io.phantoms.spark.Turns

import org.apache.spark.sql.Row
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** Where aggregate functions go wrong when computed from finer ones: overflow, decimals, floats, FILTER, wide rows. */
trait AggregateTraps extends Traps { this: AnyFunSuite =>

  /** Each trap runs in two suites: which of two settings that give the same answer it runs under, the other in the other. */
  protected def side: Int = 0

  private def inEitherMode(body: => Unit): Unit = Turns.some(Seq("true", "false"), 1, side + Turns.slower(2))
    .foreach(ansi => withClue(s"ANSI $ansi: ")(withConf("spark.sql.ansi.enabled" -> ansi)(body)))

  private def view(name: String, schema: StructType, rows: Row*): Unit =
    spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), schema).createOrReplaceTempView(name)

  shares("every function over every number")(
    Seq("a", "c", "d", "w", "x", "f", "by", "sh").map(i => s"sum($i), avg($i), min($i), max($i), count($i)")
      .mkString("select z, n, ", ", ", " from t group by cube(z, n)")
  )
  shares("every function over intervals")(
    "select z, n, sum(ym), avg(ym), min(ym), max(ym), sum(ds), avg(ds), min(ds), max(ds), count(ds) from t group by cube(z, n)"
  )
  shares("minima and maxima of what is no number")(
    "select z, n, min(b), max(b), min(dt), max(dt), min(ts), max(ts), min(tn), max(tn), min(flag), max(flag) from t group by cube(z, n)"
  )
  shares("a boolean aggregate")(
    "select z, n, bool_and(flag), bool_or(flag), every(c > 0), count_if(c > 10) from t group by cube(z, n)"
  )
  shares("count of several columns")(
    "select z, count(a, b), count(b, c, x), count(1), count(null) from t group by cube(z, n)"
  )

  // Functions with buffers of several fields, and of nested types.
  shares("bits")(
    Seq("a", "c", "by", "sh").map(i => s"bit_and($i), bit_or($i), bit_xor($i)")
      .mkString("select z, n, ", ", ", ", bit_xor(c) filter (where z > 0) from t group by cube(z, n)")
  )
  shares("moments")(
    Seq("stddev", "stddev_pop", "variance", "var_pop").map(f => s"$f(a), $f(d), $f(c) filter (where a > 0)")
      .mkString("select z, n, ", ", ", ", count(*) from t group by cube(z, n)")
  )
  shares("moments of two columns")(
    """select z, n, covar_pop(c, a), covar_samp(c, a), regr_count(c, a), regr_sxx(c, a), regr_sxy(c, a), regr_syy(c, a),
      |regr_avgx(c, a) from t group by cube(z, n)""".stripMargin
  )
  test("negative: what divides by a second moment, which is zero or nearly so where all values are equal") {
    // 49 values of 1 in each of two tasks: their mean is not 1 to plain Spark, and their variance not 0.
    view(
      "constant",
      new StructType().add("k", IntegerType).add("j", IntegerType).add("v", IntegerType),
      Seq.tabulate(98)(i => Row(1, i % 2, 1)): _*
    )
    for (
      f <- Seq("skewness(v)", "kurtosis(v)", "corr(v, j)", "regr_r2(v, j)", "regr_slope(j, v)", "regr_intercept(j, v)")
    )
      checkDeclinedSql(s"select k, j, $f from constant group by grouping sets ((k, j), (k), ())", "ORDER_DEPENDENT")
    checkSharedSql("select k, j, stddev(v), var_pop(v), covar_samp(v, j) from constant group by cube(k, j)")
  }
  shares("moments of NaN and infinities, of one value and of none")(
    """select z, n, stddev(x), var_pop(x), stddev(a) filter (where a = 1), covar_samp(a, a) filter (where false), stddev(f)
      |from t group by cube(z, n)""".stripMargin
  )
  test("moments without an answer, as they were before Spark 3.1") {
    withConf("spark.sql.legacy.statisticalAggregate" -> "true") {
      checkSharedSql("select a, n, stddev(c), covar_samp(c, c) from t group by cube(a, n)")
      checkSharedSql("select k, stddev(v) from (select id k, id % 2 j, id v from range(7)) group by cube(k, j)")
    }
  }
  test("negative: moments where floats have to be exact") {
    withConf("spark.phantoms.exactFloatingPoint" -> "true") {
      checkDeclinedSql("select a, stddev(c) from t group by cube(a, b)", "EXACT_FLOATING_POINT")
      checkSharedSql("select a, bit_or(c), max_by(b, b) from t group by cube(a, b)")
    }
  }
  shares("minima and maxima of nested types and bytes")(
    "select z, n, min(bin), max(bin), min(s), max(s), min(r), max(r), max(s.v), min(s) filter (where s.u > 0) from t group by cube(z, n)"
  )
  shares("extremes of nested types with NULLs inside")(
    """select k, j, min(p), max(p), max(q), count(p) from (select id % 3 k, id % 5 j,
      |if(id % 4 = 0, null, named_struct('u', if(id % 3 = 0, null, id), 'v', concat('x', id % 11))) p,
      |array(named_struct('w', id % 7), null, named_struct('w', cast(null as bigint))) q from range(0, 500, 1, 3))
      |group by cube(k, j)""".stripMargin
  )
  // No ties, so that there is one answer.
  private val unique = """(select id % 3 k, id % 5 j, id * 7919 % 1009 o, concat('x', id % 101) b, id % 4 v,
      |named_struct('u', id, 'v', array(id % 3, null)) s, map('m', id) m, cast(id as decimal(30, 2)) w,
      |if(id % 5 = 1, null, id * 31 % 1009) h from range(0, 1000, 1, 3))""".stripMargin
  shares("the value beside the largest one")(
    s"select k, j, max_by(b, o), min_by(v, o), max_by(s, o), min_by(m, o), max_by(w, o), max_by(o, w) from $unique group by cube(k, j)"
  )
  shares("values beside NULLs, and beside values of other types")(
    s"""select k, j, max_by(b, h), min_by(b, h), max_by(h, o), min_by(o, s), max_by(k, struct(h, o)), max_by(b, w) filter
       |(where v = 1), max_by(b, h) filter (where h is null) from $unique group by cube(k, j)""".stripMargin
  )
  test("ties: any of the values beside the largest") {
    val df = spark.sql("select z, n, max_by(c, a) m, max(a) a from t group by cube(z, n)")
    val outcome = shared(df)
    assert(outcome.isShared && outcome.result.isRight)
    val rows = spark.table("t").collect()
    def at(r: org.apache.spark.sql.Row, name: String): Any = r.get(r.fieldIndex(name))
    outcome.result.toOption.get.foreach { g =>
      val tied = rows.filter(r =>
        Seq("z", "n").forall(k => at(g, k) == null || at(r, k) == at(g, k)) && at(r, "a") == at(g, "a")
      )
      assert(tied.exists(r => at(r, "c") == at(g, "m")), s"$g")
    }
  }
  test("negative: a value that may fail, which Spark takes of some rows only") {
    checkDeclinedSql("select a, max_by(1 / n, c) from t where n <> 0 group by cube(a, b)", "UNSUPPORTED_SHAPE")
  }
  test("negative: collated strings, and functions that take rows by their order") {
    checkDeclinedSql("select a, max(b collate unicode_ci) from t group by cube(a, n)", "UNSUPPORTED_INPUT_TYPE")
    checkDeclinedSql("select a, max(struct(b collate unicode_ci)) from t group by cube(a, n)", "UNSUPPORTED_INPUT_TYPE")
    checkDeclinedSql("select a, max_by(n, b collate unicode_ci) from t group by cube(a, n)", "UNSUPPORTED_INPUT_TYPE")
    checkDeclinedSql("select a, max_by(b, n, 1) from t group by cube(a, n)", "UNSUPPORTED_FUNCTION")
    checkDeclinedSql("select a, any_value(n) from (select 1 n, a, b from t) group by cube(a, b)", "ORDER_DEPENDENT")
  }

  // Decimals.
  for (precision <- Seq(1, 4, 7, 8, 10, 11, 14, 15, 17, 18, 19, 27, 28, 29, 37, 38)) {
    val scale = math.min(precision - 1, 4)
    val input = s"cast(d % ${if (precision - scale > 2) 100 else 1} as decimal($precision, $scale))"
    shares(s"decimals of $precision digits")(
      s"select z, n, sum(q), avg(q), min(q), max(q), count(q) from (select z, n, $input q from t) group by cube(z, n)"
    )
  }
  shares("decimal keys that differ in digits only")(
    "select cast(d as decimal(18, 2)) p, cast(d as decimal(19, 2)) q, count(*) from t group by cube(cast(d as decimal(18, 2)), cast(d as decimal(19, 2)))"
  )
  test("a decimal(38) sum that overflows") {
    val nines = new java.math.BigDecimal("9" * 38)
    view(
      "big",
      new StructType().add("k", IntegerType).add("v", DecimalType(38, 0)),
      (Seq.fill(11)(Row(1, nines)) ++ Seq.fill(3)(Row(2, java.math.BigDecimal.ONE)) :+ Row(3, null)): _*
    )
    val sql = "select k, sum(v), count(*) from big group by cube(k)"
    withConf("spark.sql.ansi.enabled" -> "false")(checkSharedSql(sql))
    withConf("spark.sql.ansi.enabled" -> "true")(checkSharedSql(sql, fails = Some("ARITHMETIC_OVERFLOW")))
    inEitherMode(checkSharedSql("select k, try_sum(v), count(*) from big group by cube(k)"))
    inEitherMode(checkSharedSql("select k, try_avg(v), max(v) from big group by cube(k)"))
  }
  test("a decimal sum whose intermediate sums are larger than the sum") {
    val nines = new java.math.BigDecimal("9" * 38)
    view(
      "swing",
      new StructType().add("k", IntegerType).add("v", DecimalType(38, 0)),
      Seq.tabulate(40)(i => Row(i % 2, if (i % 4 < 2) nines else nines.negate())): _*
    )
    withConf("spark.sql.ansi.enabled" -> "false") {
      checkSharedSql("select k, sum(v) is null or abs(sum(v)) >= 0, count(*) from swing group by cube(k)")
    }
  }
  test("a decimal sum of NULLs and of nothing") {
    view(
      "nulls",
      new StructType().add("k", IntegerType).add("v", DecimalType(38, 4)).add("s", DecimalType(5, 1)),
      Row(1, null, null),
      Row(2, null, null),
      Row(2, new java.math.BigDecimal("1.0000"), new java.math.BigDecimal("1.5"))
    )
    inEitherMode(
      checkSharedSql(
        "select k, sum(v), sum(s), avg(v), avg(s), sum(v) filter (where k > 5), sum(s) filter (where k > 5) from nulls group by cube(k)"
      )
    )
  }

  // Overflow of integers.
  test("a long sum that overflows") {
    view(
      "longs",
      new StructType().add("k", IntegerType).add("v", LongType),
      Row(1, Long.MaxValue),
      Row(1, 1L),
      Row(2, 5L),
      Row(null, Long.MaxValue)
    )
    withConf("spark.sql.ansi.enabled" -> "false")(checkSharedSql("select k, sum(v) from longs group by cube(k)"))
    withConf("spark.sql.ansi.enabled" -> "true")(
      checkSharedSql("select k, sum(v) from longs group by cube(k)", fails = Some("ARITHMETIC_OVERFLOW"))
    )
    inEitherMode(checkSharedSql("select k, try_sum(v), count(v) from longs group by cube(k)"))
  }
  test("a sum that overflows in no query, but would in a coarser grouping") {
    view(
      "apart",
      new StructType().add("k", IntegerType).add("j", IntegerType).add("v", LongType),
      Row(1, 1, Long.MaxValue),
      Row(2, 2, 1L),
      Row(3, 3, Long.MaxValue)
    )
    inEitherMode(
      checkSharedSql(
        "select k, j, sum(v) from apart group by grouping sets ((k, j), (k), (j))"
      )
    )
  }
  test("a sum that is asked for in one branch only does not overflow in another") {
    view(
      "onesided",
      new StructType().add("k", IntegerType).add("j", IntegerType).add("v", LongType),
      Row(1, 1, Long.MaxValue),
      Row(2, 1, 1L)
    )
    withConf("spark.sql.ansi.enabled" -> "true")(
      checkSharedSql(
        "select k, sum(v) s from onesided group by k union all select j, count(v) from onesided group by j"
      )
    )
  }
  test("intervals that overflow") {
    view(
      "spans",
      new StructType().add("k", IntegerType).add("v", DayTimeIntervalType()),
      Row(1, java.time.Duration.ofSeconds(9000000000000L)),
      Row(1, java.time.Duration.ofSeconds(9000000000000L)),
      Row(2, java.time.Duration.ofSeconds(1))
    )
    val sql = "select k, sum(v) from spans group by cube(k)"
    checkFailsSharedSql(sql)
  }

  // Errors in inputs.
  test("a division by zero") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql("select a, sum(1 / z) from t group by cube(a, b)", fails = Some("DIVIDE_BY_ZERO"))
      checkSharedSql("select 1 / z, count(*) from t group by cube(1 / z, b)", fails = Some("DIVIDE_BY_ZERO"))
      checkSharedSql("select a, 1 / (count(z) - count(z)) from t group by cube(a, b)", fails = Some("DIVIDE_BY_ZERO"))
    }
    withConf("spark.sql.ansi.enabled" -> "false") {
      checkSharedSql("select a, sum(1 / z) from t group by cube(a, b)")
      checkSharedSql("select 1 / z, count(*) from t group by cube(1 / z, b)")
    }
  }
  test("a division by zero behind a FILTER clause") {
    inEitherMode {
      checkSharedSql("select a, sum(1 / z) filter (where z <> 0), count(*) from t group by cube(a, b)")
      checkSharedSql(
        "select a k, sum(1 / z) filter (where z <> 0) v from t group by a union all select n, count(*) filter (where z = 0) from t group by n"
      )
      checkSharedSql(
        "select a, sum(100 div z) filter (where z > 0), max(c % z) filter (where z > 0) from t group by cube(a, b)"
      )
    }
  }
  test("a division by zero behind a WHERE clause") {
    inEitherMode(checkSharedSql("select 1 / z, sum(1 / z), count(*) from t where z <> 0 group by cube(1 / z, a)"))
  }
  test("a cast that fails") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql("select a, sum(cast(b as int)) from t group by cube(a, z)", fails = Some("CAST_INVALID_INPUT"))
      checkSharedSql("select a, sum(cast(b as int)) filter (where b is null) from t group by cube(a, z)")
    }
    withConf("spark.sql.ansi.enabled" -> "false")(
      checkSharedSql("select a, sum(cast(b as int)) from t group by cube(a, z)")
    )
  }
  test("a short-circuit in an input") {
    inEitherMode {
      checkSharedSql(
        "select a, sum(if(z = 0, 0, 1 / z)), count(case when z <> 0 then 1 / z end) from t group by cube(a, b)"
      )
      checkSharedSql("select if(z = 0, -1, 6 div z) k, count(*) from t group by cube(if(z = 0, -1, 6 div z), a)")
    }
  }
  test("an error in HAVING, for groups that another condition keeps out") {
    withConf("spark.sql.ansi.enabled" -> "true")(
      checkSharedSql("select a, count(*) from t group by cube(a, z) having if(max(z) = 0, false, 4 / max(z) > 1)")
    )
  }

  // FILTER.
  shares("filters that are never true or NULL")(
    "select a, count(*) filter (where z > 100), sum(c) filter (where z is null and null), min(b) filter (where flag) from t group by cube(a, n)"
  )
  shares("one function under several filters")(
    "select a, sum(c), sum(c) filter (where z = 0), sum(c) filter (where z = 1), sum(c) filter (where z > 0 or flag), count(*) filter (where c > 10) from t group by cube(a, n)"
  )

  // Floats.
  shares("NaN and zeros of both signs as keys")("select x, f, count(*), sum(c) from t group by cube(x, f)")
  shares("zeros made by arithmetic as keys")(
    "select x * 0 k, -f l, count(*) from t group by grouping sets ((x * 0), (-f), (x * 0, -f))"
  )
  shares("floats inside keys")(
    "select k, z, count(*) from (select named_struct('p', x, 'q', array(f, -f)) k, z from t) group by cube(k, z)"
  )
  shares("NaN and infinities as inputs")(
    "select z, n, min(x), max(x), min(f), max(f), sum(x), avg(f), count(x) from t group by cube(z, n)"
  )
  test("extreme floats as inputs") {
    view(
      "extreme",
      new StructType().add("k", IntegerType).add("v", DoubleType).add("w", FloatType),
      Row(1, Double.MaxValue, Float.MinPositiveValue),
      Row(1, Double.PositiveInfinity, Float.NegativeInfinity),
      Row(2, Double.NegativeInfinity, -0.0f),
      Row(3, -0.0, Float.NaN),
      Row(4, Double.MinPositiveValue, 0.0f)
    )
    checkSharedSql(
      "select k, sum(v), avg(v), min(v), max(v), sum(w), avg(w), min(w), max(w) from extreme group by cube(k)"
    )
    checkSharedSql("select v, w, count(*) from extreme group by cube(v, w)")
  }
  test("negative: exact floating point") {
    withConf("spark.phantoms.exactFloatingPoint" -> "true") {
      checkDeclinedSql("select a, sum(x) from t group by cube(a, b)", "EXACT_FLOATING_POINT")
      checkSharedSql("select a, sum(c), max(x) from t group by cube(a, b)")
    }
  }

  // char, varchar.
  test("char and varchar columns") {
    spark.sql("drop table if exists chars")
    spark.sql("create table chars (k char(5), v varchar(6), i int) using parquet")
    spark.sql(
      "insert into chars values ('a', 'x ', 1), ('a    ', 'x', 2), ('ab', 'x', 3), (null, null, 4), ('b', '', 5)"
    )
    checkSharedSql("select k, v, count(*), sum(i), max(k), min(v) from chars group by cube(k, v)")
    checkSharedSql("select k, count(*) n from chars group by k union all select v, sum(i) from chars group by v")
    checkSharedSql("select k, v, count(*) from chars where k = 'a' group by rollup(k, v)")
    spark.sql("drop table chars")
    ()
  }

  // Strings.
  test("strings that are long, empty and many") {
    spark.range(3000)
      .selectExpr(
        "if(id % 50 = 0, null, repeat(cast(id % 97 as string), cast(id % 40 as int))) u",
        "concat('same', repeat('é', cast(id % 3 as int))) v",
        "cast(cast(id as string) as binary) y",
        "id"
      )
      .createOrReplaceTempView("texts")
    checkSharedSql("select u, v, min(u), max(v), max(concat(u, v)), count(*) from texts group by cube(u, v)")
    checkSharedSql("select y, v, count(*) from texts group by grouping sets ((y), (v), (y, v))")
    checkSharedSql("select v, min(u), max(u) from texts where id < 0 group by cube(v)")
  }

  // More than 63 null bits.
  test("wide rows") {
    val columns = (0 until 75).map(i => s"if((id + $i) % 7 = 0, null, (id * ${i + 1}) % ${2 + i % 3}) c$i")
    spark.range(0, 300, 1, 3).selectExpr(columns: _*).createOrReplaceTempView("wide")
    val keys = (0 until 70).map(i => s"c$i")
    val sums = (0 until 75).map(i => s"sum(c$i), max(c$i)")
    def list(columns: Seq[String]): String = columns.mkString(", ")
    val queries = Seq(
      // Grouping sets take 64 keys at most; unions take any number.
      s"select ${list(keys)}, count(*) from wide group by ${list(keys)} union all " +
        s"select ${list(keys)}, sum(c0) from wide group by ${list(keys)} union all " +
        s"select ${list(keys.zipWithIndex.map { case (k, i) => if (i % 2 == 0) "null" else k })}, max(c70) from wide " +
        s"group by ${list(keys.indices.filter(_ % 2 == 1).map(keys))}",
      // Few sets: 256 of them are in WideCubeSuite.
      s"select ${list(keys.take(63))}, count(*) from wide group by rollup((${list(keys.take(60))}), " +
        s"${list(keys.slice(60, 63))})",
      s"select c0, c1, ${list(sums.take(40))} from wide group by cube(c0, c1)",
      s"select ${list(keys.take(40))}, ${list(sums.drop(40))} from wide group by grouping sets " +
        s"((${list(keys.take(20))}), (${list(keys.slice(20, 40))}), (${list(keys.take(40))}), ())"
    )
    // The other two in the other suite.
    Turns.some(queries, 2, side + Turns.slower(2)).foreach(checkSharedSql(_))
  }

  test("many groups") {
    spark.range(0, 20000, 1, 3).select(expr("id * 7919 % 5003 k"), expr("id % 911 j"), expr("id % 3 l"), expr("id v"))
      .createOrReplaceTempView("many")
    checkSharedSql("select k, j, l, count(*), sum(v), min(v) from many group by cube(k, j, l)")
  }
}
