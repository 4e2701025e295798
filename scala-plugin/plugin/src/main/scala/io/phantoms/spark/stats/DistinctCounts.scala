package io.phantoms.spark.stats

import scala.collection.immutable.BitSet

import io.phantoms.spark.stats.input.{Estimate, StatisticSource}
import io.phantoms.spark.stats.sampled.InputSample

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.types.{BooleanType, ByteType, DataType, ShortType}

/**
 * Groups of sets of keys as the sample, the catalog or a rule of thumb has them.
 *
 * The rule of thumb: a key has sqrt(rows) values (fewer where its type has fewer); a set has the product of its keys'
 * values with exponents 1, 1/2, 1/4, ..., the largest first (keys of one input are rarely independent).
 *
 * @param original the keys as the workload has them
 * @param keys the same over the leaf of the input
 * @param names their canonical forms
 * @param rows rows of the input
 * @param asked sets that deserve the whole sample; a search asks about many others, which get a part of it
 * @param catalog distinct values by key ordinal
 * @param bound the most groups a set can have
 */
private[stats] final class DistinctCounts(
    original: IndexedSeq[Expression],
    keys: IndexedSeq[Expression],
    names: IndexedSeq[String],
    rows: Double,
    sample: Option[InputSample],
    asked: Set[BitSet],
    catalog: Map[Int, Double],
    bound: BitSet => Option[Estimate]
) {

  /** Of the catalog, known as long as no filter stands between table and input. */
  def catalogKnown(unfiltered: Boolean): Map[BitSet, Estimate] =
    if (unfiltered) catalog.map { case (i, n) => BitSet(i) -> Estimate(n, StatisticSource.Catalog) } else Map.empty

  def catalogCaps: Map[BitSet, Double] = catalog.map { case (i, n) => BitSet(i) -> n }

  def estimate(set: BitSet): Estimate = usable(set) match {
    case Some(s) => Estimate(s.distinct(set.toSeq.map(names), rows, precise(set)), StatisticSource.Sample)
    case None => Estimate(thumb(set), StatisticSource.Default)
  }

  def flowLength(set: BitSet): Estimate = usable(set) match {
    case Some(s) => Estimate(s.flowLength(set.toSeq.map(names), precise(set)), StatisticSource.Sample)
    case None => Estimate(1.0, StatisticSource.Default)
  }

  private def precise(set: BitSet): Boolean = set.size == 1 || asked(set)

  // Computed keys are not evaluated on rows the filters reject, so a sample made of those says nothing about them.
  private def usable(set: BitSet): Option[InputSample] = sample.filter { s =>
    (s.size > 0 || s.complete) && (!s.useRejected || set.forall(i => keys(i).isInstanceOf[Attribute]))
  }

  private def thumb(set: BitSet): Double = {
    def most(i: Int): Double =
      math.min(values(original(i).dataType), bound(BitSet(i)).fold(Double.MaxValue)(_.value))
    val single = set.toSeq.map(i => catalog.getOrElse(i, math.min(math.sqrt(rows), most(i))))
    val sizes = single.map(math.max(1.0, _)).sorted.reverse
    val (product, _) = sizes.foldLeft((1.0, 1.0)) { case ((p, exponent), g) =>
      (p * math.pow(g, exponent), exponent / 2)
    }
    math.max(1.0, math.min(rows, product))
  }

  private def values(dataType: DataType): Double = dataType match {
    case BooleanType => 3
    case ByteType => 257
    case ShortType => 65537
    case _ => Double.MaxValue
  }
}
