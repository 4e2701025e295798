package io.phantoms.spark.model

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
 * @param depthFlowLengths l_a at depths 2, 3, ... of a feeding tree; the last one holds further down
 * @param span as in [[Statistics.span]]
 * @param signatures as in [[Statistics.signatures]]
 */
final case class TableStatistics(
    rows: Double,
    known: Map[BitSet, Double],
    flowLength: Double = 1.0,
    flowLengths: Map[BitSet, Double] = Map.empty,
    depthFlowLengths: IndexedSeq[Double] = Vector.empty,
    override val span: Long = 1L,
    override val signatures: Seq[(BitSet, Long)] = Nil
) extends Statistics {
  require(rows >= 0, s"rows: $rows")
  require(span > 0, s"a span of $span ticks")
  known.foreach { case (keys, n) => require(n >= 0, s"groups of ${keys.mkString("{", ",", "}")}: $n") }
  require(
    (flowLengths.values ++ Seq(flowLength) ++ depthFlowLengths).forall(_ >= 1),
    "a flow length is at least 1"
  )

  private val most = math.max(1.0, rows)

  // Widest first, then fewest groups: the order in which a cover takes them.
  private val parts: Array[TableStatistics.Part] = known.toArray.filter(_._1.nonEmpty)
    .map { case (keys, n) => TableStatistics.Part(keys.toBitMask, math.min(most, math.max(1.0, n))) }
    .map(p => ((-p.keys.iterator.map(java.lang.Long.bitCount).sum, p.groups, p.keys.mkString(",")), p)).sortBy(_._1)
    .map(_._2)

  override def flowLength(keys: BitSet): Double = flowLengths.getOrElse(keys, flowLength)

  override def flowLengthAtDepth(depth: Int): Option[Double] =
    if (depthFlowLengths.isEmpty || depth < 2) None
    else Some(depthFlowLengths(math.min(depth - 2, depthFlowLengths.size - 1)))

  override def groups(keys: BitSet): Double =
    if (keys.isEmpty) 1.0
    else known.get(keys).fold(estimated(keys.toBitMask))(n => math.min(most, math.max(1.0, n)))

  private def estimated(keys: Array[Long]): Double = {
    val subsets = new Array[TableStatistics.Part](parts.length)
    var count = 0
    var atLeast = 1.0
    var atMost = most
    var i = 0
    while (i < parts.length) {
      val part = parts(i)
      if (TableStatistics.subset(part.keys, keys)) {
        subsets(count) = part
        count += 1
        atLeast = math.max(atLeast, part.groups)
      }
      if (TableStatistics.subset(keys, part.keys)) atMost = math.min(atMost, part.groups)
      i += 1
    }
    // Two covers, from the widest part down and from single attributes up; the smaller product is the better bound.
    val product = math.min(cover(keys, subsets, 0, count, 1), cover(keys, subsets, count - 1, -1, -1))
    math.max(atLeast, math.min(atMost, math.min(most, product)))
  }

  // Of parts from, from + step, ... until end. An attribute nothing is known of may be as fine as the rows.
  private def cover(keys: Array[Long], parts: Array[TableStatistics.Part], from: Int, end: Int, step: Int): Double = {
    val uncovered = keys.clone()
    var product = 1.0
    var i = from
    while (i != end) {
      val part = parts(i)
      var took = 0L
      var w = math.min(part.keys.length, uncovered.length) - 1
      while (w >= 0) {
        took |= uncovered(w) & part.keys(w)
        uncovered(w) &= ~part.keys(w)
        w -= 1
      }
      if (took != 0) product *= part.groups
      i += step
    }
    var left = 0L
    uncovered.foreach(left |= _)
    if (left == 0) product else most
  }
}

object TableStatistics {
  private final case class Part(keys: Array[Long], groups: Double)

  // Masks of different widths: what is missing is 0.
  private def subset(a: Array[Long], b: Array[Long]): Boolean = {
    var i = 0
    while (i < a.length && (a(i) & ~(if (i < b.length) b(i) else 0L)) == 0) i += 1
    i == a.length
  }
}
