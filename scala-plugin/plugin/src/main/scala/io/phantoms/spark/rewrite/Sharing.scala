package io.phantoms.spark.rewrite

import io.phantoms.spark.PhantomsSettings
import io.phantoms.spark.choose.{Choice, Configuration, Notation, Problem}
import io.phantoms.spark.detect.{DeclineReason, Workload}
import io.phantoms.spark.execute.TaskShare
import io.phantoms.spark.stats.{PlanningMemory, SamplingOptions, StatisticsProvider}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf

/** The steps between a workload and its plan, as [[PhantomsRule]] calls them. */
trait Sharing {

  /** The workload as the chooser sees it, with what is known of its input. */
  def problem(session: SparkSession, workload: Workload, settings: PhantomsSettings): Problem

  /** Which relations to maintain, or none. */
  def choose(session: SparkSession, problem: Problem, settings: PhantomsSettings): Choice

  /** A plan that puts out `workload.output`, with the same ids, from the configuration. */
  def build(
      workload: Workload,
      problem: Problem,
      configuration: Configuration,
      notation: String
  ): Either[DeclineReason, LogicalPlan]
}

/** What a session gets: estimated statistics, the chooser, the shared operators. */
object Sharing extends Sharing {
  override def problem(session: SparkSession, workload: Workload, settings: PhantomsSettings): Problem = {
    val (rowWork, plainRowWork) = workload.rowWork
    StatisticsProvider.problem(
      session,
      workload.overRead,
      math.min(settings.lftaMemory, TaskShare.of(session.sparkContext).tables),
      SamplingOptions(settings.sample, settings.sampleRows),
      settings.observing,
      settings.machine
    ).copy(
      secondTier = settings.secondTier && ReusableInput(workload.base, SQLConf.get.adaptiveExecutionEnabled),
      rowWork = rowWork,
      plainRowWork = plainRowWork
    )
  }

  override def choose(session: SparkSession, problem: Problem, settings: PhantomsSettings): Choice =
    PlanningMemory.of(session.sparkContext).choices
      .choose(problem, settings.chooser, settings.minSavings, settings.observing.minGain)

  override def build(
      workload: Workload,
      problem: Problem,
      configuration: Configuration,
      notation: String
  ): Either[DeclineReason, LogicalPlan] = SharedAggregates.build(workload, problem, configuration, notation)

  /** The configuration as `ABCD(AB BCD(BC BD CD))`. */
  def notation(problem: Problem, configuration: Configuration): String =
    new Notation(problem.attributes).render(configuration)

  /** What the letters of the notation stand for; empty when they are the attributes' own names. */
  def legend(problem: Problem): Seq[(String, String)] = new Notation(problem.attributes).legend
}
