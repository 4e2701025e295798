package io.phantoms.spark.lab.windows

import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.SlicedWindow

/**
 * When the results of one window can be put together from those of another (Wu, Bernstein, Raizman, Pavlopoulou, Factor
 * Windows, arXiv 2008.12379): the phantoms of the windows.
 */
object FactorWindow {

  /**
   * Results of `factor` that make up one result of `window` without overlap, for any aggregate; None if they cannot.
   *
   * A window `[t - r, t)` is laid out from its end with results of the factor that end at t, t - r', t - 2r', ...: r'
   * divides r, every end of the window is one of the factor, and so is every end r' earlier.
   */
  def tiles(window: PeriodicWindow, factor: PeriodicWindow): Option[Long] = {
    val count = window.range / factor.range
    val fits = window != factor && window.range % factor.range == 0 && endsMeet(window, factor) &&
      (count == 1 || factor.range % factor.slide == 0)
    if (fits) Some(count) else None
  }

  /**
   * Results of `factor` that cover one result of `window` and nothing else, overlapping or not, for aggregates that may
   * see a row twice (min, max); None if they cannot. As few as possible: neighbours are a multiple of s' apart, at most
   * r', and the first and last end where the window's bounds ask for it.
   */
  def covers(window: PeriodicWindow, factor: PeriodicWindow): Option[Long] = {
    val rest = window.range - factor.range
    val step = factor.range / factor.slide * factor.slide
    val fits = window != factor && rest >= 0 && rest % factor.slide == 0 && endsMeet(window, factor) &&
      (rest == 0 || step > 0)
    if (!fits) None else if (rest == 0) Some(1L) else Some(1 + SlicedWindow.ceilDiv(rest, step))
  }

  private def endsMeet(window: PeriodicWindow, factor: PeriodicWindow): Boolean =
    window.slide % factor.slide == 0 && factor.endsAt(window.phase)
}

/**
 * Windows and the factor windows between them and the slices.
 *
 * @param windows the queries' windows first, then factor windows
 * @param queries how many are queries'
 * @param parents for each the window its results are put together from, or -1: from slices
 * @param merges partial aggregates or results merged into one result of each window, on average
 * @param cost merges per tick of all of them
 */
final case class FactorPlan(
    windows: Vector[PeriodicWindow],
    queries: Int,
    parents: Vector[Int],
    merges: Vector[Double],
    cost: Double
)

/**
 * Chooses factor windows for a set of windows with one common sliced window.
 *
 * A result of `W[r, s]` takes `gamma r` merges from slices, on average, or as many as [[FactorWindow.tiles]] says from
 * another window, and is due `1/s` times per tick; every window takes the cheapest. A factor window pays if it saves
 * more than its own `merges / s`. Only windows that begin and end at cuts of the common sliced window are candidates:
 * others would make slices finer for all.
 *
 * @param idempotent the aggregates may see a row twice: results may overlap
 */
final class FactorSearch(queries: Vector[PeriodicWindow], idempotent: Boolean) {
  require(queries.nonEmpty && queries.distinct.size == queries.size, "distinct windows, at least one")

  val common: SlicedWindow = SlicedWindow.common(queries)

  /** The plan without factor windows; queries may still be put together from one another. */
  def direct: FactorPlan = plan(Vector.empty)

  /** Adds, one at a time, the factor window that saves most. */
  def search: FactorPlan = {
    var best = direct
    var left = candidates
    var gaining = true
    while (gaining && left.nonEmpty) {
      val factor = left.maxBy(gain(best, _))
      val next = plan(best.windows.drop(queries.size) :+ factor)
      gaining = next.cost < best.cost * (1 - 1e-12)
      if (gaining) best = next
      left = left.filterNot(_ == factor)
    }
    best
  }

  /** The plan with these factor windows, every window fed by the cheapest. */
  def plan(factors: Vector[PeriodicWindow]): FactorPlan = {
    val windows = queries ++ factors
    val fed = windows.map { w =>
      windows.indices.foldLeft((fromSlices(w), -1)) { (best, i) =>
        pieces(w, windows(i)).filter(_ < best._1).fold(best)(n => (n.toDouble, i))
      }
    }
    val cost = windows.indices.iterator.map(i => fed(i)._1 / windows(i).slide).sum
    FactorPlan(windows, queries.size, fed.map(_._2), fed.map(_._1), cost)
  }

  // Merges per tick that `factor` saves the windows of a plan, less its own.
  private def gain(plan: FactorPlan, factor: PeriodicWindow): Double = {
    val saved = plan.windows.indices.iterator.map { i =>
      val w = plan.windows(i)
      pieces(w, factor).fold(0.0)(n => math.max(0.0, plan.merges(i) - n) / w.slide)
    }.sum
    val own = plan.windows.iterator.flatMap(pieces(factor, _)).map(_.toDouble).foldLeft(fromSlices(factor))(math.min)
    saved - own / factor.slide
  }

  private def fromSlices(w: PeriodicWindow): Double = common.rate * w.range

  /** Every window that begins and ends at common cuts and that some query can be put together from. */
  lazy val candidates: Vector[PeriodicWindow] = {
    // Distances between cuts are multiples of this, so only such ranges and slides can do.
    val unit = common.slices.foldLeft(common.period)(SlicedWindow.gcd)
    val found = for {
      w <- queries.iterator
      slide <- divisors(w.slide / unit).iterator.map(_ * unit)
      range <- (if (idempotent) (w.range % slide until w.range by slide).filter(_ > 0) else ranges(w, unit)).iterator
      factor = PeriodicWindow(range, slide, w.phase % slide)
      // Into one piece nothing is put together, and of one slice nothing is either.
      if common.rate * range > 1 && pieces(w, factor).exists(_ > 1) && common.answers(factor)
    } yield factor
    found.filterNot(queries.contains).toVector.distinct
  }

  private def ranges(w: PeriodicWindow, unit: Long): Vector[Long] =
    if (w.range % unit == 0) divisors(w.range / unit).map(_ * unit) else Vector.empty

  /** Of two windows that make up each other's results one has to come first. */
  private def pieces(window: PeriodicWindow, factor: PeriodicWindow): Option[Long] =
    if (!finer(factor, window)) None
    else if (idempotent) FactorWindow.covers(window, factor)
    else FactorWindow.tiles(window, factor)

  private def finer(a: PeriodicWindow, b: PeriodicWindow): Boolean =
    a.range < b.range || a.range == b.range && a.slide < b.slide

  private def divisors(n: Long): Vector[Long] = {
    val small = (1L to math.sqrt(n.toDouble).toLong).filter(n % _ == 0).toVector
    (small ++ small.map(n / _)).distinct.sorted
  }
}
