package io.phantoms.spark.oracle

import org.scalatest.funsuite.AnyFunSuite

/** Where many conditional aggregates of one groupBy go wrong, which are put together from the fragments of its groups. */
trait MaskTraps extends Traps { this: AnyFunSuite =>

  private def by(keys: String, aggregates: Seq[String], from: String = "t"): String = {
    val shown = (if (keys.isEmpty) Nil else Seq(keys)) ++ aggregates.zipWithIndex.map { case (a, i) => s"$a m$i" }
    s"select ${shown.mkString(", ")} from $from${if (keys.isEmpty) "" else s" group by $keys"}"
  }

  private val conditions = Seq(
    "c > 3",
    "c <= 20",
    "flag",
    "z = 1",
    "b in ('k0', 'k1')",
    "b like 'k%1'",
    "x > 0",
    "d < 50 and c > 0",
    "a = z",
    "dt > date'2024-01-02'"
  )

  shares("FILTER clauses")(by("a", conditions.map(p => s"sum(c) filter (where $p)")))
  shares("counts of what holds, in every form")(
    by(
      "a",
      conditions.flatMap(p =>
        Seq(
          s"count_if($p)",
          s"count(*) filter (where $p)",
          s"count(case when $p then z end)",
          s"count(if($p, 1, null))"
        )
      )
    )
  )
  shares("NULL where a condition does not hold")(
    by("b", conditions.map(p => s"sum(case when $p then c end)") ++ conditions.map(p => s"max(if($p, b, null))"))
  )
  shares("NULL where it does")(by("a", conditions.map(p => s"avg(if($p, null, c))")))
  shares("zero where it does not, and groups with no addend")(
    by(
      "a",
      conditions.map(p => s"sum(case when $p then z else 0 end)") ++
        Seq(
          "sum(case when c > 1000 then z else 0 end)",
          "sum(case when c is null then c else 0 end)",
          "sum(if(a > -9, z, 0))"
        )
    )
  )
  shares("zero of other types")(
    by(
      "z",
      conditions.map(p => s"sum(case when $p then d else 0 end)") ++
        conditions.map(p => s"sum(case when $p then w else 0.0 end)") ++
        conditions.map(p => s"sum(if($p, x, 0D))") ++ conditions.map(p => s"sum(if($p, 1, 0))")
    )
  )
  shares("another value where it does not: least and greatest")(
    by(
      "a",
      conditions.map(p => s"max(case when $p then c else 0 end)") ++ conditions.map(p => s"min(if($p, x, f))") ++
        conditions.map(p => s"max(if($p, b, 'k1'))") ++ conditions.map(p => s"min(if($p, null, d))")
    )
  )
  shares("several cases")(
    by(
      "a",
      conditions.zip(conditions.tail).flatMap { case (p, q) =>
        Seq(
          s"count(case when $p then c when $q then z end)",
          s"max(case when $p then b when $q then null else 'k' end)",
          s"sum(case when $p then null when $q then c else 0 end)",
          s"sum(case when $p then 0 when $q then z end)"
        )
      }
    )
  )
  shares("a condition inside a FILTER clause")(
    by("a", conditions.zip(conditions.tail).map { case (p, q) => s"sum(if($p, c, 0)) filter (where $q)" })
  )
  shares("beside aggregates of all rows")(
    by(
      "a",
      conditions.map(p => s"min(b) filter (where $p)") ++ Seq("count(*)", "sum(x)", "max(d)", "avg(sh)", "min(b)")
    )
  )
  shares("floats, decimals, strings, structs, dates, moments")(
    by(
      "z",
      conditions.flatMap(p =>
        Seq("sum(x)", "avg(d)", "sum(w)", "max(s)", "min(dt)", "max(bin)", "stddev(n)", "min(f)").map(f =>
          s"$f filter (where $p)"
        )
      ).zipWithIndex.collect { case (f, i) if i % 3 == 0 => f }
    )
  )
  shares("several keys, expressions, and results of both")(
    s"""select a, upper(b) k, a * 2 + ${conditions.map(p => s"count_if($p)").mkString(" + ")} n,
       |concat(upper(b), max(b) filter (where c > 7)) m from t group by a, upper(b)""".stripMargin
  )
  shares("a condition on results")(
    by(
      "a",
      conditions.map(p => s"count_if($p)")
    ) + " having count_if(c > 3) > 2 and max(c) filter (where flag) is not null"
  )
  shares("one group")(by("", conditions.map(p => s"sum(c) filter (where $p)")))
  shares("one group of no row")(by("", conditions.map(p => s"sum(if($p, c, 0))") :+ "count(*)", "none"))
  shares("no row")(by("a", conditions.map(p => s"count_if($p)"), "(select * from t where a > 100000)"))
  shares("groups of which no row satisfies a condition")(
    by("a", (0 until 9).map(i => s"sum(c) filter (where c > ${1000 + i})"))
  )
  shares("seventy conditions: two words")(
    by("a", (0 until 70).map(i => s"count_if(c >= ${3 * i - 50} and c < ${5 * i - 20})"))
  )
  shares("one function under a condition twice, and another one")(
    by(
      "a",
      (conditions ++ conditions).map(p => s"sum(c) filter (where $p)") ++ conditions.map(p =>
        s"sum(c + 0D) filter (where $p)"
      )
    )
  )
  shares("aggregates of joined rows, joined")(
    s"""select l.*, r.n from (${by(
        "t.a",
        conditions.map(p =>
          s"count_if(${p.replaceAll("\\b(c|flag|z|b|x|d|a|dt)\\b(?!')", "t.$1")})"
        ),
        "t join (select distinct a from t) u on t.a = u.a"
      ).replace("select t.a", "select t.a k")}) l
       |join (select a, count(*) n from t group by a) r on l.k = r.a""".stripMargin
  )
  shares("what is read of a row where a condition holds may fail, beside much that may not")(
    by(
      "a",
      conditions.map(p => s"count_if($p)") ++ Seq(
        "sum(100 div c) filter (where c > 0)",
        "sum(if(c <> 0, 100 div c, 0))"
      )
    )
  )
  for (ansi <- Seq("true", "false"); (name, big) <- Seq("all of them" -> "true", "one of them" -> "id % 3 = 1"))
    test(s"totals beyond their range of rows that $name want, ANSI $ansi") {
      val rows = s"(select id % 2 k, id, if($big, 9223372036854775000, 1) v from range(60))"
      val asked = (0 until 9).map(i => s"sum(v) filter (where id % 3 <> 1 and id > $i)")
      withConf("spark.sql.ansi.enabled" -> ansi) {
        val fails = Option.when(ansi == "true" && big == "true")("ARITHMETIC_OVERFLOW")
        checkSharedSql(by("k", asked, rows), fails = fails)
        checkSharedSql(
          by("k", asked :+ "sum(v) filter (where id >= 0)", rows),
          fails = Option.when(ansi == "true")("ARITHMETIC_OVERFLOW")
        )
      }
    }
  for (ansi <- Seq("true", "false"))
    test(s"decimals beyond their range, and zero, ANSI $ansi") {
      val most = "9" * 38
      val rows = s"(select id % 2 k, id, if(id < 40, cast($most as decimal(38)), null) v from range(60))"
      withConf("spark.sql.ansi.enabled" -> ansi) {
        checkSharedSql(
          by("k", (0 until 9).map(i => s"sum(if(id > ${30 + i}, v, 0))"), rows),
          fails = Option.when(ansi == "true")("ARITHMETIC_OVERFLOW")
        )
        checkSharedSql(by("k", (0 until 9).map(i => s"sum(if(id > ${40 + i}, v, 0))"), rows))
      }
    }
  shares("conditions that may fail, computed below")(
    by(
      "a",
      (1 to 9).map(i => s"count_if(p$i)"),
      s"(select a, ${(1 to 9).map(i => s"try_divide(100, c) > $i p$i").mkString(", ")} from t)"
    )
  )
  for ((key, value) <- Seq("spark.sql.codegen.factoryMode" -> "NO_CODEGEN", "spark.sql.codegen.wholeStage" -> "false"))
    test(s"interpreted: $key=$value") {
      withConf(key -> value) {
        checkSharedSql(by(
          "b",
          conditions.map(p => s"max(if($p, b, null))") ++ conditions.map(p => s"sum(if($p, d, 0))")
        ))
        checkSharedSql(by("", conditions.map(p => s"avg(x) filter (where $p)"), "none"))
      }
    }
  declines("few conditions", "SINGLE_AGGREGATE")(by("a", conditions.take(7).map(p => s"count_if($p)")))
  shares("conditions of which a part may fail, behind what keeps it from it")(
    by(
      "a",
      (1 to 9).map(i => s"count(*) filter (where c <> 0 and ${100 + i} div c > $i)") ++
        (1 to 3).map(i => s"sum(case when c > 0 and z < $i and ${90 + i} div c > $i and b > 'k0' then c end)") ++
        (1 to 3).map(i => s"sum(if(c <> 0 and b in ('k0', 'k2') and ${80 + i} div c > $i, 1, 0))")
    )
  )
  for ((fails, guard) <- Seq(true -> "c > -1000", false -> "c <> 0"))
    test(s"what several functions read fails, whatever their filters say: $fails") {
      // In one function, plain Spark evaluates it behind the filter.
      val asked = (1 to 9).map(i => s"sum(100 div c) filter (where n > $i and $guard)")
      withConf("spark.sql.ansi.enabled" -> "true") {
        checkSharedSql(by("a", asked, s"(select * from t where $guard)"), fails = Option.when(fails)("DIVIDE_BY_ZERO"))
        checkSharedSql(by("a", asked), fails = Some("DIVIDE_BY_ZERO"))
        checkSharedSql(
          by("a", "sum(100 div c) filter (where c <> 0)" +: (1 to 9).map(i => s"count(*) filter (where n > $i)"))
        )
      }
    }
  declines("conditions that may fail, not in FILTER clauses", "SINGLE_AGGREGATE")(
    by("a", (1 to 9).map(i => s"sum(if(c <> 0 and ${100 + i} div c > $i, 1, 0))"))
  )
  test("what conditions that may fail have in common is evaluated for every row, as by plain Spark") {
    val asked = (1 to 9).map(i => s"count(*) filter (where n > $i)") ++
      (1 to 2).map(i => s"sum(if(c <> 0 and 100 div c > $i, 1, 0))")
    withConf("spark.sql.ansi.enabled" -> "true")(checkSharedSql(by("a", asked), fails = Some("DIVIDE_BY_ZERO")))
    checkSharedSql(by("a", asked.init))
  }

