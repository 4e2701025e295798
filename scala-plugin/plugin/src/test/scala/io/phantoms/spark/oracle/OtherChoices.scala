package io.phantoms.spark.oracle

import io.phantoms.spark.conf.PhantomsSettings
import io.phantoms.spark.detect.{DeclineReason, Workload}
import io.phantoms.spark.model.{Configuration, Problem}
import io.phantoms.spark.rewrite.Sharing

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The plugin's steps, with another chooser. */
trait OtherChoices extends Sharing {
  override def problem(session: SparkSession, workload: Workload, settings: PhantomsSettings): Problem =
    Sharing.problem(session, workload, settings)

  override def build(
      workload: Workload,
      problem: Problem,
      configuration: Configuration,
      notation: String
  ): Either[DeclineReason, IndexedSeq[LogicalPlan]] = Sharing.build(workload, problem, configuration, notation)
}
