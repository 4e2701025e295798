package io.phantoms.spark.lab.windows

import io.phantoms.spark.model.{Machine, PeriodicWindow}
import io.phantoms.spark.windows.{SliceWidths, SlicedWindow}

/**
 * A window with its weights.
 *
 * @param copies queries that ask for it
 * @param width what merging one of its partial aggregates costs, in units of [[WindowWeights.merge]]
 */
final case class WeightedWindow(window: PeriodicWindow, copies: Int = 1, width: Double = 1.0) {
  require(copies >= 1 && width >= 0, s"copies $copies, width $width")
}

/**
 * What the papers' operation counts leave out.
 *
 * @param accumulate cost of accumulating one row into a partial aggregate
 * @param merge cost of merging one partial aggregate into a result
 * @param groups groups expected among the rows of so many ticks: each slice has a partial aggregate for each of them. 1
 *   for ungrouped queries, the papers' case.
 */
final case class WindowWeights(accumulate: Double, merge: Double, groups: Long => Double = _ => 1.0)

object WindowWeights {

  /** Costs in nanoseconds: a row probes an LFTA table, a partial aggregate is merged after the shuffle. */
  def of(machine: Machine, groups: Long => Double): WindowWeights =
    WindowWeights(machine.c1, machine.merge, groups)
}

/**
 * Inequality 1 of On-the-fly sharing with weights. Without sharing every copy of a window slices the input itself and
 * merges its own slices; with sharing the input is sliced once, and each distinct window merges the common slices:
 *
 * `accumulate (Sum copies_i - 1) lambda > merge (Gamma Sum width_i r_i/s_i - Sum copies_i width_i P_i r_i/s_i)`
 *
 * Gamma and P_i are partial aggregates per tick, of the common sliced window and of the window's own paired window:
 * the groups expected in each slice, summed over a period and divided by it. With all weights 1 they are gamma and
 * 2/s_i.
 */
final class WeightedWindowCost(weights: WindowWeights) {
  import WindowCost.overlap

  /** Partial aggregates per tick of slices of these widths. */
  def partials(slices: SliceWidths): Double = slices.perTick(weights.groups)

  /** Cost per tick without sharing. */
  def unshared(lambda: Double, windows: Seq[WeightedWindow]): WindowOperations =
    WindowOperations(
      weights.accumulate * lambda * windows.map(_.copies).sum,
      weights.merge * windows.map(w => w.copies * own(w)).sum
    )

  /**
   * Cost per tick with sharing.
   *
   * @param windows distinct ones
   * @param gamma partial aggregates per tick of the common slices, [[partials]]
   */
  def shared(lambda: Double, gamma: Double, windows: Seq[WeightedWindow]): WindowOperations =
    WindowOperations(
      weights.accumulate * lambda,
      weights.merge * gamma * windows.map(w => w.width * overlap(w.window)).sum
    )

  /** The rate of rows above which sharing costs less; infinite for a single query. */
  def threshold(gamma: Double, windows: Seq[WeightedWindow]): Double = {
    val queries = windows.map(_.copies).sum
    if (queries < 2) Double.PositiveInfinity
    else (shared(0, gamma, windows).finals - unshared(0, windows).finals) / (weights.accumulate * (queries - 1))
  }

  def share(lambda: Double, gamma: Double, windows: Seq[WeightedWindow]): Boolean = lambda > threshold(gamma, windows)

  private def own(w: WeightedWindow): Double =
    w.width * partials(SlicedWindow.paired(w.window).widths) * overlap(w.window)
}