  /**
   * Row 1 would divide by zero, row 2 would not; `f` of row 1 says what stands beside that. A compiled FILTER clause stops at
   * NULL, a CASE goes on, and so does a FILTER clause that is not compiled.
   *
   * @param fails whether plain Spark does, of these three
   */
  private def ofTwoRows(name: String, f: String, fails: (Boolean, Boolean, Boolean))(condition: String): Unit = {
    val rows = s"(select id k, if(id = 1, 0, 5) c, if(id = 1, $f, true) f, id i, string(id) s from range(1, 3))"
    val forms = Seq(
      ("FILTER", Seq(s"count(*) filter (where $condition)"), fails._1),
      ("CASE", Seq(s"sum(case when $condition then i end)"), fails._2),
      ("interpreted FILTER", Seq(s"sum(i) filter (where $condition)", "max(s)"), fails._3)
    )
    for ((form, asked, fails) <- forms)
      test(s"$name: $form") {
        withConf("spark.sql.ansi.enabled" -> "true") {
          val error = Option.when(fails)("DIVIDE_BY_ZERO")
          checkSharedSql(by("k", asked ++ (1 to 8).map(n => s"count_if(i * 2D > $n)"), rows), fails = error)
          checkSharedSql(by("", asked, rows) + " group by cube(k)", fails = error)
        }
      }
  }
  ofTwoRows("a condition behind NULL", "null", fails = (false, true, true))("f and 100 div c > 1")
  ofTwoRows(
    "a condition behind NULL and more",
    "null",
    fails = (false, true, true)
  )("f and k > 0 and 100 div c > 1 and i > 0")
  ofTwoRows("a condition behind FALSE", "false", fails = (false, false, false))("f and 100 div c > 1")
  ofTwoRows("a condition behind NULL and FALSE", "null", fails = (false, false, false))("f and k > 1 and 100 div c > 1")
  ofTwoRows("a condition before FALSE", "false", fails = (true, true, true))("100 div c > 1 and f")
  ofTwoRows("a condition in a list", "true", fails = (true, true, true))("f and 100 div c in (1, 20)")
  ofTwoRows("what is not NULL is asked late", "null", fails = (true, false, false))("f is not null and 100 div c > 1")
  // Under random configurations these are put together from fragments; the chooser takes what is cheaper.
  private val everyForm = conditions.map(p => s"count_if($p)") ++ conditions.map(p => s"sum(c) filter (where $p)") ++
    conditions.map(p => s"sum(if($p, z, 0))") ++ Seq("max(b) filter (where z = 0)", "count(*)", "avg(d)")
  shares("of each set of a cube")(by("a, b", everyForm).replace("group by a, b", "group by cube(a, b)"))
  shares("of sets, one of them without a key, over no row")(
    by("a, z", everyForm, "none").replace("group by a, z", "group by grouping sets ((a, z), (z), ())")
  )
  shares("of sets with grouping ids and a condition")(
    by("a, b, grouping_id() g", everyForm)
      .replace("group by a, b, grouping_id() g", "group by rollup(a, b) having count(*) > 2 and grouping_id() < 3")
  )
  shares("of some branches of a union")(
    by("a", everyForm.take(12)) + " union all " + by("z", everyForm.take(12)) + " union all " +
      by("n", Seq.fill(12)("count(*)")) + " union all " + by(
        "null",
        everyForm.slice(4, 16)
      ).replace(" group by null", "")
  )
  shares("of branches under filters of their own")(
    Seq("z = 0", "c > 10", "a > 0").map(f => by("a", everyForm.take(9), s"(select * from t where $f)")).mkString(
      " union all "
    )
  )
  shares("of both sides of a join")(
    s"select * from (${by("a", everyForm.take(10))}) p join (${by("a, z", everyForm.take(9))}) q on p.a = q.a"
  )
  shares("over windows")(
    s"select window.start, ${everyForm.mkString(", ")} from t group by window(ts, '10 minutes', '5 minutes')"
  )
  test("switched off with the predicates") {
    withConf("spark.phantoms.predicates.enabled" -> "false") {
      checkDeclinedSql(by("a", conditions.map(p => s"count_if($p)")), "DISABLED")
    }
  }
}
