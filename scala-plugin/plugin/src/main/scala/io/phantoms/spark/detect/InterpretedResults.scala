package io.phantoms.spark.detect

import scala.collection.mutable

import io.phantoms.spark.functions.ObjectAggregate

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Project}

/**
 * What an Aggregate with sketches, sets or percentiles makes of its results by functions that have no code, as the estimates
 * of sketches: kernels have no place for these, and Spark computes them of the rows that come out, for each of them as ever.
 */
private[detect] object InterpretedResults {

  def isIn(aggregate: Aggregate): Boolean = aggregate.aggregateExpressions.exists(_.exists {
    case call: AggregateExpression => ObjectAggregate.is(call.aggregateFunction)
    case _ => false
  }) && aggregate.aggregateExpressions.exists(isInterpreted(_, aggregate))

  private def isInterpreted(e: Expression, aggregate: Aggregate): Boolean =
    !isInput(e, aggregate) && (e.isInstanceOf[CodegenFallback] || e.children.exists(isInterpreted(_, aggregate)))

  /** What rows of the input are asked, not those of the result. */
  private def isInput(e: Expression, aggregate: Aggregate): Boolean =
    e.isInstanceOf[AggregateExpression] || isKey(e, aggregate)

  private def isKey(e: Expression, aggregate: Aggregate): Boolean =
    aggregate.groupingExpressions.exists(k => !k.foldable && k.semanticEquals(e))

  /** An Aggregate with such functions as one without, and what computes them above it. */
  def apart(aggregate: Aggregate): (Aggregate, Project) = {
    val read = mutable.LinkedHashMap.empty[Expression, NamedExpression]
    def column(e: Expression): Attribute = read.getOrElseUpdate(
      e.canonicalized,
      e match {
        case a: Attribute => a
        case other => Alias(other, "result")()
      }
    ).toAttribute
    val results = aggregate.aggregateExpressions.map { e =>
      if (!isInterpreted(e, aggregate)) e
      else e.transformDown { case part if isInput(part, aggregate) => column(part) }.asInstanceOf[NamedExpression]
    }
    val below = results.zip(aggregate.aggregateExpressions).collect { case (above, own) if above eq own => own }
    val project = results.zip(aggregate.aggregateExpressions).map { case (above, own) =>
      if (above eq own) own.toAttribute else above
    }
    val inner = aggregate.copy(aggregateExpressions = (below ++ read.values).distinctBy(_.exprId))
    (inner, Project(project, inner))
  }
}
