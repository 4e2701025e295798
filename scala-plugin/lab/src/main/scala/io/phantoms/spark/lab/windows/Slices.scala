package io.phantoms.spark.lab.windows

import java.util.Arrays

import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.{SliceManager, SliceWidths, SlicedWindow}

/**
 * The slices of several windows over a stretch of time, for a batch whose rows come in any order: slice i holds the rows
 * of `[boundaries(i), boundaries(i + 1))`.
 *
 * @param windows the windows answered
 * @param boundaries ascending; the first and the last bound the stretch and need not be cuts
 */
final class Slices private (val windows: Vector[PeriodicWindow], boundaries: Array[Long]) {

  def size: Int = boundaries.length - 1
  def from: Long = boundaries(0)
  def until: Long = boundaries(size)

  def startOf(slice: Int): Long = boundaries(slice)
  def endOf(slice: Int): Long = boundaries(slice + 1)

  /** Cuts strictly inside the stretch and at its end. */
  def cuts: Vector[Long] = boundaries.toVector.tail

  def widths: SliceWidths = SliceWidths.of((0 until size).iterator.map(s => endOf(s) - startOf(s)), until - from)

  /** The slice a row of time `t` belongs to; -1 if `t` is outside the stretch. */
  def sliceOf(t: Long): Int =
    if (t < from || t >= until) -1
    else {
      val at = Arrays.binarySearch(boundaries, t)
      if (at >= 0) at else -at - 2
    }

  /**
   * The results of a window that have rows in the stretch, by their ends: for each the slices `[first, last)` to combine.
   * Windows that reach over an end of the stretch consist of what of it they hold.
   */
  def results(window: Int): Iterator[Slices.Result] = {
    val w = windows(window)
    // A window of range r that holds a row at or after `from` ends after `from`; one that holds a row before `until`
    // begins before it.
    Iterator.iterate(w.endAfter(from))(_ + w.slide).takeWhile(_ - w.range < until)
      .map(end => Slices.Result(end, lowerBound(end - w.range), lowerBound(end)))
      .filter(r => r.first < r.last)
  }

  /** Partial aggregates that all results of a window combine: the exact count behind the E r/s of Table 3. */
  def merges(window: Int): Long = results(window).map(r => (r.last - r.first).toLong).sum

  // The slice that begins at t, or the nearest bound of the stretch.
  private def lowerBound(t: Long): Int =
    if (t <= from) 0
    else if (t >= until) size
    else {
      val at = Arrays.binarySearch(boundaries, t)
      require(at >= 0, s"$t is not a cut")
      at
    }
}

object Slices {

  /**
   * One result of a window.
   *
   * @param end when it is due
   * @param first first slice of it
   * @param last the slice after its last
   */
  final case class Result(end: Long, first: Int, last: Int) {
    def size: Int = last - first
  }

  /**
   * The slices of `[from, until)`.
   *
   * @param sliced how each window is cut; it has to answer the window
   */
  def over(
      windows: Seq[PeriodicWindow],
      from: Long,
      until: Long,
      sliced: PeriodicWindow => SlicedWindow = SlicedWindow.paired
  ): Slices = {
    require(from < until, s"empty stretch [$from, $until)")
    val manager = new SliceManager(from)
    windows.distinct.zipWithIndex.foreach { case (w, i) => manager.join(i, sliced(w)) }
    val inside = Iterator.continually(manager.advance()).map(_.getOrElse(until)).takeWhile(_ < until)
    new Slices(windows.toVector, ((Iterator.single(from) ++ inside) ++ Iterator.single(until)).toArray)
  }
}
