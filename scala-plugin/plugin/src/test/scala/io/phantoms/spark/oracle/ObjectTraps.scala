package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/** Where functions go wrong whose state is an object of any class: percentiles, sets, sketches, users' own. */
trait ObjectTraps extends Traps { this: AnyFunSuite =>

  override def beforeAll(): Unit = {
    super.beforeAll()
    UserAggregators.register(spark)
  }

  /** Which of several errors of one row is met is plain Spark's only compiled and as the chooser has it. */
  protected def asChosen: Boolean = true

  private def withAnsi(on: Boolean)(body: => Unit): Unit = withConf("spark.sql.ansi.enabled" -> on.toString)(body)
  private val cube = "from t group by cube(a, n)"

  shares("percentiles of every type, one and several")(
    (Seq("a", "c", "d", "w", "by", "sh", "z", "ym", "ds").flatMap(c =>
      Seq(s"percentile($c, 0.3)", s"percentile($c, array(0.0, 0.5, 0.77, 1.0))", s"median($c)")
    )).mkString("select b, flag, ", ", ", " from t group by cube(b, flag)")
  )
  shares("percentiles of floats")(
    s"select a, n, percentile(x + 1, 0.3), median(f + 1), percentile(abs(x), array(0.1, 0.9)) $cube"
  )
  shares("percentiles with frequencies, NULL and zero among them")(
    s"select a, n, percentile(c, 0.5, z), percentile(d, array(0.2, 0.8), n), percentile(c, 0.5, 3) $cube"
  )
  shares("percentiles that are continuous and discrete, from either end")(
    s"""select a, n, percentile_cont(0.4) within group (order by c), percentile_cont(0.4) within group (order by c desc),
       |percentile_disc(0.4) within group (order by d), percentile_disc(0.9) within group (order by z desc) $cube""".stripMargin
  )
  shares("the same call with another constant is another function")(
    s"select a, n, percentile(c, 0.1), percentile(c, 0.2), percentile(c, 0.1) + percentile(c, 0.2), median(c) $cube"
  )
  shares("sketches of counts, to the byte")(
    s"select a, n, hex(count_min_sketch(c, 0.3D, 0.9D, 7)), length(count_min_sketch(b, 0.5D, 0.5D, 1)) $cube"
  )
  shares("percentile_approx of few values, exact, of every type")(
    // With NaN among the values, plain Spark's own sketch answers by the order of rows.
    (Seq("a", "c", "d", "abs(nanvl(x, 7D))", "nanvl(f, 7F) + 1F", "dt", "ts", "tn", "ym", "ds").flatMap(c =>
      Seq(s"percentile_approx($c, 0.3)", s"approx_percentile($c, array(0.1D, 0.5D, 0.9D), 5000)")
    )).mkString("select b, flag, ", ", ", " from t group by cube(b, flag)")
  )
  shares("HLL sketches of few values, which are counted")(
    s"""select a, n, hll_sketch_estimate(hll_sketch_agg(a)), hll_sketch_estimate(hll_sketch_agg(b, 5)),
       |hll_sketch_estimate(hll_sketch_agg(bin, 10)) from t group by cube(a, n)""".stripMargin
  )
  shares("estimates of sketches in branches of a union, beside keys and other results, and in conditions")(
    """select a k, hll_sketch_estimate(hll_sketch_agg(b)) + a v, count(*) m from t group by a
      |union all select n + 1, 1 + hll_sketch_estimate(hll_sketch_agg(b)), sum(z) from t group by n + 1
      |having hll_sketch_estimate(hll_sketch_agg(a)) > 2 and count(*) > 1
      |union all select null, hll_sketch_estimate(hll_sketch_agg(flag || 'x')), median(c) from t""".stripMargin
  )
  shares("unions of HLL sketches")(
    """select k, n, hll_sketch_estimate(hll_union_agg(s)), hll_sketch_estimate(hll_union_agg(s, true)) from
      |(select a k, n, by, hll_sketch_agg(z) s from t group by a, n, by) group by cube(k, n)""".stripMargin
  )
  shares("theta sketches of few values, and unions of them")(
    """select k, n, theta_sketch_estimate(theta_union_agg(s)), theta_sketch_estimate(theta_sketch_agg(u)) from
      |(select a k, n, by, max(c) u, theta_sketch_agg(c) s from t group by a, n, by) group by cube(k, n)""".stripMargin
  )
  shares("theta sketches of every type")(
    Seq("a", "b", "c", "x", "f", "bin").map(c => s"theta_sketch_estimate(theta_sketch_agg($c))")
      .mkString("select z, flag, ", ", ", " from t group by cube(z, flag)")
  )
  shares("sets of which only what has no order is asked")(
    s"""select a, n, size(collect_set(c)), sort_array(collect_set(b)), sort_array(collect_set(x), false), array_max(collect_set(d)),
       |array_min(collect_set(dt)), array_contains(collect_set(by), 1Y), size(collect_set(bin)) > 1 $cube""".stripMargin
  )
  shares("sets of every type, as large as they are")(
    Seq("a", "b", "c", "d", "w", "x", "f", "flag", "by", "sh", "dt", "ts", "tn", "bin", "ym", "ds")
      .map(c => s"cardinality(collect_set($c)), sort_array(collect_set($c))")
      .mkString("select z, n, ", ", ", " from t group by cube(z, n)")
  )
  declines("negative: a set whose order shows", "ORDER_DEPENDENT")(
    s"select a, n, collect_set(c), size(collect_set(c)) $cube"
  )
  declines("negative: the first of a set", "ORDER_DEPENDENT")(s"select a, n, collect_set(c)[0] is null $cube")
  declines("negative: a set that is sorted with others", "ORDER_DEPENDENT")(
    s"select a, n, size(array_union(collect_set(c), array(1L))) $cube"
  )
  declines("negative: a set that a condition compares", "ORDER_DEPENDENT")(
    s"select a, n, count(*) $cube having collect_set(c) <> array(1L)"
  )
  shares("users' functions: of a value, of several columns, with a buffer of any class")(
    s"""select a, n, added(coalesce(c, 0L)), spread(x), spread(cast(c as double)).count, longest(b), weighed(c, z),
       |longest(cast(d as string)) $cube""".stripMargin
  )
  shares("users' functions whose buffer is changed when a result is made of it, several results of one group")(
    """select a k, longest(b) v, longest(b) || 'x' u from t group by a union all select a, upper(longest(b)), 'y' from t group by a
      |union all select n, longest(b), 'z' from t group by n union all select null, longest(b), 'g' from t
      |having longest(b) is not null""".stripMargin
  )
  shares("under FILTER clauses")(
    s"""select a, n, percentile(c, 0.5) filter (where z > 0), median(d) filter (where flag), longest(b) filter (where c > 20),
       |added(n) filter (where z is null), percentile(c, 0.5), size(collect_set(c) filter (where x > 0)) $cube""".stripMargin
  )
  shares("of NULLs only, and of nothing")(
    s"""select a, n, percentile(if(z > 100, c, null), 0.5), median(c) filter (where z > 100), longest(null), size(collect_set(b)
       |filter (where z > 100)), percentile_approx(c, 0.5) filter (where z > 100), spread(null), percentile(1, 0.5) $cube""".stripMargin
  )
  shares("of a grouping key, and of expressions of keys")(
    "select a, b, percentile(a, 0.5), longest(upper(b)), median(a + 1), size(collect_set(b)) from t group by cube(a, b)"
  )
  shares("beside functions of every other kind of buffer")(
    s"""select a, n, count(*), percentile(c, 0.4), sum(c), sum(w), avg(d), longest(b), max(b), avg(x), max(w), median(d), max_by(c, c),
       |approx_count_distinct(c), bit_xor(c), min(r), try_sum(ds), size(collect_set(b)) $cube""".stripMargin
  )
  shares("keys of every width beside it")(
    """select b, bin, w, flag, x, percentile(c, 0.5), longest(b) from t
      |group by grouping sets ((b, bin), (w, flag), (x), (b), (b, bin, w, flag, x), ())""".stripMargin
  )
  shares("in expressions and conditions")(
    s"""select a, n, median(c) * 2 + count(*), size(collect_set(b)) = 0 $cube
       |having median(c) > 1 and (longest(b) like 'k%' or count(*) > 3)""".stripMargin
  )
  shares("grouping sets, some of them twice")(
    """select a, b, z, grouping_id(a, b, z), median(c), longest(b) from t
      |group by grouping sets ((a, b), (a, b), (b, z), (a), (), ()) having median(c) is not null""".stripMargin
  )
  shares("in a union of groupings, one of them without")(
    """select a k, median(c) v from t group by a union all select z, median(c) from t group by z
      |union all select n, count(*) from t group by n union all select null, percentile(d, 0.1) from t""".stripMargin
  )
  shares("in a union with an empty global branch")(
    """select a k, median(c) v, longest(b) w from t group by a union all select 1, median(c), longest(b) from t where 1 = 0
      |union all select z, median(c), longest(b) from t group by z""".stripMargin
  )
  shares("in a union with sliding windows, filters of their own and many conditions, none of them of an object")(
    s"""select a k, median(c) v, longest(b) w from t group by a
       |union all select z, median(c), longest(b) from t group by z
       |union all select a, sum(c), max(b) from t where z > 0 group by a
       |union all select a, count(*), min(b) from t where z > 1 group by a
       |union all select a, sum(c), max(b) from t group by a, window(ts, '3 hours', '1 hour')
       |union all select a, ${(0 until 9).map(i => s"sum(c) filter (where c > ${10 * i})").mkString(
        " + "
      )}, min(b) from t group by a"""
      .stripMargin
  )
  shares("of slices and fragments that feed it")(
    """select a, n, median(c) v, max(c) m from t group by cube(a, n)
      |union all select a, n, sum(c), max(c) from t group by a, n, window(ts, '3 hours', '1 hour')
      |union all select a, n, sum(c), max(c) from t group by a, n, window(ts, '4 hours', '2 hours')""".stripMargin
  )
  shares("by several consumers")(
    """with q as (select a, n, median(c) v, longest(b) w, count(*) m from t group by cube(a, n))
      |select l.a, l.v, r.v u, l.w from q l join q r on l.a = r.a and l.n is null and r.n = 1
      |where l.v >= (select min(v) from q)""".stripMargin
  )
  shares("aggregated again, and over aggregates")(
    """select k, n, sum(v), median(m), longest(w) from (select a k, n, z, median(c) v, longest(b) w, count(*) m from t
      |group by a, n, z) group by cube(k, n)""".stripMargin
  )
  shares("beside DISTINCT")("select a, n, median(c), count(distinct b), longest(b) from t group by cube(a, n)")
  shares("DISTINCT itself")(
    "select a, percentile(distinct c, 0.5), count(distinct b), sum(distinct z) from t group by a"
  )
  shares("tumbling windows")(
    """select window(ts, '1 hour') w, a, median(c), longest(b) from t group by grouping sets ((window(ts, '1 hour'), a), (a))"""
  )

