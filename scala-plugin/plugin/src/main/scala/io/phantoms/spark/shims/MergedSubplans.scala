package io.phantoms.spark.shims

import org.apache.spark.sql.catalyst.optimizer.PlanMerger
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.internal.SQLConf

/** What Spark's `MergeSubplans` computes as one, which comes after us: aggregates without keys, in subqueries or not. */
object MergedSubplans {

  /**
   * @param whole the query that they are of
   * @param plans each an Aggregate without keys
   * @return by plan a number, which those have in common that are computed as one
   */
  def of(whole: LogicalPlan, plans: IndexedSeq[LogicalPlan], conf: SQLConf): IndexedSeq[Int] =
    if (!conf.getConf(SQLConf.SUBQUERY_REUSE_ENABLED) || whole.containsPattern(TreePattern.CTE)) plans.indices
    else {
      val merger = new PlanMerger(
        conf.getConf(SQLConf.MERGE_SUBPLANS_FILTER_PROPAGATION_ENABLED),
        conf.getConf(SQLConf.MERGE_SUBPLANS_SYMMETRIC_FILTER_PROPAGATION_ENABLED),
        conf.getConf(SQLConf.MERGE_SUBPLANS_FILTER_PROPAGATION_THROUGH_JOIN_ENABLED)
      )
      plans.map(merger.merge(_, subqueryPlan = false).mergedPlanIndex)
    }
}
