package io.phantoms.spark.detect

import io.phantoms.spark.detect.DeclineReason.UnsupportedShape

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF

/**
 * What an Aggregate takes of a workload, and what is made of it.
 *
 * @param queries its groupBys, over its own input
 * @param output what these put out
 * @param finish what puts out the Aggregate's output, of what puts out `output`
 */
private[detect] final case class Demand(
    queries: Seq[WorkloadQuery],
    output: Seq[Attribute],
    finish: LogicalPlan => LogicalPlan
)

private[detect] object Demand {

  /**
   * Of any Aggregate.
   *
   * @param filterAbove a filter that stands directly above
   */
  def of(aggregate: Aggregate, filterAbove: Option[Expression]): Either[DeclineReason, Demand] =
    if (PythonResults.isIn(aggregate)) PythonResults.apart(aggregate).map(above)
      .getOrElse(Left(UnsupportedShape("Python functions of results that Spark does not compute apart")))
    else if (
      ResultsAbove.askSubqueries(aggregate) || (filterAbove.exists(asksOnce) && FailingParts.inResults(aggregate))
    ) above(ResultsAbove.apart(aggregate))
    else if (ResultsAbove.areInterpreted(aggregate))
      // Whatever else may fail is asked of groups that the filter keeps only.
      above(if (filterAbove.isEmpty) ResultsAbove.interpretedApart(aggregate) else ResultsAbove.apart(aggregate))
    else if (Distincts.isIn(aggregate)) Distincts.of(aggregate)
    else
      AggregateNormalizer.branches(aggregate).map { branches =>
        // A Python function is asked of rows that are complete.
        val filter = filterAbove.filterNot(_.containsPattern(PYTHON_UDF))
        Demand(branches.map(_.keptBy(filter, aggregate.output)), aggregate.output, identity)
      }

  /** What cannot be asked of the results within the groupBy, to keep these from failing for groups that it drops. */
  private def asksOnce(filter: Expression): Boolean =
    !Predicates.isRepeatable(filter) && !filter.containsPattern(PYTHON_UDF)

  /** Of an Aggregate some of whose results are computed above it. */
  private def above(apart: (Aggregate, Project)): Either[DeclineReason, Demand] = apart match {
    case (inner, project) => of(inner, None).map(d => d.copy(finish = plan => project.copy(child = d.finish(plan))))
  }

  /** Whether the results of its groupBys are its own, so that those of a union's branches can be put out together. */
  def isPlain(aggregate: Aggregate): Boolean =
    !Distincts.isIn(aggregate) && !PythonResults.isIn(aggregate) && !ResultsAbove.askSubqueries(aggregate) &&
      !ResultsAbove.areInterpreted(aggregate)
}
