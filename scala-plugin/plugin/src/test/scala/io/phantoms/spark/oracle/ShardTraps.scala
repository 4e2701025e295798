package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/**
 * Where many filters and many windows of one input go wrong, which have one key each: bits of a signature, values beside
 * the constants that they are compared with, errors and what keeps them from being raised, slices that many windows cut.
 */
trait ShardTraps extends Traps { this: AnyFunSuite =>

  private def union(branches: Seq[String]): String = branches.mkString(" union all ")

  private def under(conditions: String*): String =
    union(conditions.map(c => s"select a k, count(*) n, sum(c) v, max(b) m from t where $c group by a"))

  shares("integers at, before and behind their constants")(
    under("c < 0", "c <= 0", "c > 0", "c >= 0", "c = 0", "0 > c", "c <> 0", "not (c < 100)", "c between -10 and 10")
  )
  shares("constants that no row is near, and all rows of one")(
    under("c < -1000", "c > 1000", "c > -1000", "c = 1001 or c < 3", "n >= 0", "n < 0")
  )
  shares("NULL is not TRUE: comparisons, lists, and what asks for it")(
    under(
      "z = 1",
      "not (z = 1)",
      "z is null",
      "z is not null",
      "z <=> 1",
      "not (z <=> 1)",
      "z in (1, 2)",
      "z not in (1, 2)",
      "z is null or z > 1",
      "not (z is null or z > 1)",
      "z in (0, null)",
      "z <=> null"
    )
  )
  shares("booleans")(
    under("flag", "not flag", "flag is null", "flag = true", "flag <=> false", "flag or c > 10", "flag and c > 10")
  )
  shares("doubles: NaN is the largest, both zeros are one")(
    under(
      "x > 0",
      "x >= 0",
      "x = -0.0D",
      "x < 0.0D",
      "x = double('NaN')",
      "x < double('NaN')",
      "x <= double('NaN')",
      "x > 1e10"
    ) +
      " union all " + under("f > float(0)", "f = float(-0.0)", "f >= float('NaN')", "f in (float(1.5), float(0))")
  )
  shares("decimals, strings, dates, times")(
    under(
      "d > 10.00",
      "d = 10.5",
      "w in (0.0001, 0.0002, 0.0003)",
      "b < 'k1'",
      "b = 'ké1' and d < 50",
      "b in ('k0', 'k2')",
      "b not in ('k0', 'k2')",
      "dt > date'2024-01-02'",
      "dt = date'2024-01-03' and b > 'k1'",
      "ts < timestamp'2000-01-01 00:00:00'",
      "tn >= timestamp_ntz'2024-03-31 01:30:00'",
      "ym = interval '1' month",
      "ds > interval '0' second"
    )
  )
  shares("long lists")(
    under(
      s"c in (${(-20 to 40 by 3).mkString(", ")})",
      s"c not in (${(-20 to 40 by 2).mkString(", ")})",
      s"x in (${(0 to 20).map(i => s"${i}D").mkString(", ")})",
      s"b in (${(0 to 12).map(i => s"'k$i'").mkString(", ")})"
    )
  )
  shares("what no constant is compared with")(
    under(
      "b like 'k%1'",
      "length(b) > c",
      "a = z",
      "a = z and c > 3",
      "c > 3 and b like '%é%'",
      "bin = x'01'",
      "get(r, 0) = 1"
    )
  )
  shares("expressions that several compare")(
    under(
      "c % 7 = 3",
      "c % 7 > 4",
      "c % 7 < 2 and z = 1",
      "x * 2 > 3.0D",
      "x * 2 < 0.0D and flag",
      "upper(b) = 'K1'",
      "upper(b) > 'K1'"
    )
  )
  shares("seventy predicates: two words")(under((0 until 70).map(i => s"c >= ${3 * i - 50} and c < ${5 * i - 20}"): _*))
  shares("bit 63 and the words beside it")(
    union((0 until 66).map(i => s"select z k, count(*) n from t where c = ${i - 1} group by z"))
  )
  shares("one filter twice, and one that says the same in other words")(
    under("c > 10", "c > 10", "10 < c", "c > 11", "c > 12 and z = 1", "z = 1 and c > 12")
  )
  shares("no filter beside many")(under(
    "c > 10",
    "c > 20",
    "c > 30"
  ) + " union all select a, count(*), sum(c), max(b) from t group by a")
  shares("no row, for one and for all")(under("c > 500", "c > 5000", "c < -500") + " union all " + under("c > 0"))
  shares("empty inputs")(
    union((0 until 4).map(i => s"select a k, count(*) n from nothing where c > $i group by a")) + " union all " +
      union((0 until 4).map(i => s"select count(*), sum(c) from none where c > $i"))
  )
  shares("global groups: a row each")(
    union((0 until 5).map(i => s"select count(*) n, sum(c) v, max(b) m from t where c > ${i * 60}"))
  )
  shares("global groups and conditions on their results")(
    union((0 until 5).map(i => s"select count(*) n, sum(c) v from t where c > ${i * 60} having count(*) > ${i * 40}"))
  )
  shares("conditions on results, expressions, other columns")(
    """select a k, sum(c) + 1 v, concat(max(b), 'x') m from t where c > 3 group by a having count(*) > 2
      |union all select a, min(z), min(b) from t where c > 4 group by a having a is not null
      |union all select a * 2, avg(n), null from t where flag group by a
      |union all select null, count(c), max(b) from t where z = 1 group by a""".stripMargin
  )
  shares("several groupings, each with its filters")(
    under("c > 1", "c > 2", "c > 3") + union(
      Seq("", "c > 1", "c > 7", "flag").map(c =>
        if (c.isEmpty) "" else s"select z k, count(*) n, min(c) v, max(b) m from t where $c group by z"
      )
    ) + " union all select n, count(*), max(c), null from t where z = 1 group by n"
  )
  shares("grouping sets")(
    union((0 until 3).map(i => s"select a, z, count(*) n, sum(c) v from t where c > ${10 * i} group by cube(a, z)"))
  )
  shares("FILTER clauses of their own")(
    union((0 until 4).map(i =>
      s"select a k, sum(c) filter (where z = 1) v, count(*) filter (where c > 50) n from t where c > ${10 * i} group by a"
    ))
  )

