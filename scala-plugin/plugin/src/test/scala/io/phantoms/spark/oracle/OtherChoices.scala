package io.phantoms.spark.oracle

import io.phantoms.spark.conf.PhantomsSettings
import io.phantoms.spark.detect.{DeclineReason, Workload}
import io.phantoms.spark.model.{Choice, Configuration, Problem}
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

/** The plugin with a hook on the plans that it makes; with the identity it is the plugin. */
trait ChangedPlans extends OtherChoices {
  @volatile private var change: LogicalPlan => LogicalPlan = identity

  def during[T](f: LogicalPlan => LogicalPlan)(body: => T): T = {
    change = f
    try body
    finally change = identity
  }

  override def choose(session: SparkSession, problem: Problem, settings: PhantomsSettings): Choice =
    Sharing.choose(session, problem, settings)

  override def build(
      workload: Workload,
      problem: Problem,
      configuration: Configuration,
      notation: String
  ): Either[DeclineReason, IndexedSeq[LogicalPlan]] =
    super.build(workload, problem, configuration, notation).map(_.map(change))
}
