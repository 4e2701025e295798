package io.phantoms.spark.explain

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Where operators that were decided about stand in the plan that users know. */
private[explain] object Place {

  /** The operator itself, or one like it: what was looked at in the input of shared aggregates may be a copy. */
  def of(plan: LogicalPlan, operator: LogicalPlan): Option[LogicalPlan] =
    plan.find(_ eq operator).orElse(plan.find(p => p.getClass == operator.getClass && p.sameResult(operator)))
}
