package io.phantoms.spark.tpcds

import scala.collection.mutable

import io.phantoms.spark.Turns
import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.decide.Shared
import io.phantoms.spark.explain.Explanations
import io.phantoms.spark.oracle.DifferentialSuite

import org.scalatest.funsuite.AnyFunSuite

/**
 * TPC-DS as Spark's own tests have it, v1.4 and v2.7, over few rows: the same answers with and without the plugin, which
 * shares whatever it can; and what it shares is what the golden files say.
 *
 * Some queries have their turn with each commit, all of them with `-Dphantoms.matrix.full=true`;
 * `-Dphantoms.tpcds=q67,q22a` runs some. `-Dphantoms.golden.write=true` only plans, and writes the golden files anew.
 */
class TpcdsSuite extends AnyFunSuite with DifferentialSuite {
  override protected def createTables(): Unit = TpcdsTables.create(spark)

  override protected def sessionConf: Map[String, String] = Map("spark.sql.shuffle.partitions" -> "2")

  private val writes = sys.props.get("phantoms.golden.write").contains("true")
  private val queries = sys.props.get("phantoms.tpcds").filter(_.nonEmpty).map(_.split(',').toSet) match {
    case _ if writes => TpcdsQueries.all
    case Some(names) => TpcdsQueries.all.filter(q => names(q.name))
    case None if Turns.full => TpcdsQueries.all
    // One of them takes as long as all of a turn.
    case None => Turns.some(TpcdsQueries.all.filterNot(_.toString == "v2.7 q14a"), 8)
  }
  private lazy val golden = TpcdsQueries.editions.map(e => e -> GoldenPlans.read(e)).toMap
  private val plans = mutable.LinkedHashMap.empty[TpcdsQuery, Seq[String]]
  private val answered = mutable.Set.empty[TpcdsQuery]

  queries.zipWithIndex.foreach { case (query, i) =>
    test(query.toString) {
      plans(query) = described(query)
      if (!writes) {
        compare(query, adaptive = Math.floorMod(i + Turns.seed, 2) == 0)
        val known = golden(query.edition).getOrElse(query.name, Nil)
        assert(
          plans(query) == known,
          s"the golden file has another plan:\n${known.mkString("\n")}\nnow it is:\n${plans(query).mkString("\n")}\n" +
            "If that is meant: ./build/sbt -Dphantoms.golden.write=true \"plugin/testOnly *TpcdsSuite\""
        )
      }
    }
  }

  test("most queries have answers, and the plugin takes part") {
    val (left, shared) = plans.toSeq.partition(_._2.head.startsWith(GoldenPlans.LeftAlone))
    info(s"of ${queries.size} queries ${answered.size} have rows, ${shared.size} are shared")
    left.groupMap(_._2.head)(_._1).toSeq.sortBy(-_._2.size).foreach { case (why, names) =>
      info(s"${names.size} $why: ${names.mkString(", ")}")
    }
    if (writes) TpcdsQueries.editions.foreach { edition =>
      GoldenPlans.write(edition, plans.toSeq.collect { case (q, lines) if q.edition == edition => q.name -> lines })
    }
    else {
      assert(answered.nonEmpty, "the tables' rows answer nothing")
      // As many as the golden files have: fewer were planned if a query fails.
      assert(plans.size == queries.size)
      if (queries.size == TpcdsQueries.all.size) assert(shared.size >= 31 && answered.size >= 90)
    }
  }

  private def compare(query: TpcdsQuery, adaptive: Boolean): Unit =
    withConf("spark.sql.adaptive.enabled" -> adaptive.toString) {
      val expected = plain(spark.sql(query.uncut)).tolerant
      val actual = shared(spark.sql(query.uncut)).tolerant
      same(expected, actual, ordered = false, s"adaptive: $adaptive\n${actual.plan}")
      if (expected.result.exists(_.nonEmpty)) answered += query
      // Of an adaptive plan, operators over nothing are gone when it has run: the text has the first plan, too.
      val isShared = !plans(query).head.startsWith(GoldenPlans.LeftAlone)
      assert(isShared == actual.plan.contains("PhantomsMerge"), actual.plan)
      ()
    }

  /** By statistics that are the same in every run. */
  private def described(query: TpcdsQuery): Seq[String] = withConf(
    "spark.sql.adaptive.enabled" -> "false",
    PhantomsConf.SampleEnabled.key -> "false",
    PhantomsConf.ObserveStats.key -> "false"
  ) {
    val df = spark.sql(query.uncut)
    val decisions = Explanations.explain(df)
    val lines = GoldenPlans.describe(decisions, df.queryExecution.executedPlan)
    assert(decisions.exists(_.isInstanceOf[Shared]) == lines.contains("plan:"))
    lines
  }
}
