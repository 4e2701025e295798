package io.phantoms.spark.detect

import scala.collection.mutable

import io.phantoms.spark.functions.ObjectAggregate

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression, PlanExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Project}
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION

/** Results of an Aggregate that are computed above it, of what its groupBys come to. */
private[detect] object ResultsAbove {

  /** Whether there are any that ask subqueries, such as a part of a total. */
  def askSubqueries(aggregate: Aggregate): Boolean = aggregate.aggregateExpressions.exists { e =>
    e.containsPattern(PLAN_EXPRESSION) && holds(e, aggregate)(_.isInstanceOf[PlanExpression[_]])
  }

  /**
   * Whether there are any that an Aggregate with sketches, sets or percentiles makes by functions that have no code, as the
   * estimates of sketches: kernels have no place for these, and Spark computes them of the rows that come out, for each of
   * them as ever.
   */
  def areInterpreted(aggregate: Aggregate): Boolean = aggregate.aggregateExpressions.exists(_.exists {
    case call: AggregateExpression => ObjectAggregate.is(call.aggregateFunction)
    case _ => false
  }) && aggregate.aggregateExpressions.exists(isInterpreted(_, aggregate))

  /** Those alone, above an Aggregate that keeps the others. */
  def interpretedApart(aggregate: Aggregate): (Aggregate, Project) = apart(aggregate, isInterpreted(_, aggregate))

  /** An Aggregate with keys and functions only, and what computes all results of them. */
  def apart(aggregate: Aggregate): (Aggregate, Project) = apart(aggregate, _ => true)

  private def isInterpreted(e: Expression, aggregate: Aggregate): Boolean =
    holds(e, aggregate)(_.isInstanceOf[CodegenFallback])

  /** Whether something is asked of groups; inputs and keys are asked of rows. */
  private def holds(e: Expression, aggregate: Aggregate)(what: Expression => Boolean): Boolean =
    !isInput(e, aggregate) && (what(e) || e.children.exists(holds(_, aggregate)(what)))

  private def isInput(e: Expression, aggregate: Aggregate): Boolean = e.isInstanceOf[AggregateExpression] ||
    aggregate.groupingExpressions.exists(k => !k.foldable && k.semanticEquals(e))

  private def apart(aggregate: Aggregate, moves: NamedExpression => Boolean): (Aggregate, Project) = {
    val read = mutable.LinkedHashMap.empty[Expression, NamedExpression]
    def column(e: Expression): Attribute = read.getOrElseUpdate(
      e.canonicalized,
      e match {
        case a: Attribute => a
        case other => Alias(other, "result")()
      }
    ).toAttribute
    val (moved, kept) = aggregate.aggregateExpressions.partition(moves)
    val above = moved.map { e =>
      e.exprId -> e.transformDown { case part if isInput(part, aggregate) => column(part) }.asInstanceOf[NamedExpression]
    }.toMap
    val inner = aggregate.copy(aggregateExpressions = (kept ++ read.values).distinctBy(_.exprId))
    (inner, Project(aggregate.aggregateExpressions.map(e => above.getOrElse(e.exprId, e.toAttribute)), inner))
  }
}
