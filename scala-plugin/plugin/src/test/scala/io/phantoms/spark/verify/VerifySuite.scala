package io.phantoms.spark.verify

import io.phantoms.spark.Turns
import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.explain.{Explanations, Text}
import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.physical.{LastExecution, VerifiedExec}

import org.scalatest.funsuite.AnyFunSuite

/** Plain Spark's plan beside the plugin's: whose rows are returned, and what is found when they differ. */
class VerifySuite extends AnyFunSuite with VerifyingSession {
  import WrongSharing._

  private val sets = PluginSession.sets("flows")
  private val union = PluginSession.union("flows")

  private val kinds: Seq[(String, String, Int)] = Seq(
    ("grouping sets", sets, 1),
    ("a union", union, 1),
    ("windows", PluginSession.windows("flows"), 1),
    (
      "sides of a join",
      """select a.k, a.n, b.total from (select k, count(*) n from flows group by k) a
        |join (select k, m, sum(v) total from flows group by k, m) b on a.k = b.k where b.total > 10""".stripMargin,
      2
    ),
    ("distincts", "select k, count(distinct m), sum(distinct v), count(*) from flows group by k", 1),
    ("conditions", s"select k, ${(1 to 9).map(i => s"sum(if(m > $i, v, 0))").mkString(", ")} from flows group by k", 1),
    ("a HAVING", s"select * from ($sets) where n > 30 and k is not null", 1),
    ("no row", PluginSession.sets("flows", "k < 0"), 1),
    ("one row of nothing", PluginSession.union("flows", "k < 0"), 1)
  )

  for (((name, sql, comparisons), i) <- Turns.some(kinds.zipWithIndex, 4)) test(s"equal rows: $name") {
    Turns.some(Seq("true", "false"), 1, i + Turns.slower(2)).foreach { adaptive =>
      withConf("spark.sql.adaptive.enabled" -> adaptive) {
        val found = run(spark.sql(sql))
        assert(found.size == comparisons && found.forall(_.agrees), found.map(_.warning))
        assert(found.forall(v => v.plain == v.shared && v.plainRows == v.sharedRows && v.differingRows == 0))
        assert(found.forall(v => v.query.contains(sql.take(20)) && v.configuration.nonEmpty && v.error.isEmpty))
        assert(found.forall(_.confs(PhantomsConf.Verify.key) == "full"))
        if (comparisons == 1 && name != "a HAVING") assert(found.head.plainRows == spark.sql(sql).count())
      }
    }
  }

  test("a shuffle that several comparisons read runs once") {
    val (_, join, _) = kinds.find(_._1 == "sides of a join").get
    verifying {
      val df = spark.sql(join)
      df.collect()
      val ran = lftas(df.queryExecution.executedPlan).map(_.metrics("rows").value).filter(_ > 0)
      assert(ran == Seq(20000L))
    }
  }

  for (adaptive <- Turns.some(Seq(true, false), 1))
    test(s"a lost row is reported, and plain Spark's rows are returned: $adaptive") {
      withConf("spark.sql.adaptive.enabled" -> adaptive.toString) {
        val found = WrongSharing.during(loses(7))(run(spark.sql(union)))
        val v = only(found)
        assert(v.outcome == Verification.Different && v.differingRows == 1 && v.plainRows == v.sharedRows + 1)
        assert(v.plain != v.shared && v.warning.contains(v.plain) && v.warning.contains(v.shared))
      }
    }

  test("the log has the query and both fingerprints, once") {
    val lines = warnings(WrongSharing.during(loses(7)) {
      verifying {
        spark.sparkContext.setJobDescription("report of the day")
        try spark.sql(union).collect()
        finally spark.sparkContext.setJobDescription(null)
      }
    })
    val v = only(compared())
    val line = only(lines.filter(_.contains("differ")))
    Seq(v.plain, v.shared, "union all select null, m, count(*)", "report of the day", "1 rows at least")
      .foreach(text => assert(line.contains(text)))
    assert(v.description.contains("report of the day") && v.executionId.exists(id => line.contains(s"execution $id")))
  }

