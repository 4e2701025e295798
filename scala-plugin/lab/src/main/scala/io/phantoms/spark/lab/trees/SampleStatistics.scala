package io.phantoms.spark.lab.trees

import scala.collection.immutable.BitSet
import scala.collection.mutable
import scala.util.hashing.byteswap64

import io.phantoms.spark.estimate.{DistinctEstimators, FrequencyProfile}
import io.phantoms.spark.search.trees.{Filter, TreeStatistics}

/**
 * Statistics from one uniform random sample, used for every aggregate (aggregate trees, section 2.3). Sizes are GEE's:
 * sqrt(N/r) f_1 + f_2, where only values that pass the filter count.
 *
 * Not thread-safe: filters already evaluated are remembered.
 *
 * @param rows N
 * @param columns the sample by attribute, each of the same length r
 */
final class SampleStatistics(override val rows: Double, columns: IndexedSeq[Array[Long]]) extends TreeStatistics {
  private val size = columns.headOption.fold(0)(_.length)
  require(columns.forall(_.length == size), "columns of different lengths")
  require(size > 0 && rows >= size, s"a sample of $size tuples of $rows")

  private val passing = mutable.HashMap.empty[Filter, Array[Int]]

  // The tuples of the sample that pass.
  private def pass(filter: Filter): Array[Int] = passing.getOrElseUpdate(
    filter,
    (0 until size).iterator.filter(i => filter.accepts(a => columns(a)(i))).toArray
  )

  override def selectivity(filter: Filter): Double = pass(filter).length.toDouble / size

  override def size(keys: BitSet, filter: Filter): Double = {
    val tuples = pass(filter)
    val hashes = new Array[Long](tuples.length)
    keys.foreach { a =>
      val column = columns(a)
      var i = 0
      while (i < hashes.length) {
        hashes(i) = byteswap64(hashes(i) * 31 + column(tuples(i)))
        i += 1
      }
    }
    if (hashes.isEmpty) 0.0
    else DistinctEstimators.gee(FrequencyProfile.of(hashes, hashes.length), rows * hashes.length / size)
  }
}
