package io.phantoms.spark.windows

/**
 * Where time is cut over and over: at every `t` with `t mod period = offset`, in ticks.
 *
 * @param offset in `[0, period)`
 */
final case class Cut(period: Long, offset: Long) {

  /** The last cut at or before `t`. */
  def last(t: Long): Long = t - Math.floorMod(t - offset, period)

  /** Whether every cut of another one is one of these. */
  def covers(other: Cut): Boolean = other.period % period == 0 && other.offset % period == offset
}

object Cut {

  /** The cuts of windows `[begin + k slide, begin + k slide + range)`: where they begin, and where they end. */
  def ofWindow(range: Long, slide: Long, begin: Long): Seq[Cut] =
    Seq(begin, begin + range).map(t => Cut(slide, Math.floorMod(t, slide))).distinct
}

/**
 * The slice of many windows' common sliced window (On-the-fly sharing, section 3.3) that a time falls into, by when that
 * slice begins. What algorithm 1 does with a queue for times that ascend is done here for times in any order: all cuts lie
 * on a grid, and the slices of squares that were met lately are kept.
 *
 * Not for several threads.
 */
final class SliceIndex(cuts: Seq[Cut]) {
  require(cuts.nonEmpty, "nothing cuts")

  private val (periods, offsets) = {
    // Where a window is as long as its slide, or its slide a multiple of another one's, fewer say the same.
    val distinct = cuts.distinct
    val needed = distinct.filterNot(c => distinct.exists(d => d != c && d.covers(c)))
    (needed.map(_.period).toArray, needed.map(_.offset).toArray)
  }

  /** The width of the grid's squares. */
  val unit: Long =
    offsets.map(o => math.abs(o - offsets(0))).foldLeft(periods.reduce(SlicedWindow.gcd))(SlicedWindow.gcd)

  private val squares = Array.fill(SliceIndex.Kept)(Long.MinValue)
  private val begins = new Array[Long](SliceIndex.Kept)

  /** When the slice begins that `t` is in. */
  def begin(t: Long): Long =
    if (periods.length == 1) t - Math.floorMod(t - offsets(0), periods(0))
    else {
      val square = Math.floorDiv(t - offsets(0), unit)
      val slot = square.toInt & (SliceIndex.Kept - 1)
      if (squares(slot) != square) {
        begins(slot) = search(t)
        squares(slot) = square
      }
      begins(slot)
    }

  private def search(t: Long): Long = {
    var found = Long.MinValue
    var i = 0
    while (i < periods.length) {
      found = math.max(found, t - Math.floorMod(t - offsets(i), periods(i)))
      i += 1
    }
    found
  }
}

object SliceIndex {

  /** Squares of the grid that are kept. */
  private val Kept = 1 << 12
}
