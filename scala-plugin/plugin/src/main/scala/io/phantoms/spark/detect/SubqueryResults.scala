package io.phantoms.spark.detect

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression, PlanExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Project}
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION

/** Results that ask subqueries, such as a part of a total: computed of what the groupBy comes to, above it. */
private[detect] object SubqueryResults {

  def isIn(aggregate: Aggregate): Boolean = {
    // Those of inputs and keys are asked of rows.
    def asks(e: Expression): Boolean = e.containsPattern(PLAN_EXPRESSION) && (e match {
      case _: AggregateExpression => false
      case key if aggregate.groupingExpressions.exists(_.semanticEquals(key)) => false
      case _: PlanExpression[_] => true
      case other => other.children.exists(asks)
    })
    aggregate.aggregateExpressions.exists(asks)
  }

  /** An Aggregate with keys and functions only, and what computes its results of them. */
  def apart(aggregate: Aggregate): (Aggregate, Project) = {
    val made = mutable.ArrayBuffer.empty[NamedExpression]
    def column(e: Expression): Attribute = made.find(Inlining.withoutAlias(_).semanticEquals(e)).getOrElse {
      val named = e match {
        case a: Attribute => a
        case other => Alias(other, "result")()
      }
      made += named
      named
    }.toAttribute
    def above(e: Expression): Expression = e match {
      case call: AggregateExpression => column(call)
      case key if aggregate.groupingExpressions.exists(_.semanticEquals(key)) => column(key)
      case other => other.mapChildren(above)
    }
    val results = aggregate.aggregateExpressions.map {
      case key: Attribute => column(key)
      case other => other.mapChildren(above).asInstanceOf[NamedExpression]
    }
    val inner = aggregate.copy(aggregateExpressions = made.toSeq)
    (inner, Project(results, inner))
  }
}
