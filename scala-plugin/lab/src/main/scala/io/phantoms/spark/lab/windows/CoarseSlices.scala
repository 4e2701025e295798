package io.phantoms.spark.lab.windows

import io.phantoms.spark.windows.SlicedWindow

/**
 * Factor windows that need no alignment: every `size` consecutive slices are merged once into a block, and blocks into
 * larger ones, whatever their cuts. A result that needs slices `[a, b)` takes the slices before its first whole block,
 * the blocks, and the slices after its last.
 *
 * @param sizes slices in a block of each level above the slices, ascending, each a multiple of the one before; none:
 *   results are merged from slices alone
 */
final case class CoarseSlices(sizes: Vector[Int]) {
  require((1 +: sizes).sliding(2).forall(p => p.size < 2 || p(1) > p(0) && p(1) % p(0) == 0), s"not nested: $sizes")

  private val widths: Array[Int] = (1 +: sizes).toArray

  /** Slices and blocks whose union is the slices `[first, last)`, in order of time and as few as there can be. */
  def pieces(first: Int, last: Int): Vector[CoarseSlices.Piece] = {
    val found = Vector.newBuilder[CoarseSlices.Piece]
    var at = first
    while (at < last) {
      var level = widths.length - 1
      while (at % widths(level) != 0 || at + widths(level) > last) level -= 1
      found += CoarseSlices.Piece(level, at / widths(level))
      at += widths(level)
    }
    found.result()
  }

  /** How many pieces `[first, last)` takes. */
  def count(first: Int, last: Int): Long = {
    var n = 0L
    var a = first.toLong
    var b = last.toLong
    var level = 1
    // Outside whole blocks of a level, slices (or blocks of the level below) are taken singly, and the rest one up.
    while (level < widths.length && a < b) {
      val ratio = widths(level) / widths(level - 1)
      val up = SlicedWindow.ceilDiv(a, ratio.toLong)
      val down = b / ratio
      if (up > down) { n += b - a; a = b }
      else {
        n += up * ratio - a + b - down * ratio
        a = up
        b = down
      }
      level += 1
    }
    n + b - a
  }

  /** Merges that building all blocks of `slices` slices takes: at each level all that is there of the level below. */
  def building(slices: Int): Long =
    sizes.indices.iterator.map(i => (slices / sizes(i)).toLong * (sizes(i) / widths(i))).sum
}

object CoarseSlices {

  /** A slice (level 0) or a block: of its level the one numbered `index`. */
  final case class Piece(level: Int, index: Int)

  /** Results from slices alone. */
  val none: CoarseSlices = CoarseSlices(Vector.empty)

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
    improve(none, cost(none))
  }
}
