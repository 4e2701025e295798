package io.phantoms.spark.windows

import io.phantoms.spark.model.PeriodicWindow

/**
 * A sliced window W(s_1, ..., s_m) (On-the-fly sharing, definition 2): the stream is cut at every `t` with
 * `t mod period` equal to one of the edges, and each slice is aggregated once.
 *
 * @param period sum of the slices, in ticks
 * @param edges where slices end, ascending, in `(0, period]`. The paper's sliced windows all have an edge at the end of
 *   their period; those of windows with a phase need not, and their first slice then begins in the period before.
 */
final case class SlicedWindow(period: Long, edges: Vector[Long]) {
  require(period > 0 && edges.nonEmpty, "a sliced window has a period and an edge")
  require(edges.head > 0 && edges.last <= period, s"edges outside (0, $period]")
  require(edges.indices.drop(1).forall(i => edges(i - 1) < edges(i)), "edges ascend")

  /** Widths s_1, ..., s_m: the slice that ends at each edge. */
  def slices: Vector[Long] = ((edges.last - period) +: edges).sliding(2).map(p => p(1) - p(0)).toVector

  def widths: SliceWidths = SliceWidths.of(slices.iterator, period)

  /** |W|: slices in a period. */
  def size: Int = edges.size

  /** Slices per tick, the rate at which partial aggregates are produced (gamma, E/S; beta in Shared hierarchical). */
  def rate: Double = size.toDouble / period

  private lazy val residues: Set[Long] = edges.iterator.map(_ % period).toSet

  /** Whether the stream is cut at `t`. */
  def hasEdge(t: Long): Boolean = residues(Math.floorMod(t, period))

  /** The same cuts, written with a period `factor` times as long (the paper's W^factor). */
  def stretch(factor: Int): SlicedWindow = {
    require(factor > 0, s"factor $factor")
    SlicedWindow(
      Math.multiplyExact(period, factor.toLong),
      Vector.tabulate(factor)(k => edges.map(_ + k * period)).flatten
    )
  }

  /**
   * Whether every window of `window` is a union of slices. With one period and phase 0 that is Lemma 1: some last slices
   * of the period add up to `range mod slide`.
   */
  def answers(window: PeriodicWindow): Boolean = {
    // Ends repeat with the slide and cuts with the period, so ends meet every gcd-th place of the period.
    val step = SlicedWindow.gcd(period, window.slide)
    (0L until period / step).forall { k =>
      val end = window.phase + k * step
      hasEdge(end) && hasEdge(end - window.range)
    }
  }
}

object SlicedWindow {

  /** W(s_1, ..., s_m). */
  def of(first: Long, others: Long*): SlicedWindow = {
    require(first > 0 && others.forall(_ > 0), "slices are positive")
    val edges = others.scanLeft(first)(_ + _).toVector
    SlicedWindow(edges.last, edges)
  }

  /** The paned window X(g, ..., g) of a window: slices of the greatest common divisor of range and slide. */
  def paned(window: PeriodicWindow): SlicedWindow = {
    val g = gcd(window.range, window.slide)
    at(window.slide, (0L until window.slide / g).map(k => window.phase + k * g))
  }

  /** The paired window Y(s - r mod s, r mod s): cut only where a window begins or ends. */
  def paired(window: PeriodicWindow): SlicedWindow =
    at(window.slide, Seq(window.phase, window.phase - window.range))

  /**
   * The common sliced window: every cut of every part, over the lowest common multiple of the periods. Theorem 1: no
   * sliced window that answers the same windows has fewer slices than the composition of their paired windows.
   *
   * @throws ArithmeticException if the common period does not fit a Long. Its edges are as many as the periods are
   *   unlike: [[EdgeRate]] and [[SliceManager]] do without them.
   */
  def compose(parts: Seq[SlicedWindow]): SlicedWindow = {
    require(parts.nonEmpty, "nothing to compose")
    val period = commonPeriod(parts.map(_.period))
    val stretched = parts.distinct.map(p => p.stretch(Math.toIntExact(period / p.period)).edges)
    SlicedWindow(period, stretched.flatten.distinct.sorted.toVector)
  }

  /** The common sliced window of the windows' paired windows. */
  def common(windows: Seq[PeriodicWindow]): SlicedWindow = compose(windows.map(paired))

  /** Lowest common multiple of the periods; ArithmeticException if it does not fit a Long. */
  def commonPeriod(periods: Seq[Long]): Long =
    periods.distinct.foldLeft(1L)((lcm, p) => Math.multiplyExact(lcm, p / gcd(lcm, p)))

  private def at(period: Long, times: Seq[Long]): SlicedWindow =
    SlicedWindow(period, times.map(t => period - Math.floorMod(-t, period)).distinct.sorted.toVector)

  @scala.annotation.tailrec
  private[spark] def gcd(a: Long, b: Long): Long = if (b == 0) a else gcd(b, a % b)

  private[spark] def ceilDiv(a: Long, b: Long): Long = -Math.floorDiv(-a, b)
}
