package io.phantoms.spark.lab.fragments

import scala.collection.immutable.BitSet
import scala.collection.mutable

import io.phantoms.spark.fragments.{Fragment, Fragments}
import io.phantoms.spark.lab.windows.Slices
import io.phantoms.spark.model.PeriodicWindow

/**
 * A query of a workload whose windows and predicates both differ.
 *
 * @param window ordinal of its window among the distinct ones
 * @param predicate ordinal of its predicate among the distinct ones
 */
final case class ShardQuery(window: Int, predicate: Int)

/**
 * Queries that differ in windows and predicates (On-the-fly sharing, section 5).
 *
 * @param windows distinct windows
 * @param predicates how many distinct predicates; bits of a row's signature
 */
final case class ShardWorkload(windows: Vector[PeriodicWindow], predicates: Int, queries: Vector[ShardQuery]) {
  require(windows.distinct.size == windows.size, "windows are distinct")
  require(
    queries.forall(q => windows.indices.contains(q.window) && q.predicate >= 0 && q.predicate < predicates),
    "a query names an unknown window or predicate"
  )

  /** Queries that ask for each predicate. */
  val queriesOfPredicate: Vector[Int] = {
    val counts = queries.groupBy(_.predicate)
    Vector.tabulate(predicates)(p => counts.get(p).fold(0)(_.size))
  }

  /** Distinct windows asked for with each predicate. */
  val windowsOfPredicate: Vector[Set[Int]] = {
    val asked = queries.groupBy(_.predicate)
    Vector.tabulate(predicates)(p => asked.getOrElse(p, Vector.empty).map(_.window).toSet)
  }

  /** The queries a row of this signature satisfies: |b| over queries where several share a predicate. */
  def satisfied(signature: BitSet): Int = signature.iterator.map(queriesOfPredicate(_)).sum
}

/**
 * Shards: the rows of one slice with one signature. The stream is sliced first, which its order allows without
 * aggregating, and each slice is then parted into fragments.
 *
 * @param fragments the fragments of each slice
 */
final case class Shards(workload: ShardWorkload, slices: Slices, fragments: Vector[Fragments]) {

  /** Rows in all slices. */
  def rows: Long = fragments.iterator.map(_.rows).sum

  /** Shards to aggregate. */
  def size: Long = fragments.iterator.map(_.k.toLong).sum

  /** The shards whose union is one result of a query: slice and fragment of each. */
  def of(query: ShardQuery, result: Slices.Result): Vector[(Int, Fragment)] =
    (result.first until result.last).toVector.flatMap(s => fragments(s).of(query.predicate).map((s, _)))
}

object Shards {

  /** Shards of rows given by time and signature over the workload's predicates; rows outside the slices are dropped. */
  def of(workload: ShardWorkload, slices: Slices, rows: IterableOnce[(Long, BitSet)]): Shards = {
    require(slices.windows == workload.windows, "slices of other windows")
    val counts = Array.fill(slices.size)(mutable.HashMap.empty[BitSet, Long])
    rows.iterator.foreach { case (t, b) =>
      val s = slices.sliceOf(t)
      if (s >= 0) counts(s)(b) = counts(s).getOrElse(b, 0L) + 1
    }
    Shards(workload, slices, counts.iterator.map(Fragments(workload.predicates, _)).toVector)
  }
}
