package io.phantoms.spark.decide

import io.phantoms.spark.conf.{PhantomsConf, PhantomsSettings}
import io.phantoms.spark.detect.DeclineReason
import io.phantoms.spark.detect.DeclineReason.{Disabled, Streaming}

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** What keeps a plan from being looked at, whatever is in it; cheapest first. [[VersionGuard]] comes before. */
object Admission {
  def refusal(plan: LogicalPlan, settings: PhantomsSettings): Option[DeclineReason] =
    if (!settings.enabled) Some(Disabled(PhantomsConf.Enabled.key))
    else if (plan.isStreaming) Some(Streaming)
    else None
}