  test("with hardly any room for tables") {
    withConf("spark.phantoms.lfta.memory" -> "64k")(
      checkSharedSql(
        """select k, j, l, percentile(v, 0.3), median(j), size(collect_set(v % 11)), added(v) from (select id % 13 k, id % 17 j,
          |id % 5 l, id * 7919 % 6007 v from range(0, 12000, 1, 3)) group by cube(k, j, l)""".stripMargin
      )
    )
  }
  test("over no row, and over no file") {
    for (t <- Seq("none", "nothing")) {
      checkSharedSql(s"select a, b, median(c), longest(b), size(collect_set(c)) from $t group by cube(a, b)")
      checkSharedSql(
        s"select median(c) v, longest(b) w, hex(count_min_sketch(c, 0.5D, 0.5D, 1)) m from $t union all " +
          s"select percentile_approx(c, 0.5), longest('x'), 'n' from $t"
      )
    }
  }
  for (input <- Seq("rows", "cached")) test(s"over $input") {
    OracleTables.use(spark, input)
    try
      checkSharedSql(
        s"""select a, n, percentile(c, 0.4), median(d), longest(b), weighed(c, z), sort_array(collect_set(b)), spread(f),
           |theta_sketch_estimate(theta_sketch_agg(b)), hll_sketch_estimate(hll_sketch_agg(bin)), sort_array(collect_set(bin)) $cube"""
          .stripMargin
      )
    finally OracleTables.use(spark, "parquet")
  }

