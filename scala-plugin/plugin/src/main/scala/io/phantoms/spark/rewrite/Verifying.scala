package io.phantoms.spark.rewrite

import io.phantoms.spark.conf.{PhantomsConf, PhantomsSettings}
import io.phantoms.spark.decide.DecisionRecorder
import io.phantoms.spark.physical.{About, Verified}
import io.phantoms.spark.verify.{Comparability, Draws, Verifiable}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF

/** What was made of an operator of a plan, and the configuration behind it. */
private[rewrite] final case class Replacement(plan: LogicalPlan, notation: String)

/**
 * Puts plain Spark's part of a plan beside the plugin's, where a plan is to be verified: each operator that was replaced is
 * compared by itself, so that a LIMIT above it does no harm. What stands within one that is compared is part of it.
 *
 * @param warn called once for each text
 */
private[rewrite] final class Verifying(session: SparkSession, settings: PhantomsSettings, warn: String => Unit)
    extends Logging {
  private val options = settings.verify
  private var depth = 0

  // What optimises a plan to tell of it does not run it.
  private lazy val isDrawn: Boolean = !DecisionRecorder.isOn && !isOfStream &&
    (!options.isSample || Draws.of(session.sparkContext).next(options.fraction))

  /** Batches of streams: their input may not be read twice. */
  private lazy val isOfStream: Boolean =
    session != null && session.sparkContext.getLocalProperty(Verifying.StreamId) != null

  /** Runs `body` for a part of something that is compared itself. */
  def within[T](body: => T): T = {
    depth += 1
    try body
    finally depth -= 1
  }

  /** What is to be said of comparing the rows of these operators. */
  def note(operators: Seq[LogicalPlan]): Option[Verifiable] = Option.when(options.isOn) {
    val streams = Option.when(isOfStream)("it is a batch of a stream")
    Verifiable(options.mode, streams.orElse(operators.map(Comparability.of).collectFirst { case Left(why) => why }))
  }

  /**
   * The plugin's plan of an operator, or both plans of it.
   *
   * @param filterAbove a filter directly above the operator, whose rows alone the plugin's plan may have
   */
  def apply(
      operator: LogicalPlan,
      shared: LogicalPlan,
      filterAbove: Option[Expression],
      notation: String
  ): LogicalPlan =
    if (!options.isOn || depth > 0) shared
    else {
      if (isOfStream) Verifying.ignored(settings).foreach(warn)
      if (isDrawn) both(operator, shared, filterAbove, notation) else shared
    }

  private def both(
      operator: LogicalPlan,
      shared: LogicalPlan,
      filterAbove: Option[Expression],
      notation: String
  ): LogicalPlan = {
    val filter = filterAbove.filter(f => operator.isInstanceOf[Aggregate] && !f.containsPattern(PYTHON_UDF))
    def filtered(plan: LogicalPlan): LogicalPlan = filter.fold(plan)(Filter(_, plan))
    val plain = filtered(operator)
    Comparability.of(plain) match {
      case Right(columns) =>
        val rows = filtered(shared)
        val renamed = Project(rows.output.map(a => Alias(a, a.name)()), rows)
        Verified(plain, renamed, columns, About(PhantomsRule.subject(operator), notation, Verifying.text(operator)))
      case Left(why) =>
        logDebug(s"spark-phantoms does not verify ${PhantomsRule.subject(operator)}: $why")
        shared
    }
  }
}

private[rewrite] object Verifying {

  /** Set by Spark while a stream runs a batch. */
  private val StreamId = "sql.streaming.queryId"
  private val MostText = 4000

  /** What is to be said where a stream is to be verified. */
  def ignored(settings: PhantomsSettings): Option[String] = Option.when(settings.verify.isOn)(
    s"${PhantomsConf.Verify.key} is ignored for streams: their input may not be read twice"
  )

  /** The query's text, or else the plan of the operator. */
  private def text(operator: LogicalPlan): String = {
    val sql = operator.collectFirst { case p if p.origin.sqlText.isDefined => p.origin.sqlText.get }
    sql.getOrElse(operator.treeString).take(MostText)
  }
}
