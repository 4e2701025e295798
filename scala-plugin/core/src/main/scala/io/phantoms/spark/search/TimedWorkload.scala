package io.phantoms.spark.search

import scala.collection.immutable.BitSet

import io.phantoms.spark.fragments.Fragments
import io.phantoms.spark.model.{Choice, Problem, RunnerUp}
import io.phantoms.spark.windows.PeriodicWindow

/**
 * A query that may ask for windows, and for some of the rows only.
 *
 * @param keys its grouping, ordinals into the workload's attributes
 * @param window None: all rows at once
 * @param predicate ordinal of its predicate; None: all rows
 */
final case class TimedQuery(keys: BitSet, window: Option[PeriodicWindow] = None, predicate: Option[Int] = None)

/**
 * Queries over one input that differ in grouping, window and predicate.
 *
 * @param plain attributes, statistics, machine and memory; its queries are the groupings of `queries`, in their order
 * @param span ticks from the first row's time to the last one's
 * @param fragments rows by which predicates they satisfy; frequencies count as shares of the input's rows
 */
final case class TimedWorkload(plain: Problem, queries: Vector[TimedQuery], span: Long, fragments: Fragments) {
  require(plain.queries == queries.map(_.keys), "the groupings of the queries")
  require(span > 0, s"a span of $span ticks")
  require(
    queries.forall(_.predicate.forall(p => p >= 0 && p < fragments.queries)),
    s"a query names a predicate beyond ${fragments.queries}"
  )

  /** Share of the rows that a query wants. */
  def selectivity(query: TimedQuery): Double = query.predicate match {
    case Some(p) if fragments.rows > 0 => fragments.rowsOf(p).toDouble / fragments.rows
    case _ => 1.0
  }
}

object TimedWorkload {

  /** A workload of groupings alone. */
  def of(problem: Problem): TimedWorkload =
    TimedWorkload(problem, problem.queries.map(TimedQuery(_)).toVector, 1, Fragments(0, Nil))
}

/**
 * Queries of a workload that share slices and fragments.
 *
 * @param queries ordinals of its queries
 * @param problem their groupings, with the slice and the fragment of a row as further attributes where they matter
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
 * What is maintained for a workload.
 *
 * @param parts each read the input once; several are several executions
 * @param cost elapsed nanoseconds of all parts
 * @param costWithout of plain Spark
 * @param runnerUp the best of the other answers considered
 */
final case class TimedChoice(parts: Vector[SharedPart], cost: Double, costWithout: Double, runnerUp: Option[RunnerUp]) {

  /** By which part of its own cost the choice is ahead of the runner-up. */
  def margin: Option[Double] = runnerUp.map(_.cost / cost - 1)
}
