package io.phantoms.spark.inputs

import scala.collection.mutable

import io.phantoms.spark.Turns
import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.oracle.{DifferentialSuite, Outcome}
import io.phantoms.spark.tpcds.JarTexts

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.classic.SparkSession
import org.scalatest.exceptions.TestFailedException
import org.scalatest.funsuite.AnyFunSuite

/**
 * Spark's own SQL tests about aggregates, subqueries, common table expressions and windows: each file is run in a session
 * without the plugin and in one with it, and each statement has to do the same.
 *
 * Two files have their turn with each commit, all of them with `-Dphantoms.matrix.full=true`;
 * `-Dphantoms.inputs=having.sql,pivot.sql` runs some.
 */
class SqlInputsSuite extends AnyFunSuite with DifferentialSuite {
  import SqlInputsSuite._

  override protected def createTables(): Unit = SqlInputTables.create(spark)

  private val chosen = sys.props.get("phantoms.inputs").filter(_.nonEmpty).map(_.split(',').toSet) match {
    case Some(names) => inputs.filter(i => names(i.name))
    case None => Turns.some(inputs, 2)
  }
  private val acted = mutable.Map.empty[String, Int]
  private var compared = 0

  chosen.foreach { input =>
    test(input.name) {
      val expected = outcomes(input)(plain(_))
      val actual = outcomes(input)(shared(_))
      val differences = input.statements.zip(expected.zip(actual)).flatMap { case (sql, (wanted, got)) =>
        compared += 1
        if (got.plan.contains("PhantomsMerge")) acted(input.name) = acted.getOrElse(input.name, 0) + 1
        try { if (comparable(sql)) compare(sql, wanted, got); None }
        catch { case e: TestFailedException => Some(e.getMessage) }
      }
      if (differences.nonEmpty)
        fail(s"${differences.size} statements differ under ${input.confs(turn)}:\n${differences.mkString("\n\n")}")
    }
  }

  test("statements are found, and the plugin takes part") {
    info(s"$compared statements of ${chosen.size} files, ${acted.values.sum} shared")
    acted.toSeq.sortBy(-_._2).foreach { case (name, n) => info(s"  $n in $name") }
    assert(compared >= chosen.size * 3)
    if (Turns.full) assert(acted.values.sum >= 60)
  }

  private def compare(sql: String, wanted: Outcome, got: Outcome): Unit = {
    // What Spark's own rules do to nullability is not the plugin's.
    def asDeclared(o: Outcome): Outcome = if (wanted.schema == got.schema) o.copy(schema = o.declared) else o
    same(asDeclared(wanted), asDeclared(got), ordered = false, s"$sql\n${got.plan}")
  }

  private val turn = Math.floorMod(Turns.seed, 1L << 20).toInt

  /** What the statements of a file do one after the other, in a session of their own. */
  private def outcomes(input: SqlInput)(run: (=> DataFrame) => Outcome): Seq[Outcome] = {
    val outer = spark
    val session = outer.newSession().asInstanceOf[SparkSession]
    input.confs(turn).foreach { case (k, v) => session.conf.set(k, v) }
    assert(session.conf.get(PhantomsConf.MinSavings.key).toDouble < 0, "the suite's confs are not the session's")
    spark = session
    try input.statements.map(sql => run(session.sql(sql)).tolerant)
    finally {
      SqlInputTables.dropOthers(session)
      spark = outer
    }
  }
}

object SqlInputsSuite {
  private val Folder = "sql-tests/inputs/"
  private lazy val texts = JarTexts.sql(Folder.stripSuffix("/")).map { case (p, text) =>
    p.stripPrefix(Folder) -> text
  }.toMap

  /** Files about what the plugin could meet; others are about other things, print plans, or have rows that differ by run. */
  private val about = (
    "group|having|count|cte|pivot|window|qualify|subquery/|union|except-all|intersect|percentiles|linear-regression|" +
      "try_aggregates|max-min-by|mode|order-by|column-resolution|alias-resolution|outer-join|struct|null-handling|udaf/udaf-group|" +
      "postgreSQL/(aggregates|groupingsets|select|window|union)"
  ).r

  lazy val inputs: Seq[SqlInput] = texts.keys.toSeq.sorted
    .filter(n => about.findPrefixOf(n).isDefined)
    .map(SqlInput.of(_, texts))

  private def comparable(sql: String): Boolean = "(?i)^\\s*(explain|describe|desc|show)\\b".r.findFirstIn(sql).isEmpty
}
