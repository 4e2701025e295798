package io.phantoms.spark.decide

import io.phantoms.spark.detect.{DeclineReason, Workload}
import io.phantoms.spark.model.{Choice, Configuration, Problem, RunnerUp}
import io.phantoms.spark.verify.Verifiable

/** What became of one place in a plan where aggregates could have been shared. */
sealed trait Decision {

  /** One line naming the operator the decision is about. */
  def subject: String
}

/**
 * The workload was rewritten.
 *
 * @param notation the configuration as `ABCD(AB BCD(BC BD CD))`
 * @param problem what the chooser was given: names of the keys, statistics
 * @param legend what the letters of the notation stand for; empty when they are the keys' own names
 * @param verifiable whether plain Spark's plan may run beside it; None: nobody asked for that
 */
final case class Shared(
    subject: String,
    workload: Workload,
    configuration: Configuration,
    choice: Choice,
    notation: String,
    problem: Problem,
    legend: Seq[(String, String)],
    verifiable: Option[Verifiable] = None
) extends Decision {

  /** The same, chosen before another form of the workload. */
  def before(other: Shared): Shared = {
    val second = RunnerUp(s"${other.workload.form}:", other.choice.cost, other.problem, other.configuration)
    if (choice.runnerUp.exists(_.cost <= second.cost)) this else copy(choice = choice.copy(runnerUp = Some(second)))
  }
}

/** The plan was left as it was. */
final case class Declined(subject: String, reason: DeclineReason) extends Decision
