package io.phantoms.spark.explain

import io.phantoms.spark.decide.{Decision, DecisionRecorder, Declined}
import io.phantoms.spark.detect.DeclineReason
import io.phantoms.spark.rewrite.PhantomsRule

import org.apache.spark.sql.{Dataset => AnyDataset}
import org.apache.spark.sql.catalyst.plans.logical.{Command, CommandResult, LogicalPlan}
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.QueryExecution

/** What the plugin decides about a query, found by optimising it once more; nothing is executed but bounded samples. */
object Explanations {

  /**
   * The decisions about a DataFrame: what is shared, then what is left alone.
   *
   * A command (an INSERT, a CREATE TABLE AS SELECT) was executed when its DataFrame was made: the queries inside are
   * optimised again.
   *
   * @throws IllegalArgumentException for a DataFrame of Spark Connect
   */
  def explain(df: AnyDataset[_]): Seq[Decision] = df match {
    case classic: Dataset[_] => decisions(classic.sparkSession, classic.queryExecution.analyzed)
    case _ => throw new IllegalArgumentException("A DataFrame of Spark Connect cannot be explained on the client.")
  }

  private[spark] def decisions(session: SparkSession, analyzed: LogicalPlan): Seq[Decision] =
    queries(analyzed).flatMap { query =>
      // Spark refuses to optimise a streaming query outside of its stream.
      if (query.isStreaming) Seq(Declined(PhantomsRule.subject(query), DeclineReason.Streaming))
      else optimised(session, query)
    }

  private def optimised(session: SparkSession, query: LogicalPlan): Seq[Decision] = {
    val made = DecisionRecorder.during {
      val _ = new QueryExecution(session, query).optimizedPlan
    }
    // Spark may run a rule a second time to see that it changes nothing more: what was declined is declined again.
    val (declined, shared) = made.partition(_.isInstanceOf[Declined])
    shared ++ declined.distinct
  }

  private def queries(plan: LogicalPlan): Seq[LogicalPlan] = plan match {
    case r: CommandResult => queries(r.commandLogicalPlan)
    case c: Command =>
      (c.children ++ c.innerChildren).collect { case p: LogicalPlan => p }
        .distinct.flatMap(queries)
    case query => Seq(query)
  }
}
