package io.phantoms.spark.rewrite

import io.phantoms.spark.PhantomsSettings
import io.phantoms.spark.choose.{Choice, Configuration, Problem}
import io.phantoms.spark.detect.Workload

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The three steps between a workload and its plan, as [[PhantomsRule]] calls them. */
trait Sharing {

  /** The workload as the chooser sees it, with what is known of its input. */
  def problem(session: SparkSession, workload: Workload, settings: PhantomsSettings): Problem

  /** Which relations to maintain, or none. */
  def choose(problem: Problem, settings: PhantomsSettings): Choice

  /** A plan that puts out `workload.output`, with the same ids, from the configuration. */
  def build(workload: Workload, configuration: Configuration): LogicalPlan

  /** The configuration as `ABCD(AB BCD(BC BD CD))`. */
  def notation(problem: Problem, configuration: Configuration): String

  /** What the letters of the notation stand for; empty when they are the attributes' own names. */
  def legend(problem: Problem): Seq[(String, String)]
}