  test("an event log keeps what was found") {
    val different = only(WrongSharing.during(loses(7))(run(spark.sql(union))))
    val failed = only(WrongSharing.during(fails)(run(spark.sql(union))))
    Seq(different, failed).foreach(v => assert(ListenerBus.logged(v) == v))
  }

  test("a wrong value, and sums of floats that are wrong by more than their last digits") {
    val count = only(WrongSharing.during(raises(7))(run(spark.sql(union))))
    assert(count.outcome == Verification.Different && (1L to 2L).contains(count.differingRows))
    val floats = "select k, m, sum(v / 7.0D) x, avg(v) y from flows group by grouping sets ((k, m), (k), ())"
    val right = only(WrongSharing.during(stretches(1 + 1e-14))(run(spark.sql(floats))))
    assert(right.agrees, right.warning)
    val wrong = only(WrongSharing.during(stretches(1 + 1e-5))(run(spark.sql(floats))))
    assert(wrong.outcome == Verification.Different && wrong.differingSums == Seq("x") && wrong.differingRows == 0)
  }

  for (adaptive <- Turns.some(Seq(true, false), 1, 1))
    test(s"where the plugin's plan alone fails, rows are plain Spark's: $adaptive") {
      withConf("spark.sql.adaptive.enabled" -> adaptive.toString) {
        val v = only(WrongSharing.during(fails)(run(spark.sql(sets))))
        assert(v.outcome == Verification.Failed && v.error.exists(_.contains("the plugin is broken")))
        assert(v.shared.isEmpty && v.warning.contains("failed where plain Spark's does not"))
      }
    }

  test("plain Spark's error is the query's, whatever the plugin's plan does") {
    val failing = PluginSession.union("(select *, 1 div (v - 5) z from flows)").replace("sum(v)", "sum(z)")
    withConf("spark.sql.ansi.enabled" -> "true") {
      def error: String =
        io.phantoms.spark.oracle.Outcome.errorClass(intercept[Exception](spark.sql(failing).collect()))
      val expected = plain(error)
      verifying {
        assert(isVerified(spark.sql(failing)))
        assert(error == expected && expected.contains("DIVIDE_BY_ZERO"))
        assert(compared().isEmpty)
        assert(WrongSharing.during(fails)(error) == expected)
        assert(compared().isEmpty)
      }
    }
  }

  test("last_execution, metrics and explain say that it was verified") {
    verifying {
      val df = spark.sql(union)
      df.collect()
      val last = LastExecution.of(spark.sparkContext)
      assert(last.verified == compared() && last.verified.size == 1)
      assert(last.get.get._2.map(_.name) == Seq("PhantomsLfta", "PhantomsMerge", "PhantomsVerified"))
      val metrics = verified(df.queryExecution.executedPlan).head.metrics
      assert(metrics("verifiedRows").value == last.verified.head.plainRows && metrics("differences").value == 0)
      assert(Text.render(Explanations.explain(df)).contains("verified: with plain Spark's rows, which are returned"))
    }
    assert(!Text.render(Explanations.explain(spark.sql(union))).contains("verified"))
    spark.sql(union).collect()
    assert(LastExecution.of(spark.sparkContext).verified.isEmpty && !isVerified(spark.sql(union)))
  }

  test("a LIMIT that needs no more leaves the comparison unfinished, and says nothing wrong") {
    verifying {
      val rows = withConf("spark.sql.shuffle.partitions" -> "3")(spark.sql(sets).take(2))
      assert(rows.length == 2)
      val last = LastExecution.of(spark.sparkContext).verified
      assert(compared().isEmpty && last.map(_.outcome) == Seq(Verification.Unfinished))
      // What is sorted is read to its end.
      assert(spark.sql(s"select * from ($sets) order by n desc, total limit 3").collect().length == 3)
      assert(compared().map(_.outcome) == Seq(Verification.Equal))
    }
  }

