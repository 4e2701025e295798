package io.phantoms.spark.explain

import io.phantoms.spark.decide.{Decision, DecisionRecorder, Declined, Finding, Visited}
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
  def explain(df: AnyDataset[_]): Seq[Decision] = explained(df).decisions

  /** The same, with where in the plan each was made. */
  def explained(df: AnyDataset[_]): Explained = df match {
    case classic: Dataset[_] => Explained(visits(classic.sparkSession, classic.queryExecution.analyzed))
    case _ => throw new IllegalArgumentException("A DataFrame of Spark Connect cannot be explained on the client.")
  }

  private def visits(session: SparkSession, analyzed: LogicalPlan): Seq[Visited] =
    queries(analyzed).flatMap { query =>
      // Spark refuses to optimise a streaming query outside of its stream.
      if (query.isStreaming) {
        val declined = Declined(PhantomsRule.subject(query), DeclineReason.Streaming)
        Seq(Visited(query, Seq(Finding(declined, Seq(query)))))
      } else
        DecisionRecorder.visits {
          val _ = new QueryExecution(session, query).optimizedPlan
        }
    }

  private def queries(plan: LogicalPlan): Seq[LogicalPlan] = plan match {
    case r: CommandResult => queries(r.commandLogicalPlan)
    case c: Command =>
      (c.children ++ c.innerChildren).collect { case p: LogicalPlan => p }
        .distinct.flatMap(queries)
    case query => Seq(query)
  }
}
