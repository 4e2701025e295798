package io.phantoms.spark.oracle

import java.math.BigDecimal
import java.time.{Duration, Period}

import io.phantoms.spark.Turns

import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

/**
 * Sums that leave the range of their type on the way. What plain Spark's additions cannot fail at ours do not, in whatever
 * relations they are made; what they have to fail at ours fail at with the same error. Tables lie in the order in which
 * plain Spark adds them up, so that its answer is always the same.
 */
class RunningTotalsSuite extends EverySecondTest with RandomConfigurationSuite with TestsTakeTurns {
  import RunningTotalsSuite._

  override protected def turns: IndexedSeq[Seq[Variant]] = {
    val random = (1L to 3L).map(RandomConfigurationSuite.variant)
    val last = random(2).copy(label = s"${random(2).label}, interpreted", confs = Seq(interpreted))
    IndexedSeq(Variant("the chooser's", Nil), random.head, random(1), last).map(Seq(_))
  }

  private def view(name: String, slices: Int, t: DataType, rows: Seq[(Int, Int, Any)]): Unit =
    spark.createDataFrame(
      spark.sparkContext.parallelize(rows.map { case (a, c, v) => Row(a, c, v) }, slices),
      new StructType().add("a", IntegerType).add("c", IntegerType).add("v", t)
    ).createOrReplaceTempView(name)

  /** Groups of `a` and of `c` stay in range after every row, those of both only grow. */
  private def swing(name: String, t: DataType, largest: Any, smallest: Any): Unit = view(
    name,
    4,
    t,
    Seq.fill(40)(Seq((1, 1, largest), (1, 2, smallest), (2, 1, smallest), (2, 2, largest))).flatten :+ ((3, 3, null))
  )

  /** By turns, beside the four of the variants. */
  private def inOneMode(turn: Int)(body: => Unit): Unit =
    Turns.some(Seq("true", "false"), 1, turn + Turns.slower(4)).foreach(ansi =>
      withClue(s"ANSI $ansi: ")(withConf("spark.sql.ansi.enabled" -> ansi)(body))
    )

  private val functions = "sum(v), avg(v), try_sum(v), try_avg(v), count(v), max(v), sum(v) filter (where a < 3)"

  for ((name, t, largest, smallest) <- extremes) {
    test(s"$name: a finer grouping leaves the range") {
      swing("swing", t, largest, smallest)
      inOneMode(0)(checkSharedSql(s"select a, c, $functions from swing group by grouping sets ((a), (c))"))
      inOneMode(1) {
        checkSharedSql(
          s"select 'a' k, $functions from swing group by a union all select 'c', $functions from swing group by c " +
            s"union all select 'all', $functions from swing"
        )
      }
    }

    test(s"$name: more than that") {
      val rows = Seq((1, 1, largest), (1, 2, largest), (2, 1, largest), (3, 3, null))
      view("over", 1, t, rows)
      view("apart", 4, t, rows)
      def sets(function: String) = s"select a, c, $function from over group by grouping sets ((a), (c))"
      withConf("spark.sql.ansi.enabled" -> "true") {
        val failing = Seq(
          sets("sum(v)"),
          // Nothing reads the sum of the groups that it is too large for.
          sets("if(count(*) > 1000, sum(v), null)"),
          "select a k, sum(v) s from over group by a having count(*) > 100 or max(c) > 7 " +
            "union all select c, sum(v) from over group by c having count(*) > 100",
          "select '1' k, sum(v) s from over union all select '2', sum(v) from over"
        )
        // Where an average has the range of its total: other averages fail at one value, with an error of their own.
        val averages =
          if (isInterval(t))
            Seq(sets("avg(v)"), "select '1' k, avg(v) s from apart union all select '2', avg(v) from apart")
          else if (t == DecimalType(38, 38)) Seq(sets("avg(v)"))
          else Nil
        (failing ++ averages).foreach(checkFailsSharedSql)
        // Rows of groups that are filtered out before the aggregate are not added up.
        checkSharedSql(s"${sets("sum(v)")} having c is null and a = 2 or c = 3 and a is null")
      }
      for (ansi <- Seq("true", "false")) withConf("spark.sql.ansi.enabled" -> ansi) {
        val sums = if (ansi == "true" || isInterval(t)) "try_sum(v), try_avg(v)" else "sum(v), avg(v), try_sum(v)"
        checkSharedSql(sets(sums))
        checkSharedSql("select '1' k, try_sum(v) s from over union all select '2', try_sum(v) from over")
      }
    }
  }

