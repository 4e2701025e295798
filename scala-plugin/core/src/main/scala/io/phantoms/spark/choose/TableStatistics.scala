package io.phantoms.spark.choose

import scala.collection.immutable.BitSet

/**
 * Statistics from a table of known group counts.
 *
 * The count of an unknown set of attributes is the product of the smallest cover by known sets, as if they were
 * independent, kept between what is certain: at least its largest known subset, at most any known superset, at most the
 * rows.
 *
 * @param rows rows of the input
 * @param known groups of some sets of attributes
 * @param flowLength l_a of every relation that has none of its own
 * @param flowLengths l_a of some relations
 */
final case class TableStatistics(
    rows: Double,
    known: Map[BitSet, Double],
    flowLength: Double = 1.0,
    flowLengths: Map[BitSet, Double] = Map.empty
) extends Statistics {
  require(rows >= 0, s"rows: $rows")
  known.foreach { case (keys, n) => require(n >= 0, s"groups of ${keys.mkString("{", ",", "}")}: $n") }
  require((flowLengths.values ++ Seq(flowLength)).forall(_ >= 1), "a flow length is at least 1")

  private val most = math.max(1.0, rows)

  // Widest first, then fewest groups: the order in which a cover takes them.
  private val parts: Vector[(BitSet, Double)] = known.toVector.filter(_._1.nonEmpty)
    .map { case (keys, n) => (keys, math.min(most, math.max(1.0, n))) }
    .sortBy { case (keys, n) => (-keys.size, n, keys.mkString(",")) }

  override def flowLength(keys: BitSet): Double = flowLengths.getOrElse(keys, flowLength)

  override def groups(keys: BitSet): Double =
    if (keys.isEmpty) 1.0
    else known.get(keys).fold(estimated(keys))(n => math.min(most, math.max(1.0, n)))

  private def estimated(keys: BitSet): Double = {
    val subsets = parts.filter(_._1.subsetOf(keys))
    val atLeast = subsets.iterator.map(_._2).maxOption.getOrElse(1.0)
    val atMost = parts.iterator.filter(p => keys.subsetOf(p._1)).map(_._2).minOption.getOrElse(most)
    // Two covers, from the widest part down and from single attributes up; the smaller product is the better bound.
    val product = math.min(cover(keys, subsets), cover(keys, subsets.reverse))
    math.max(atLeast, math.min(atMost, math.min(most, product)))
  }

  // An attribute nothing is known of may be as fine as the rows.
  private def cover(keys: BitSet, subsets: Vector[(BitSet, Double)]): Double = {
    var uncovered = keys
    var product = 1.0
    subsets.foreach { case (part, n) =>
      if (part.exists(uncovered)) {
        uncovered = uncovered.diff(part)
        product *= n
      }
    }
    if (uncovered.isEmpty) product else most
  }
}