  test("what an input or a condition fails with") {
    withAnsi(true) {
      val zero = Some("DIVIDE_BY_ZERO")
      checkSharedSql(s"select a, median(1 / z) $cube", fails = zero)
      checkSharedSql(s"select a, longest(cast(1 div z as string)) $cube", fails = zero)
      checkSharedSql(s"select a, median(1 / z) filter (where z <> 0) $cube")
      checkSharedSql(s"select a, size(collect_set(if(z = 0, 0, 1 / z))), max(c) $cube")
      checkSharedSql(s"select a, median(c) filter (where 1 / z > 0) $cube", fails = zero)
    }
    withAnsi(false)(checkSharedSql(s"select a, median(1 / z) $cube"))
  }
  shares("a state that cannot be written before a row has come")(s"select a, latest(b), max(c) $cube")
  declines("a program's result of no row, beside DISTINCT", "UNSUPPORTED_SHAPE")(
    "select count(distinct b), added(c) from t where c > 100000"
  )
  test("what a function itself fails with") {
    checkFailsSharedSql(s"select a, percentile(c, 0.5, -n) $cube")
    checkFailsSharedSql(s"select a, picky(c) $cube")
    checkSharedSql(s"select a, picky(c) filter (where c < 50) $cube")
    checkSharedSql(
      "select a k, picky(c) v from t where c < 50 group by a union all select z, count(*) from t group by z"
    )
    checkSharedSql(
      "select a, picky(c) v from t where a > 100 group by a union all select a, count(*) from t group by a"
    )
  }
  if (asChosen) test("of two inputs that fail, Spark evaluates that of expressions first") {
    withAnsi(true)(
      checkSharedSql(
        "select a, median(cast(concat('x', b) as int)), sum(1 div (z - z)) from t where z is not null and b is not null group by cube(a, n)",
        fails = Some("DIVIDE_BY_ZERO")
      )
    )
  }
  if (asChosen) test("conditions with something in common that may fail") {
    def filtered(f: String, g: String, more: String): String =
      s"select a, $f filter (where z <> 0 and 1 div z > 0), $g filter (where z <> 0 and 1 div z > -1)$more $cube"
    withAnsi(true) {
      for (sql <- Seq(filtered("sum(c)", "max(c)", ", median(c)"), filtered("sum(c)", "median(c)", ""))) {
        if (plain(spark.sql(sql)).result.isLeft) checkFailsSharedSql(sql) else checkSharedSql(sql)
      }
    }
  }

