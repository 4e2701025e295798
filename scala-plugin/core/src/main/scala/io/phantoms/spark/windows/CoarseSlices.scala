package io.phantoms.spark.windows

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

  /** How many pieces a run of so many slices takes on average, wherever it begins. */
  def expected(run: Double): Double = {
    val (rest, single) = widths.indices.drop(1).foldLeft((run, 0.0)) { case ((left, taken), level) =>
      val ratio = widths(level) / widths(level - 1)
      val whole = math.max(0.0, (left - ratio + 1) / ratio)
      (whole, taken + left - whole * ratio)
    }
    single + rest
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

  /**
   * The sizes, powers of two, that take fewest merges for windows that merge all of `slices` slices, each so many in a
   * row: the one size that is best, and others below and above it as long as they save.
   *
   * @param runs of each window, slices in a row that it merges into one
   */
  def best(slices: Int, runs: Seq[Double]): CoarseSlices = {
    val lengths = runs.map(r => math.max(1.0, r))
    def cost(c: CoarseSlices): Double =
      c.building(slices) + lengths.iterator.map(r => slices / r * c.expected(r)).sum
    def improve(best: CoarseSlices, at: Double): CoarseSlices = {
      val more = Sizes.filterNot(best.sizes.contains).map(s => CoarseSlices((best.sizes :+ s).sorted))
      val (least, found) = more.map(c => (cost(c), c)).minBy(_._1)
      if (least < at * ClearGain && best.sizes.size < MostLevels) improve(found, least) else best
    }
    improve(none, cost(none))
  }

  // Smaller blocks take too much room for what they save.
  private val Sizes = Vector.iterate(4, 9)(_ * 2)
  private val MostLevels = 3

  /** Blocks take memory: they have to save this much of the merges. */
  private val ClearGain = 0.9
}
