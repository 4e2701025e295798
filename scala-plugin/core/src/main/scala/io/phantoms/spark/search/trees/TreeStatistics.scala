package io.phantoms.spark.search.trees

import scala.collection.immutable.BitSet

import io.phantoms.spark.cost.CollisionModel
import io.phantoms.spark.model.Statistics

/** What the cost of an aggregate tree depends on. */
trait TreeStatistics {

  /** N: tuples of the stream in one period. */
  def rows: Double

  /** sigma_F: fraction of the tuples that pass a filter; 1 for [[Filter.All]]. */
  def selectivity(filter: Filter): Double

  /** sz(A, F): groups of the tuples that pass the filter, at most as many as there are such tuples. */
  def size(keys: BitSet, filter: Filter): Double
}

/** Group counts of a workload without predicates. */
final class GroupStatistics(statistics: Statistics) extends TreeStatistics {
  override val rows: Double = math.max(1.0, statistics.rows)

  override def selectivity(filter: Filter): Double = {
    require(filter.isAll, "group counts say nothing of filters")
    1.0
  }

  override def size(keys: BitSet, filter: Filter): Double =
    math.min(rows, math.max(1.0, statistics.groups(keys))) * selectivity(filter)
}

/**
 * Attributes that are uniform over their domains and independent, as in the patent's example 2.
 *
 * @param rows N
 * @param domains lowest and highest value of each attribute
 */
final class UniformStatistics(override val rows: Double, domains: IndexedSeq[(Long, Long)]) extends TreeStatistics {

  override def selectivity(filter: Filter): Double = {
    val attributes = filter.attributes.toList
    cells(filter.boxes, attributes) / attributes.iterator.map(width).product
  }

  /** Of n equally likely groups m tuples are expected to meet n (1 - (1 - 1/n)^m). */
  override def size(keys: BitSet, filter: Filter): Double = {
    val groups = cells(filter.boxes.map(b => Box(b.conditions.filter(c => keys(c.attribute)))), keys.toList)
    CollisionModel.occupied(rows * selectivity(filter), groups)
  }

  private def width(attribute: Int): Double = (domains(attribute)._2 - domains(attribute)._1 + 1).toDouble

  // Combinations of values inside the union of the boxes: slice the first attribute where a box begins or ends.
  private def cells(boxes: Vector[Box], attributes: List[Int]): Double = attributes match {
    case _ if boxes.isEmpty => 0.0
    case Nil => 1.0
    case a :: others =>
      val (low, high) = domains(a)
      val conditions = boxes.flatMap(_.condition(a))
      val cuts = (Vector(low, high + 1) ++ conditions.flatMap(c => Seq(c.low, c.high + 1)))
        .filter(x => x >= low && x <= high + 1).distinct.sorted
      cuts.zip(cuts.drop(1)).map { case (from, until) =>
        (until - from) * cells(boxes.filter(_.condition(a).forall(_.accepts(from))), others)
      }.sum
  }
}
