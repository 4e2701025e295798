package io.phantoms.spark.model

/**
 * A periodic window W[r, s] (On-the-fly sharing, definition 1), in ticks of any unit: whenever `t mod slide = phase` a
 * result is due over the rows of `[t - range, t)`.
 *
 * The paper's windows all have phase 0. Spark's `window(ts, range, slide, start)` begins its windows, and does not end
 * them, at multiples of the slide: [[PeriodicWindow.startingAt]].
 *
 * @param range width r of every window
 * @param slide period s
 * @param phase where in a period windows end, in `[0, slide)`
 */
final case class PeriodicWindow(range: Long, slide: Long, phase: Long = 0) {
  require(range > 0 && slide > 0, s"range and slide are positive: $range, $slide")
  require(phase >= 0 && phase < slide, s"phase $phase outside the slide $slide")

  /** r > s: a row is in several windows. */
  def isOverlapping: Boolean = range > slide

  /** r = s: every row is in one window. */
  def isTumbling: Boolean = range == slide

  /** r < s: rows between two windows are in none. */
  def isHopping: Boolean = range < slide

  /** Whether a window ends at `t`. */
  def endsAt(t: Long): Boolean = Math.floorMod(t - phase, slide) == 0

  /** The first end of a window that is later than `t`. */
  def endAfter(t: Long): Long = t + slide - Math.floorMod(t - phase, slide)

  /** Whether a window begins or ends at `t`. */
  def hasEdge(t: Long): Boolean = endsAt(t) || endsAt(t + range)

  /** Slices of its paired window in each period: one when the range is a multiple of the slide, two otherwise. */
  def pairedSlices: Int = if (range % slide == 0) 1 else 2
}

object PeriodicWindow {

  /** Windows `[start + k slide, start + k slide + range)` for every integer k, as Spark defines them. */
  def startingAt(range: Long, slide: Long, start: Long = 0): PeriodicWindow =
    PeriodicWindow(range, slide, Math.floorMod(Math.addExact(Math.floorMod(start, slide), range), slide))
}
