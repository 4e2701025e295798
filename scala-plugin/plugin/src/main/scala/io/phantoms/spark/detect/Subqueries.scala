package io.phantoms.spark.detect

import io.phantoms.spark.physical.Verified

import org.apache.spark.sql.catalyst.expressions.{Exists, ListQuery, ScalarSubquery, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{DomainJoin, LogicalPlan, RowLevelWrite}
import org.apache.spark.sql.catalyst.trees.TreePattern.{OUTER_REFERENCE, PLAN_EXPRESSION}

/**
 * Subqueries that are computed by themselves: scalar ones, and those of IN and EXISTS, of which Spark makes joins after us.
 * They stand in expressions, and were optimised one by one before the query that they are of.
 */
object Subqueries {

  /** Plans of all below an operator, and of those that are in them. */
  def in(operator: LogicalPlan): Seq[LogicalPlan] =
    if (!operator.containsPattern(PLAN_EXPRESSION) || operator.isInstanceOf[Verified]) Nil
    else {
      // The condition of a row-level operation is rewritten by rules of its own.
      val own = if (operator.isInstanceOf[RowLevelWrite]) Nil
      else operator.expressions.flatMap(_.collect { case Alone(s) => s })
      own.map(_.plan) ++ own.flatMap(s => in(s.plan)) ++ operator.children.flatMap(in)
    }

  /** An operator with other plans of the subqueries in its own expressions. */
  def mapOwn(operator: LogicalPlan)(f: LogicalPlan => LogicalPlan): LogicalPlan = operator match {
    case write: RowLevelWrite => write
    case other => other.transformExpressionsWithPruning(_.containsPattern(PLAN_EXPRESSION)) {
        case Alone(s) =>
          val plan = f(s.plan)
          if (plan eq s.plan) s else s.withNewPlan(plan)
      }
  }

  /** What does not read the row that it is asked for. */
  private object Alone {
    def unapply(s: SubqueryExpression): Option[SubqueryExpression] = s match {
      case scalar: ScalarSubquery => Option.when(scalar.outerAttrs.isEmpty && scalar.joinCond.isEmpty)(s)
      // Of a domain of outer values Spark makes something of its own in each subquery.
      case _: ListQuery | _: Exists =>
        Option.when(!s.plan.containsPattern(OUTER_REFERENCE) && !s.plan.exists(_.isInstanceOf[DomainJoin]))(s)
      case _ => None
    }
  }
}
