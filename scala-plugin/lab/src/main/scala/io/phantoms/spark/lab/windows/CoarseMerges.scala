package io.phantoms.spark.lab.windows

import io.phantoms.spark.windows.CoarseSlices

/** What blocks of slices save over a stretch of time whose slices are known. */
object CoarseMerges {

  /** Merges for blocks and for every result of every window over a stretch of time. */
  def merges(slices: Slices, coarse: CoarseSlices): Long =
    coarse.building(slices.size) + slices.windows.indices.iterator
      .flatMap(slices.results).map(r => coarse.count(r.first, r.last)).sum

  /**
   * The block sizes that take fewest merges: the best single level of 2, 3, 4, 6, 8, 12, ... slices, and levels above and
   * below it as long as they save.
   */
  def choose(slices: Slices): CoarseSlices = {
    val results = slices.windows.indices.iterator.flatMap(slices.results).toVector
    def cost(c: CoarseSlices): Long =
      c.building(slices.size) + results.iterator.map(r => c.count(r.first, r.last)).sum
    val sizes =
      Iterator.iterate(2L)(_ * 2).flatMap(n => Iterator(n, n / 2 * 3)).takeWhile(_ <= slices.size).map(_.toInt)
        .toVector.distinct
    def improve(best: CoarseSlices, at: Long): CoarseSlices = {
      val nested = sizes.filterNot(best.sizes.contains).map(s => (best.sizes :+ s).sorted)
        .filter(s => s.sliding(2).forall(p => p.size < 2 || p(1) % p(0) == 0)).map(CoarseSlices(_))
      val next = nested.map(c => (cost(c), c)).minByOption(_._1)
      next.filter(_._1 < at).fold(best) { case (n, c) => improve(c, n) }
    }
    improve(CoarseSlices.none, cost(CoarseSlices.none))
  }
}
