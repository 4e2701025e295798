package io.phantoms.spark.windows

/**
 * How many slices of which width there are, of a common sliced window over its period or of a stretch of time: all that
 * costs depend on. A stretch does where the common period is too long to compose.
 *
 * @param counts width in ticks and number of slices, by width
 * @param ticks length of the period or stretch
 */
final case class SliceWidths(counts: Vector[(Long, Long)], ticks: Long) {
  require(ticks > 0, s"$ticks ticks")

  /** Slices per tick: gamma. */
  def rate: Double = perTick(_ => 1.0)

  /** Per tick, the sum of a value that slices have by their width. */
  def perTick(value: Long => Double): Double = counts.iterator.map { case (w, n) => n * value(w) }.sum / ticks
}

object SliceWidths {
  def of(slices: Iterator[Long], ticks: Long): SliceWidths =
    SliceWidths(slices.toVector.groupMapReduce(identity)(_ => 1L)(_ + _).toVector.sorted, ticks)
}
