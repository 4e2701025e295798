package io.phantoms.spark.detect

import io.phantoms.spark.functions.ExpressionCost

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  BinaryOperator,
  Expression,
  PredicateHelper
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION

/**
 * Expressions that are equal but for the order of what may be swapped (`a AND b`, `x * y * z`) have one value, but where
 * something fails, not one error: what is asked first keeps the rest from being asked.
 */
private[detect] object EvaluationOrder extends PredicateHelper {

  /** Whether two expressions over the same attributes are equal in value, and in errors. */
  def isSame(a: Expression, b: Expression): Boolean =
    a.semanticEquals(b) && (!matters(a) || ordered(a) == ordered(b))

  /** Whether there is an order, and something but a subquery, which is answered before any row, may fail in it. */
  private def matters(e: Expression): Boolean =
    e.exists(_.isInstanceOf[BinaryOperator]) && splitConjunctivePredicates(e).exists { part =>
      !part.containsPattern(PLAN_EXPRESSION) && ExpressionCost.canFail(part)
    }

  /** The form by which expressions are told apart, where canonical forms are equal. */
  def ordered(e: Expression): Expression = e.transform {
    // Of an attribute all else may have been lost, or found, on the way.
    case a: Attribute => AttributeReference("none", a.dataType)(a.exprId)
  }

  /** Whether copies of a plan that are equal in canonical form may differ in errors. */
  def matters(plan: LogicalPlan): Boolean = plan.exists {
    case f: Filter => matters(f.condition)
    case j: Join => j.condition.exists(matters(_))
    case _ => false
  }
}
