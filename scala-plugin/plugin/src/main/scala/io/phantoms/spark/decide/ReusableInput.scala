package io.phantoms.spark.decide

import org.apache.spark.sql.catalyst.expressions.{Exists, Expression, InSubquery, ListQuery, Not, PredicateHelper}
import org.apache.spark.sql.catalyst.plans.logical.{
  Expand,
  Filter,
  Generate,
  LocalRelation,
  LogicalPlan,
  Project,
  Range,
  Union
}
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}
import org.apache.spark.sql.internal.SQLConf

/**
 * Whether Spark is sure to find that two copies of a plan do the same, so that a shuffle above them runs once. Otherwise
 * the answer would be right all the same, but its input read twice.
 *
 * Under adaptive execution two scans of one cached table are stages of their own. Our exchange sees through these (see
 * [[io.phantoms.spark.physical.BlockExchange]]), but not through stages of Spark's own that read them. What connectors make
 * of one table for each copy need not be equal.
 */
private[spark] object ReusableInput extends PredicateHelper {
  def apply(plan: LogicalPlan, conf: SQLConf): Boolean = {
    val leaves = plan.collectLeaves()
    def isAnyStage = !conf.adaptiveExecutionEnabled || !leaves.exists(_.isInstanceOf[InMemoryRelation])
    conf.exchangeReuseEnabled && leaves.forall(isComparable) && (isAnyStage || isOneStage(plan)) &&
    !plan.exists(p => p.containsPattern(PLAN_EXPRESSION) && marksRows(p))
  }

  /** Whether Spark makes a join of what it asks that tells of each row whether it was found: for each copy by a name of its own. */
  private def marksRows(operator: LogicalPlan): Boolean = {
    def holds(e: Expression): Boolean = e.exists { case _: ListQuery | _: Exists => true; case _ => false }
    operator match {
      case f: Filter => splitConjunctivePredicates(f.condition).exists {
          case _: InSubquery | _: Exists | Not(_: InSubquery | _: Exists) => false
          case other => holds(other)
        }
      case other => other.expressions.exists(holds)
    }
  }

  private def isComparable(leaf: LogicalPlan): Boolean = leaf match {
    case _: LogicalRelation | _: LogicalRDD | _: LocalRelation | _: Range | _: InMemoryRelation => true
    case r: DataSourceV2Relation => r.table.isInstanceOf[FileTable]
    case _ => false
  }

  /** Whether there is nothing in it that Spark shuffles or broadcasts for. */
  private def isOneStage(plan: LogicalPlan): Boolean = !plan.exists {
    case _: Project | _: Filter | _: Expand | _: Generate | _: Union => false
    case other => other.children.nonEmpty
  }
}
