package io.phantoms.spark.rewrite

import io.phantoms.spark.conf.PhantomsSettings
import io.phantoms.spark.decide.Choosing
import io.phantoms.spark.detect.{DeclineReason, Workload}
import io.phantoms.spark.model.{Choice, Configuration, Problem}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The steps between a workload and its plan, as [[PhantomsRule]] calls them. */
trait Sharing extends Choosing {

  /** For each consumer a plan that puts out its `output`, with the same ids, from the configuration. */
  def build(
      workload: Workload,
      problem: Problem,
      configuration: Configuration,
      notation: String
  ): Either[DeclineReason, IndexedSeq[LogicalPlan]]
}

/** What a session gets: the chooser, and the shared operators. */
object Sharing extends Sharing {
  override def problem(session: SparkSession, workload: Workload, settings: PhantomsSettings): Problem =
    Choosing.problem(session, workload, settings)

  override def choose(session: SparkSession, problem: Problem, settings: PhantomsSettings): Choice =
    Choosing.choose(session, problem, settings)

  override def build(
      workload: Workload,
      problem: Problem,
      configuration: Configuration,
      notation: String
  ): Either[DeclineReason, IndexedSeq[LogicalPlan]] = SharedAggregates.build(workload, problem, configuration, notation)
}