  test("totals that are out of range in the end", EveryTurn) {
    view("over", 1, LongType, Seq((1, 1, Long.MaxValue), (1, 2, Long.MaxValue), (2, 2, 5L)))
    def sets(function: String) = s"select a, c, $function from over group by grouping sets ((a), (c))"
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkFailsSharedSql(sets("sum(v)"))
      checkSharedSql(sets("try_sum(v)"))
    }
    withConf("spark.sql.ansi.enabled" -> "false")(checkSharedSql(sets("sum(v)")))
  }

  test("several sums, each with a carry of its own") {
    swing("swing", LongType, Long.MaxValue, -Long.MaxValue)
    val sums = Seq("v", "-v", "if(a < 3, v, null)", "v div 3", "a", "v + 0", "sign(v)", "cast(a as tinyint)")
    withConf("spark.sql.ansi.enabled" -> "true") {
      checkSharedSql(
        sums.map(e => s"sum($e)").mkString("select a, c, ", ", ", " from swing group by grouping sets ((a), (c))")
      )
    }
  }

  test("a total in variables leaves 38 digits and comes back; one in rows does not leave") {
    val d = (s: String) => new BigDecimal(s).setScale(38)
    val t = DecimalType(38, 38)
    view("back", 1, t, Seq((1, 1, d("0.6")), (1, 1, d("0.6")), (1, 1, d("-0.6")), (2, 2, d("0.5"))))
    view("tasks", 2, t, Seq((1, 1, d("0.6")), (1, 1, d("0.6"))))
    for (ansi <- Seq("true", "false")) withConf("spark.sql.ansi.enabled" -> ansi) {
      val functions = "sum(v), avg(v), try_sum(v), try_avg(v)"
      checkSharedSql(
        s"select 'sum' k, $functions from back where a = 1 union all select '2', $functions from back where a = 1"
      )
      // The same confs on both sides: plain Spark's own answer hangs on how it runs.
      for (
        conf <- Seq("spark.sql.codegen.wholeStage" -> "true", "spark.sql.codegen.wholeStage" -> "false", interpreted)
      ) {
        withConf(conf) {
          val query = "select 'avg' k, avg(v) s from tasks union all select '2', avg(v) from tasks"
          val (expected, actual) = (plain(spark.sql(query)), shared(spark.sql(query)))
          assert(expected.result.isLeft == (ansi == "true" && conf._2 != "true"))
          assert(actual.isShared)
          same(expected, actual, ordered = false, s"$conf, ANSI $ansi")
        }
      }
    }
  }

  test("a total that comes back in some orders only is what it is in those") {
    val (most, nines) = (Long.MaxValue, new BigDecimal("9" * 38))
    view("longs", 1, LongType, Seq((1, 1, most), (1, 2, most), (1, 3, -most), (2, 2, 5L)))
    view("digits", 1, DecimalType(38, 0), Seq((1, 1, nines), (1, 2, nines), (1, 3, nines.negate), (2, 4, nines)))
    for ((table, total) <- Seq("longs" -> most, "digits" -> nines); ansi <- Seq("true", "false")) {
      withConf("spark.sql.ansi.enabled" -> ansi) {
        val query = s"select a, %s from $table group by grouping sets ((a), (a, c)) having c is null"
        // Rows in this order are what plain Spark fails at, or answers NULL for.
        val inOrder = plain(spark.sql(query.format("sum(v)"))).result
        if (ansi == "true") assert(inOrder == Left("ARITHMETIC_OVERFLOW"))
        val functions = if (ansi == "true" || table == "digits") Seq("sum(v)", "try_sum(v)") else Seq("try_sum(v)")
        for (function <- functions; v <- variants) {
          v.prepare()
          try {
            val found = withConf(v.confs: _*)(shared(spark.sql(query.format(function))))
            assert(found.isShared)
            assert(
              found.result.map(_.collectFirst { case Row(1, s) => s }) == Right(Some(total)),
              s"$function, ${v.label}"
            )
          } finally v.cleanUp()
        }
      }
    }
  }
}

object RunningTotalsSuite {
  private val interpreted = "spark.sql.codegen.factoryMode" -> "NO_CODEGEN"
  private val nines = new BigDecimal("9" * 38)

  /** Their sums fail with ANSI mode and without. */
  private def isInterval(t: DataType): Boolean = t match {
    case _: DayTimeIntervalType | _: YearMonthIntervalType => true
    case _ => false
  }

  /** Values that are in range once, not twice, and their opposites. */
  private val extremes: Seq[(String, DataType, Any, Any)] = Seq(
    ("bigint", LongType, Long.MaxValue, -Long.MaxValue),
    ("decimal(38,10)", DecimalType(38, 10), nines.movePointLeft(10), nines.movePointLeft(10).negate),
    ("decimal(38,38)", DecimalType(38, 38), nines.movePointLeft(38), nines.movePointLeft(38).negate),
    (
      "interval day to second",
      DayTimeIntervalType(),
      Duration.ofSeconds(9000000000000L),
      Duration.ofSeconds(-9000000000000L)
    ),
    ("interval year to month", YearMonthIntervalType(), Period.ofMonths(2000000000), Period.ofMonths(-2000000000))
  )
}
