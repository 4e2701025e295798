package io.phantoms.spark.cost

import scala.collection.immutable.BitSet

import io.phantoms.spark.model.Statistics

/**
 * Statistics of a part of a workload: those of its input, cut into slices and fragments.
 *
 * Within a slice, or among the rows of a fragment, fewer of a grouping's groups occur than in all rows, see
 * [[CollisionModel.occupied]].
 *
 * @param base of the whole input
 * @param slice ordinal of the attribute that tells slices apart, with their number
 * @param fragment ordinal of the attribute that tells fragments apart
 * @param shares of the input's rows in each fragment; rows in none are not read further than their predicates
 */
private[spark] final class PartStatistics(
    base: Statistics,
    slice: Option[(Int, Double)],
    fragment: Option[Int],
    shares: IndexedSeq[Double]
) extends Statistics {
  private val share = math.min(1.0, shares.sum)
  private val own = BitSet.fromSpecific(slice.map(_._1) ++ fragment)

  override val rows: Double = base.rows * share

  override def groups(keys: BitSet): Double = {
    val g = base.groups(keys &~ own)
    val slices = slice.filter(s => keys(s._1)).fold(1.0)(_._2)
    val parts = if (fragment.exists(keys)) shares else IndexedSeq(share)
    val occurring = parts.map(s => slices * CollisionModel.occupied(base.rows * s / slices, g)).sum
    // All rows of the input show all groups, by definition.
    val all = if (share == 1.0 && slices == 1.0 && parts.size == 1) g else occurring
    math.max(1.0, math.min(all, rows))
  }

  override def flowLength(keys: BitSet): Double = base.flowLength(keys &~ own)
}
