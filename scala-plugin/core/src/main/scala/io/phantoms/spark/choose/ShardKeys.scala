package io.phantoms.spark.choose

import scala.collection.immutable.BitSet
import scala.collection.mutable

/** By which keys relations may be dealt to reduce tasks, and how well that spreads them. */
private[choose] final class ShardKeys(graph: FeedingGraph, model: CostModel) {
  import ShardKeys._

  private val statistics = graph.problem.statistics

  /** The empty key, single attributes that split the relation, and pairs where a single one has too few values. */
  def candidates(root: Int, below: Vector[Int]): Vector[BitSet] = {
    val singles = graph.keys(root).toVector.map(BitSet(_)).map(k => (attributeGroups(k), k)).sortBy(-_._1)
    val narrow = singles.filter(_._1 < NarrowBelow * model.parallelism).map(_._2)
    val pairs = for { a <- narrow; b <- narrow if a.head < b.head } yield a | b
    (singles.map(_._2) ++ pairs :+ BitSet.empty).filter(k => below.exists(graph.contains(_, k)))
  }

  private val attributeGroupsOf = mutable.HashMap.empty[BitSet, Double]
  private def attributeGroups(key: BitSet): Double =
    attributeGroupsOf.getOrElseUpdate(key, math.max(1.0, statistics.groups(key)))

  /** Reduce tasks a node is dealt to. */
  def count(node: Int, key: BitSet): Int = model.shards(graph.groups(node), graph.entryBytes(node), key)

  /** See [[CostModel.busyShards]]. */
  def busy(node: Int, key: BitSet): Double = model.busyShards(count(node, key), key, graph.keys(node))

  /** The key of a node that nothing is derived from. */
  def own(node: Int): BitSet = graph.keys(node)

  private val ownBusyShards: Array[Double] = new Array[Double](graph.size)
  def ownBusy(node: Int): Double = {
    if (ownBusyShards(node) == 0) ownBusyShards(node) = busy(node, own(node))
    ownBusyShards(node)
  }
}

private object ShardKeys {

  // A single attribute with fewer values per core than this is also tried together with another.
  private val NarrowBelow = 4.0
}