  test("what Spark itself answers differently each time is not compared, and explain says why") {
    verifying {
      val limited = spark.sql(PluginSession.sets("(select * from flows limit 100)"))
      val said = Text.render(Explanations.explain(limited))
      assert(isShared(limited) && !isVerified(limited))
      assert(said.contains("not verified: ") && said.contains("Limit may let other rows through"), said)
      val ties = "(select * from (select *, row_number() over (order by k) r from flows) where r < 500)"
      Seq(ties, "(select * from flows where rand() < 0.5)").foreach { input =>
        assert(!isVerified(spark.sql(PluginSession.sets(input))))
      }
    }
  }

  test("how closely columns are compared") {
    import ColumnForm._
    def forms(sql: String): Either[String, Seq[ColumnForm]] =
      plain(Comparability.of(spark.sql(sql).queryExecution.optimizedPlan)).map(_.map(_.form))
    def refused(sql: String): String = forms(sql).left.getOrElse("compared")
    val sum = "sum(v / 7.0D)"
    assert(forms("select k, count(*), sum(v), max(s) from flows group by k") == Right(Seq.fill(4)(Exact)))
    assert(forms(s"select $sum, avg(v), stddev(v), cast($sum as string) from flows") ==
      Right(Seq(Rounded, Rounded, Rounded, LeftOut)))
    assert(forms("select max(v / 7.0D), max_by(s, v), min(k) from flows") == Right(Seq(Signless, LeftOut, Exact)))
    assert(
      forms("select k, row_number() over (partition by k order by v) a, rank() over (partition by k order by v) b " +
        "from flows") == Right(Seq(Exact, LeftOut, Exact))
    )
    val below = "select k, sum(v) from flows where v < (select avg(v) from flows) group by k"
    assert(forms(below) == Right(Seq(Exact, Exact)))
    assert(refused(below.replace("v <", "v =")).contains("a condition depends on the order"))
    assert(
      refused(s"select x, count(*) from (select k, $sum x from flows group by k) group by x").contains("groups by")
    )
    assert(refused("select k, count(*) from (select * from flows limit 5) group by k").contains("Limit"))
    assert(refused("select k, count(*) from flows where rand() < 0.5 group by k").contains("not deterministic"))
  }

  test("sample: a part of the plans, and none of those that are only explained") {
    verifying(withConf(PhantomsConf.Verify.key -> "sample", PhantomsConf.VerifyFraction.key -> "0.5") {
      def drawn(): Boolean = isVerified(spark.sql(union))
      val first = Seq.fill(8)(drawn())
      assert(first.count(identity) == 4 && first.grouped(2).map(_.toSet).toSet.size == 1)
      val _ = Explanations.explain(spark.sql(union))
      assert(drawn() == first.head)
      assert(Text.render(Explanations.explain(spark.sql(union))).contains("verified: some runs"))
    })
  }

  test("off: the plan is the one it was") {
    assert(isShared(spark.sql(union)) && !isVerified(spark.sql(union)))
    spark.sql(union).collect()
    assert(compared().isEmpty)
  }

  test("a plan that is optimised once more stays what it is") {
    verifying {
      val once = spark.sql(sets).queryExecution.optimizedPlan
      val again = spark.sessionState.optimizer.execute(once)
      def count(p: org.apache.spark.sql.catalyst.plans.logical.LogicalPlan) = p.collect {
        case v
            if v.nodeName == "PhantomsVerified" => v
      }.size
      assert(count(once) == 1 && count(again) == 1 && sharedIn(again).size == sharedIn(once).size)
    }
  }

  test("operators that hand rows on keep their order and partitioning") {
    verifying {
      val exec = verified(spark.sql(sets).queryExecution.executedPlan).head.asInstanceOf[VerifiedExec]
      assert(exec.outputPartitioning == exec.child.outputPartitioning && exec.output == exec.child.output)
    }
  }
}