  shares("conditions on keys, which are asked of groups")(
    under(
      "a > 0",
      "a = 1",
      "a is null",
      "a <> 2 and c > 3",
      "a in (0, 2) and flag",
      "not (a = 1) and a < 3",
      "a <=> null"
    )
  )
  shares("conditions on keys, and none on anything else")(under("a > 0", "a = 1", "a is null", "a + 1 > 2D"))
  shares("conditions on keys that are expressions, of several groupings")(
    """select upper(b) k, count(*) n from t where upper(b) > 'K0' and c > 3 group by upper(b)
      |union all select upper(b), sum(c) from t where upper(b) like '%É%' group by upper(b)
      |union all select b, sum(c) from t where upper(b) like '%É%' and b > 'k0' group by b
      |union all select concat(b, z), sum(z) from t where z > 0 and b < 'k2' group by b, z
      |union all select null, count(*) from t where b > 'k0'""".stripMargin
  )
  shares("zeros of both signs and NaN are one group, and not one value")(
    union(
      Seq(
        "cast(x as string) = '-0.0'",
        "cast(x as string) = '0.0'",
        "x = 0D",
        "x > 1e10",
        "c > 3 and cast(x as string) <> '0.0'"
      )
        .map(c => s"select x k, count(*) n from t where $c group by x")
    )
  )

  shares("a filter of signatures that evaluates once what they have in common, of an input that keeps it") {
    def window(i: Int, condition: String, key: String): String =
      s"""select window.start s, count(*) n from t_cached where $condition
         |group by window(ts, '${3 + i} hours', '${1 + i % 3} hours')$key""".stripMargin
    union(
      (0 until 16).map(i => window(i, s"c > ${i + 3} - z and b like '%$i' or ts < timestamp'${1960 + i}-01-01'", "")) ++
        Seq("flag" -> "a", "c in (1, 2, 3)" -> "z", "ts >= timestamp'1970-01-01'" -> "b").map { case (c, k) =>
          window(2, c, s", $k")
        }
    )
  }

  // Errors: those that plain Spark raises, and none that it does not.
  shares("what each filter guards")(
    """select a k, sum(100 div c) v from t where c > 0 group by a union all select a, sum(100 div c) from t where c < 0 group by a
      |union all select a, sum(100 div c) from t where c = 5 group by a""".stripMargin
  )
  shares("what one filter guards and others do not need")(
    """select a k, sum(100 div c) v from t where c > 0 group by a union all select a, sum(z) from t where c <= 0 group by a
      |union all select a, count(*) from t where c is null group by a""".stripMargin
  )
  shares("keys that filters guard, of several groupings")(
    """select 100 div c k, count(*) n from t where c > 0 group by 100 div c
      |union all select 100 div c, count(*) from t where c < -3 group by 100 div c
      |union all select 100 div c, count(*) from t where c = 7 group by 100 div c
      |union all select a, count(*) from t where z = 1 group by a union all select a, count(*) from t where c = 0 group by a
      |union all select a, sum(10 div n) from t where n > 0 group by a""".stripMargin
  )
  shares("filters that may fail, behind what keeps them from it")(
    under(
      "c <> 0 and 100 div c > 1",
      "c > 0 and 100 div c > 5 and z = 1",
      "c < 0 and b like 'k%' and 100 div c < -7",
      "c > 60"
    )
  )

