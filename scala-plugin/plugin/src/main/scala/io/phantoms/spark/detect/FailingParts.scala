package io.phantoms.spark.detect

import io.phantoms.spark.functions.{ExpressionCost, FilterOrder}

import org.apache.spark.sql.catalyst.expressions.{And, ConditionalExpression, Expression, NamedExpression, Or}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, Join, LogicalPlan, Project, Union}
import org.apache.spark.sql.types.{DecimalType, NumericType}

/**
 * Parts of expressions that may fail, and are kept from it by something beside them. What two columns of one operator have in
 * common Spark computes once, before it asks that: side by side they may fail where each by itself does not.
 */
private[detect] object FailingParts {

  /**
   * Whether two lists of columns have any in common: none that either computes for every row anyway.
   *
   * @param areGuarded whether they are asked for some rows only, by what stands above
   */
  def inCommon(first: Seq[Expression], second: Seq[Expression], areGuarded: Boolean): Boolean = {
    val (a, b) = (first.flatMap(in(_, areGuarded)), second.flatMap(in(_, areGuarded)))
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

  /**
   * Whether an Aggregate is compiled into a stage as those that it was made of, if something in them may fail: what is
   * compiled is asked of the groups, and by FILTER clauses of the rows, that are kept, and other Aggregates otherwise.
   */
  def isCompiledAlike(merged: Aggregate, parts: Aggregate*): Boolean = {
    val all = merged +: parts
    all.map(isCompiled).distinct.size == 1 ||
    !merged.aggregateExpressions.exists(c => in(c, isGuarded = false).nonEmpty || canFailOnGroups(c))
  }

  private def isCompiled(aggregate: Aggregate): Boolean = {
    val calls = aggregate.aggregateExpressions.flatMap(_.collect { case call: AggregateExpression => call })
    FilterOrder.fits(aggregate.aggregateExpressions.map(_.dataType)) &&
    FilterOrder.isCompiled(calls.map(_.aggregateFunction), aggregate.groupingExpressions, calls.flatMap(_.filter))
  }

  /** Likewise of the columns of a Project, which has those of another one and more. */
  def isCompiledAlike(first: Seq[NamedExpression], all: Seq[NamedExpression]): Boolean = {
    def compiles(columns: Seq[NamedExpression]): Boolean =
      FilterOrder.fits(columns.map(_.dataType)) && !columns.exists(_.exists(_.isInstanceOf[CodegenFallback]))
    compiles(all) || !compiles(first) || !all.exists(ExpressionCost.canFail)
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
