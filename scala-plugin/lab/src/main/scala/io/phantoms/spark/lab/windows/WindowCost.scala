package io.phantoms.spark.lab.windows

import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.SlicedWindow

/**
 * Aggregate operations per tick.
 *
 * @param partial rows accumulated into partial aggregates
 * @param finals partial aggregates merged into results
 */
final case class WindowOperations(partial: Double, finals: Double) {
  def total: Double = partial + finals
}

/**
 * What windowed aggregates cost in aggregate operations, each row accumulated and each partial aggregate merged counting
 * one (On-the-fly sharing, section 3; Shared hierarchical aggregation, sections 3.3 and 4). Rates are per tick; lambda
 * is rows, gamma the cuts of the common sliced window ([[EdgeRate]]).
 *
 * The papers give paired windows two slices throughout, their worst case. Here a window whose range is a multiple of its
 * slide has one, [[PeriodicWindow.pairedSlices]].
 */
object WindowCost {

  /** Tables 1 (Shared hierarchical) and 2 (On-the-fly), paned: lambda + (1/g)(r/s). */
  def paned(lambda: Double, window: PeriodicWindow): WindowOperations =
    WindowOperations(lambda, SlicedWindow.paned(window).rate * overlap(window))

  /** Tables 1 (Shared hierarchical) and 2 (On-the-fly), paired: lambda + (2/s)(r/s). */
  def paired(lambda: Double, window: PeriodicWindow): WindowOperations =
    WindowOperations(lambda, pairedRate(window) * overlap(window))

  /** Aggregates one query holds at a time, paned or paired: its slice and the results under way (Table 1). */
  def space(window: PeriodicWindow): Double = 1 + overlap(window)

  /** n lambda and Sum 2 r_i/s_i^2 (Shared hierarchical, Table 2). */
  def unshared(lambda: Double, windows: Seq[PeriodicWindow]): WindowOperations =
    WindowOperations(windows.size * lambda, ownMerges(windows))

  /** lambda and gamma Sum r_i/s_i (Shared hierarchical, Table 3). */
  def shared(lambda: Double, gamma: Double, windows: Seq[PeriodicWindow]): WindowOperations =
    WindowOperations(lambda, gamma * windows.map(overlap).sum)

  /** Aggregates held without sharing: a slice of each query, and the results under way (Table 2). */
  def unsharedSpace(windows: Seq[PeriodicWindow]): Double = windows.size + windows.map(overlap).sum

  /** Aggregates held with sharing: one slice, and the results under way (Table 3). */
  def sharedSpace(windows: Seq[PeriodicWindow]): Double = 1 + windows.map(overlap).sum

  /**
   * The rate of rows above which sharing costs less (On-the-fly sharing, inequality 1; Shared hierarchical, 3):
   * `(gamma Sum r_i/s_i - 2 Sum r_i/s_i^2) / (n - 1)`. Infinite for fewer than two windows.
   */
  def threshold(gamma: Double, windows: Seq[PeriodicWindow]): Double =
    if (windows.size < 2) Double.PositiveInfinity
    else (gamma * windows.map(overlap).sum - ownMerges(windows)) / (windows.size - 1)

  /** Whether sharing costs less. */
  def share(lambda: Double, gamma: Double, windows: Seq[PeriodicWindow]): Boolean = lambda > threshold(gamma, windows)

  /**
   * Partial and final operations in one common period S without sharing (On-the-fly sharing, Table 3):
   * `n |T|` and `Sum (S/s_i) ceil(2 r_i/s_i)`. The ceiling is the paper's; a paired window really has
   * `2 floor(r/s) + 1` slices, one fewer where `r mod s > s/2`.
   *
   * @param tuples |T|, rows in a common period
   */
  def unsharedPeriod(tuples: Double, windows: Seq[PeriodicWindow]): WindowOperations = {
    val period = SlicedWindow.commonPeriod(windows.map(_.slide))
    val finals = windows.map { w =>
      val slices = SlicedWindow.ceilDiv(Math.multiplyExact(w.range, w.pairedSlices.toLong), w.slide)
      (period / w.slide).toDouble * slices
    }
    WindowOperations(windows.size * tuples, finals.sum)
  }

  /** Partial and final operations in one common period with sharing (Table 3): `|T|` and `Sum E r_i/s_i`. */
  def sharedPeriod(tuples: Double, windows: Seq[PeriodicWindow]): WindowOperations = {
    val edges = SlicedWindow.common(windows).size
    WindowOperations(tuples, windows.map(w => edges * overlap(w)).sum)
  }

  /** r/s: windows a row is in. */
  private[windows] def overlap(window: PeriodicWindow): Double = window.range.toDouble / window.slide

  /** Slices per tick of the window's paired window. */
  private[windows] def pairedRate(window: PeriodicWindow): Double = window.pairedSlices.toDouble / window.slide

  private def ownMerges(windows: Seq[PeriodicWindow]): Double = windows.map(w => pairedRate(w) * overlap(w)).sum
}