  test("what is near is as near as it promises") {
    val (n, most) = (60000, 60013)
    val ranks = Seq(0.05, 0.5, 0.9)
    val sql = s"""select k, j, percentile_approx(v, array(${ranks.mkString(
        ", "
      )}), 50) p, hll_sketch_estimate(hll_sketch_agg(v)) h,
                 |theta_sketch_estimate(theta_sketch_agg(v)) t from (select id % 3 k, id % 5 j, id * 7919 % $most v
                 |from range(0, $n, 1, 3)) group by cube(k, j)""".stripMargin
    val values = (0L until n).map(i => (i % 3, i % 5, i * 7919 % most))
    variants.foreach { v =>
      v.prepare()
      try {
        val outcome = withConf(v.confs: _*)(shared(spark.sql(sql)))
        assert(outcome.isShared, outcome.plan)
        val rows = outcome.result.fold(fail(_), identity)
        assert(rows.size == 24)
        rows.foreach { row =>
          def is(column: Int, value: Long) = row.isNullAt(column) || row.getLong(column) == value
          val own = values.collect { case (k, j, x) if is(0, k) && is(1, j) => x }
          for ((rank, found) <- ranks.zip(row.getSeq[Long](2))) {
            val (below, upTo) = (own.count(_ < found).toDouble / own.size, own.count(_ <= found).toDouble / own.size)
            assert(below <= rank + 0.04 && upTo >= rank - 0.04, s"$row: $rank")
          }
          for (estimate <- Seq(row.getLong(3), row.getLong(4)))
            assert(math.abs(estimate - own.size) < 0.1 * own.size, row.toString)
        }
      } finally v.cleanUp()
    }
  }

  test("approximate functions are left alone where the session asks for that") {
    withConf("spark.phantoms.approximate.enabled" -> "false") {
      for (
        call <- Seq(
          "percentile_approx(c, 0.5)",
          "hll_sketch_estimate(hll_sketch_agg(c))",
          "theta_sketch_estimate(theta_sketch_agg(a))"
        )
      )
        checkDeclinedSql(s"select n, $call from t group by cube(n, flag)", "DISABLED")
      checkSharedSql(s"select a, median(c), approx_count_distinct(b) $cube")
    }
  }

  // What is not shared says why.
  for (
    (call, code) <- Seq(
      "size(collect_list(c))" -> "ORDER_DEPENDENT",
      "length(listagg(b))" -> "ORDER_DEPENDENT",
      "size(histogram_numeric(c, 3))" -> "UNSUPPORTED_FUNCTION",
      "mode(c) is null" -> "UNSUPPORTED_FUNCTION",
      "length(kll_sketch_agg_bigint(c)) > 0" -> "UNSUPPORTED_FUNCTION",
      "bitmap_count(bitmap_construct_agg(z))" -> "UNSUPPORTED_FUNCTION",
      "size(max_by(c, c, 2))" -> "UNSUPPORTED_FUNCTION",
      "size(approx_top_k(z, 2)) >= 0" -> "UNSUPPORTED_FUNCTION",
      "size(collect_set(r))" -> "UNSUPPORTED_INPUT_TYPE",
      "length(count_min_sketch(c, 0.0001D, 0.99D, 1))" -> "UNSUPPORTED_SHAPE"
    )
  ) declines(s"negative: $call", code)(s"select n, $call from t group by cube(n, flag)")
  declines("negative: sliding windows", "UNSUPPORTED_SHAPE")(
    "select window(ts, '3 hours', '1 hour') w, a, median(c) from t group by window(ts, '3 hours', '1 hour'), a"
  )
}
