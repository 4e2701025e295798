package io.phantoms.spark.decide

import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Range}
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}
import org.apache.spark.sql.internal.SQLConf

/**
 * Whether Spark is sure to find that two copies of a plan do the same, so that a shuffle above them runs once. Otherwise
 * the answer would be right all the same, but its input read twice.
 *
 * Two scans of one cached table are stages of their own under adaptive execution, and not compared; what connectors make
 * of one table for each copy need not be equal.
 */
private[spark] object ReusableInput {
  def apply(plan: LogicalPlan, conf: SQLConf): Boolean = conf.exchangeReuseEnabled && plan.collectLeaves().forall {
    case _: LogicalRelation | _: LogicalRDD | _: LocalRelation | _: Range => true
    case _: InMemoryRelation => !conf.adaptiveExecutionEnabled
    case r: DataSourceV2Relation => r.table.isInstanceOf[FileTable]
    case _ => false
  }
}
