package io.phantoms.spark.source

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Complete, Count}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.{AGGREGATE, AGGREGATE_EXPRESSION}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.LongType

/**
 * Counts distinct values of a constant, of which there is one where there are rows, without DISTINCT.
 *
 * Before:
 * {{{
 *   Aggregate [srcip], [srcip, count(distinct 1)]
 *   +- Relation lfta
 * }}}
 * After:
 * {{{
 *   Aggregate [srcip], [srcip, if (count(1) > 0) 1 else 0]
 *   +- Relation lfta
 * }}}
 *
 * Spark shows sources a count of a constant as count(*), distinct or not (`V2ExpressionBuilder`), and adds up what they
 * counted distinctly: the sum of the different parts of a count.
 *
 * Conditions: Aggregates over the relation of a [[LftaTable]], as others are not pushed down to it.
 *
 * Position: `injectPreCBORule`: constants are folded, and source push-down is still to come.
 */
private[spark] object CountOfConstants extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformWithPruning(_.containsAllPatterns(AGGREGATE, AGGREGATE_EXPRESSION)) {
      case a: Aggregate if isOverLfta(a.child) =>
        a.transformExpressionsWithPruning(_.containsPattern(AGGREGATE_EXPRESSION)) {
          case e @ AggregateExpression(Count(Seq(Literal(value, _))), Complete, true, _, _) if value != null =>
            val rows = e.copy(aggregateFunction = Count(Literal(1)), isDistinct = false)
            If(GreaterThan(rows, Literal(0L, LongType)), Literal(1L, LongType), Literal(0L, LongType))
        }
    }

  private def isOverLfta(plan: LogicalPlan): Boolean = plan.collectLeaves() match {
    case Seq(r: DataSourceV2Relation) => r.table.isInstanceOf[LftaTable]
    case _ => false
  }
}
