package io.phantoms.spark.search

import io.phantoms.spark.model.{Choice, Problem, RunnerUp}

/**
 * Queries of a problem that share slices and fragments.
 *
 * @param queries ordinals of its queries
 * @param problem their groupings, with the slice and the signature of a row as further attributes where they matter
 * @param slices slices of the span; 0: no windows
 * @param fragments fragments told apart; 0: none
 * @param choice what is maintained for them
 * @param finals elapsed nanoseconds of merging slices and fragments into results
 * @param unwanted elapsed nanoseconds of reading rows that none of the queries wants
 */
final case class SharedPart(
    queries: Vector[Int],
    problem: Problem,
    slices: Double,
    fragments: Int,
    choice: Choice,
    finals: Double,
    unwanted: Double
) {

  /** Elapsed nanoseconds. */
  def cost: Double = choice.cost + finals + unwanted
}

/**
 * What is maintained for all queries of a problem.
 *
 * @param parts each read the input once; several are several executions
 * @param cost elapsed nanoseconds of all parts
 * @param costWithout of plain Spark
 * @param runnerUp the best of the other answers considered
 */
final case class PartedChoice(
    parts: Vector[SharedPart],
    cost: Double,
    costWithout: Double,
    runnerUp: Option[RunnerUp]
) {

  /** By which part of its own cost the choice is ahead of the runner-up. */
  def margin: Option[Double] = runnerUp.map(_.cost / cost - 1)
}
