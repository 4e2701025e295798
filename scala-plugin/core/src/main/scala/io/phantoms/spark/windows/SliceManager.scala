package io.phantoms.spark.windows

import io.phantoms.spark.model.PeriodicWindow

import scala.collection.mutable

/**
 * Where the slices of many windows end, on the fly (On-the-fly sharing, algorithm 1): a priority queue holds the next
 * cut of every query's sliced window, so that the common sliced window, whose period can be astronomic, is never
 * composed. A cut costs O(log n) for each query that makes it; queries join and leave at any time.
 *
 * @param start no cut at or before this time is reported
 */
final class SliceManager(start: Long = 0) {
  import SliceManager._

  private val pending = mutable.PriorityQueue.empty[Pending](Ordering.by((p: Pending) => (p.time, p.query)).reverse)
  private val cursors = mutable.HashMap.empty[Int, Cursor]
  private var generations = 0
  private var now = start

  /** Time of the last cut reported, or what the manager started with. */
  def time: Long = now

  /** Queries that take part. */
  def queries: Set[Int] = cursors.keySet.toSet

  /**
   * A query joins: its cuts later than `at` count.
   *
   * Windows keep their phase, as Spark's do, so the first complete result of the query is that of its first window that
   * begins at or after `at`. Algorithm 1 counts time from the moment a query joins instead: there its phase is
   * `at mod slide`.
   *
   * @param at not before [[time]]
   */
  def join(query: Int, window: SlicedWindow, at: Long): Unit = {
    require(!cursors.contains(query), s"query $query takes part already")
    require(at >= now, s"cannot join at $at: the stream is cut up to $now")
    generations += 1
    val cursor = new Cursor(window, generations)
    cursors(query) = cursor
    pending += Pending(cursor.seek(at), query, generations)
  }

  def join(query: Int, window: SlicedWindow): Unit = join(query, window, now)

  /** A query leaves: its cuts no longer count, unless another query makes them too. */
  def leave(query: Int): Unit = {
    require(cursors.remove(query).nonEmpty, s"query $query does not take part")
    // Its entry stays in the queue until it surfaces; when most entries are of queries gone, they are thrown out.
    if (pending.size > 2 * cursors.size + 16) {
      val alive = pending.iterator.filter(isAlive).toVector
      pending.clear()
      pending ++= alive
    }
  }

  /** The next cut, without advancing to it; None if no query takes part. */
  def peek: Option[Long] = {
    while (pending.nonEmpty && !isAlive(pending.head)) pending.dequeue()
    pending.headOption.map(_.time)
  }

  /** Advances to the next cut and returns it; None if no query takes part. */
  def advance(): Option[Long] = {
    val cut = peek
    cut.foreach { t =>
      now = t
      while (pending.nonEmpty && pending.head.time == t) {
        val p = pending.dequeue()
        if (isAlive(p)) pending += p.copy(time = cursors(p.query).next())
      }
    }
    cut
  }

  private def isAlive(p: Pending): Boolean = cursors.get(p.query).exists(_.generation == p.generation)
}

object SliceManager {

  // A query that left and joined again has another generation.
  private final case class Pending(time: Long, query: Int, generation: Int)

  private final class Cursor(val window: SlicedWindow, val generation: Int) {
    // Position in `edges` of the pending cut, and the begin of the period it belongs to.
    private var at = 0
    private var base = 0L

    def seek(after: Long): Long = {
      base = Math.floorDiv(after, window.period) * window.period
      at = window.edges.indexWhere(e => base + e > after)
      // The last edge may lie before the end of the period.
      if (at < 0) { at = 0; base += window.period }
      base + window.edges(at)
    }

    def next(): Long = {
      at += 1
      if (at == window.size) { at = 0; base += window.period }
      base + window.edges(at)
    }
  }

  /** A manager of the paired windows of `windows`; query i is the i-th window. */
  def of(windows: Seq[PeriodicWindow], start: Long = 0): SliceManager = {
    val manager = new SliceManager(start)
    windows.zipWithIndex.foreach { case (w, i) => manager.join(i, SlicedWindow.paired(w)) }
    manager
  }
}
