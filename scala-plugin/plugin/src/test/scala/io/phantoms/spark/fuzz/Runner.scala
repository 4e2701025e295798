package io.phantoms.spark.fuzz

import java.nio.file.{Files, Path}

import io.phantoms.spark.SessionConfs
import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.decide.{Decision, DecisionRecorder, Declined}
import io.phantoms.spark.oracle.{Difference, Outcome, RandomSharing}

import org.apache.spark.sql.SparkSession

/**
 * What became of a case.
 *
 * @param declines codes of what the plugin left alone
 */
final case class Run(expected: Outcome, actual: Outcome, declines: Seq[String], difference: Option[Difference]) {
  def acted: Boolean = actual.hasPluginNode
}

/** Runs cases off and on in one session, whose extensions may be any. */
final class Runner(protected val spark: SparkSession) extends SessionConfs {
  private val folder: Path = Files.createTempDirectory("phantoms-fuzz")
  private var registered: Vector[Table] = Vector.empty

  def run(c: Case): Run = {
    if (registered != c.tables) {
      registered.foreach(t => spark.catalog.dropTempView(t.name))
      Table.register(spark, c.tables, folder)
      registered = c.tables
    }
    RandomSharing.seed = c.configuration
    try withConf(c.confs: _*) {
        val expected = outcome(enabled = false, c.sql)
        var actual: Outcome = null
        val decisions: Seq[Decision] = DecisionRecorder.during { actual = outcome(enabled = true, c.sql) }
        // Spark may look again whether a rule has something left to do: what was declined is declined again.
        val declines = decisions.collect { case d: Declined => d }.distinct.map(_.reason.code)
        val difference =
          if (expected.hasPluginNode) Some(Difference("OFF", s"switched off, and yet in the plan:\n${expected.plan}"))
          else Difference.between(expected, actual, ordered = false)
        Run(expected, actual, declines, difference)
      }
    finally RandomSharing.seed = None
  }

  private def outcome(enabled: Boolean, sql: String): Outcome =
    withConf(PhantomsConf.Enabled.key -> enabled.toString, "spark.sql.planChangeValidation" -> enabled.toString) {
      Outcome.of(spark.sql(sql))
    }
}
