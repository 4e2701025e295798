package io.phantoms.spark.detect

import io.phantoms.spark.functions.ExpressionCost

import org.apache.spark.sql.catalyst.expressions.{And, ConditionalExpression, Expression, NamedExpression, Or}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, Join, LogicalPlan, Project, Union}
import org.apache.spark.sql.types.{DecimalType, NumericType}

/**
 * Parts of expressions that may fail, and are kept from it by something beside them. What two columns of one operator have in
 * common Spark computes once, before it asks that: side by side they may fail where each by itself does not.
 */
private[detect] object FailingParts {

  /** Whether two lists of columns have any in common: none that either computes for every row anyway. */
  def inCommon(first: Seq[Expression], second: Seq[Expression]): Boolean = {
    val (a, b) = (first.flatMap(in(_, isGuarded = false)), second.flatMap(in(_, isGuarded = false)))
    val guarded = Seq(a, b).map(_.filter(_.isGuarded).map(_.expression).toSet).reduce(_ & _)
    (guarded -- (a ++ b).filterNot(_.isGuarded).map(_.expression)).nonEmpty
  }

  /** @param expression in canonical form */
  private final case class Part(expression: Expression, isGuarded: Boolean)

  private def in(e: Expression, isGuarded: Boolean): Seq[Part] = e match {
    case call: AggregateExpression =>
      call.aggregateFunction.children.flatMap(in(_, isGuarded || call.filter.nonEmpty)) ++
        call.filter.toSeq.flatMap(in(_, isGuarded))
    case _ if !ExpressionCost.canFail(e) => Nil
    case _ =>
      val below = e match {
        case c: ConditionalExpression =>
          val always = c.alwaysEvaluatedInputs
          c.children.flatMap(part => in(part, isGuarded || !always.exists(_ eq part)))
        case And(left, right) => in(left, isGuarded) ++ in(right, isGuarded = true)
        case Or(left, right) => in(left, isGuarded) ++ in(right, isGuarded = true)
        case other => other.children.flatMap(in(_, isGuarded))
      }
      if (canFail(e)) Part(e.canonicalized, isGuarded) +: below else below
  }

  /** Given what its aggregate functions come to. */
  private def canFail(e: Expression): Boolean =
    ExpressionCost.canFail(e.transform { case call: AggregateExpression => call.resultAttribute })

  /**
   * Whether results of groupBys in a plan may fail: a filter above keeps those of some groups from it where Spark compiles
   * both into one.
   */
  def inResults(plan: LogicalPlan): Boolean = plan match {
    case a: Aggregate => a.aggregateExpressions.exists(canFailOnGroups)
    case _: Project | _: Filter | _: Join | _: Union => plan.children.exists(inResults)
    case _ => false
  }

  private def canFailOnGroups(column: NamedExpression): Boolean = canFail(column) || column.exists {
    case call: AggregateExpression => !isSafe(call.aggregateFunction)
    case _ => false
  }

  /** Whether the result is there whatever was added up; adding up apart. */
  private def isSafe(function: AggregateFunction): Boolean = function match {
    case _: Count | _: Min | _: Max => true
    case _: Sum | _: Average => isPlainNumber(function)
    case _ => false
  }

  private def isPlainNumber(function: AggregateFunction): Boolean = function.dataType match {
    case _: DecimalType => false
    case _: NumericType => true
    case _ => false
  }
}