  /** Row 1 would divide by zero, row 2 would not; `f` of row 1 says what stands beside that. */
  private def fails(name: String, f: String)(conditions: String*): Unit = test(name) {
    val rows = s"(select id k, if(id = 1, 0, 5) c, if(id = 1, $f, true) f from range(1, 3))"
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql(
        union(conditions.map(c => s"select k, count(*) n from $rows where $c group by k")),
        fails = Some("DIVIDE_BY_ZERO")
      )
    }
  }
  fails("a filter that fails", "true")("100 div c > 1", "c > 3", "c > 4")
  fails("a filter that fails, looked up in a list", "true")("100 div c in (1, 20)", "100 div c = 50", "c > 4")
  fails("a filter that fails before FALSE", "false")("100 div c > 1 and f", "c > 3", "c > 4")
  fails("a filter that fails behind what is compared with nothing", "true")(
    "c <= k and 100 div c > 1 and f",
    "c > 3",
    "c > 4"
  )
  for (guard <- Seq("f", "(f or c > k)", "not f", "coalesce(f, false) and k > 0"))
    shares(s"NULL keeps a filter from failing: $guard")(
      union(Seq(s"$guard and 100 div c > 1", "c > 3", "c > 4").map(c =>
        s"select k, count(*) n from (select id k, if(id = 1, 0, 5) c, if(id = 1, null, true) f from range(1, 3)) where $c group by k"
      ))
    )

  // Windows.
  private val edges =
    """(select timestamp_micros(id div 3 * 1000000 + id % 3 - 1) e, int(id % 5) k, id v, if(id % 7 = 0, null, id) o
      |from range(-60, 90))""".stripMargin

  private def windows(of: Seq[(String, String)], key: Boolean = false): String = union(of.map { case (w, condition) =>
    val (column, grouped) = if (key) ("k", ", k") else ("null k", "")
    val where = if (condition.isEmpty) "" else s"where $condition"
    s"select window(e, $w) w, $column, count(*) n, sum(v) s, min(o) m from $edges $where group by window(e, $w)$grouped"
  })

  private val four = Seq(
    "'10 seconds', '4 seconds'",
    "'7 seconds', '3 seconds'",
    "'9 seconds', '2 seconds', '1 second'",
    "'5 seconds', '1 second'"
  )

  shares("windows that cut each other, gaps between some")(windows(four.map(_ -> "")))
  shares("offsets that are no multiple of anything")(
    windows(Seq(
      "'10 seconds', '4 seconds', '333333 microseconds'",
      "'6 seconds', '4 seconds', '-1 second'",
      "'7 seconds', '3 seconds'"
    ).map(_ -> ""))
  )
  shares("windows under one filter each")(windows(four.zip(Seq("v > 0", "v % 2 = 0", "o is not null", "v < 40"))))
  shares("windows by filters")(
    windows(for { w <- four.take(3); c <- Seq("v > 0", "v % 2 = 0", "o is not null", "v > 1000") } yield w -> c)
  )
  shares("windows by filters, with a key")(
    windows(
      for { w <- four.take(3); c <- Seq("v > 0", "v % 2 = 0", "o is not null", "v > 10") } yield w -> c,
      key = true
    )
  )
  shares("twenty windows with a key")(windows(
    (1 to 20).map(i => s"'${7 + 3 * i} seconds', '${2 + i} seconds'" -> ""),
    key = true
  ))
  shares("twenty windows under twenty filters")(
    windows((1 to 20).map(i => s"'${7 + 3 * i} seconds', '${2 + i} seconds'" -> s"v % $i = 0"))
  )
  shares("windows and groupBys without one, under filters")(
    windows(four.zip(Seq("v > 0", "v % 2 = 0", "o is not null", "v < 40")), key = true) + " union all " +
      union((0 until 4).map(i =>
        s"select null, k, count(*), max(v), min(o) from $edges where v > ${10 * i} group by k"
      ))
  )
  shares("rows without a time beside windows")(
    """select window.start s, count(*) n from t where c > 3 group by window(ts, '3 hours', '1 hour')
      |union all select window.start, sum(c) from t where flag group by window(ts, '2 hours', '90 minutes')
      |union all select window.end, sum(z) from t where c < 50 group by window(ts, '5 hours', '2 hours')
      |union all select null, count(*) from t where ts is null
      |union all select null, count(*) from t where c > 70 union all select null, max(z) from t where c > 80""".stripMargin
  )
  for (time <- Seq("9223372036854775807", "9223372036854775000", "-9223372036854775808"))
    test(s"times that windows cannot be computed of: $time") {
      withConf("spark.sql.ansi.enabled" -> "true") {
        val w = Seq("'1 hour', '10 minutes'", "'3 hours', '25 minutes'", "'7 minutes', '3 minutes'")
        checkSharedSql(
          union(w.map(w =>
            s"select window.start s, count(*) n from (select timestamp_micros(id) e from (values ($time), (0L)) as v(id)) group by window(e, $w)"
          )),
          fails = Some("ARITHMETIC_OVERFLOW")
        )
      }
    }
}
