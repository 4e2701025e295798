package io.phantoms.spark.search.placement

import scala.collection.immutable.BitSet
import scala.collection.mutable

import io.phantoms.spark.cost.CostModel
import io.phantoms.spark.search.graph.{Bits, FeedingGraph}

/**
 * Attributes whose hash deals a relation's groups to reduce tasks.
 *
 * @param holders the queries that hold them, by their position in [[FeedingGraph.queryOrder]]
 * @param groups of these attributes
 */
private[placement] final class ShardKey(val attributes: BitSet, val holders: Bits, groups: => Double) {
  lazy val values: Double = math.max(1.0, groups)
}

/** A shard key of one relation, with [[CostModel.busyShards]]. */
private[placement] final class KeyOfRoot(val key: ShardKey, val busy: Double)

/** By which keys relations may be dealt to reduce tasks, and how well that spreads them. */
private[placement] final class ShardKeys(graph: FeedingGraph, model: CostModel) {
  import ShardKeys._

  private val statistics = graph.problem.statistics
  private val known = mutable.HashMap.empty[BitSet, ShardKey]
  private val single: Array[ShardKey] = Array.tabulate(graph.problem.attributes.size)(a => shardKey(BitSet(a)))
  private val none = shardKey(BitSet.empty)

  private def shardKey(attributes: BitSet): ShardKey = known.getOrElseUpdate(
    attributes,
    new ShardKey(attributes, graph.holding(attributes), statistics.groups(attributes))
  )

  private val ofRoot = new Array[Vector[KeyOfRoot]](graph.size)

  /** The empty key, single attributes that split the relation, and pairs where a single one has too few values. */
  def candidates(root: Int): Vector[KeyOfRoot] = {
    if (ofRoot(root) == null) {
      val singles = (graph.keys(root) & graph.problem.dealing).toVector.map(a => (a, single(a))).sortBy(-_._2.values)
      val narrow = singles.filter(_._2.values < NarrowBelow * model.parallelism).map(_._1)
      val pairs = for { a <- narrow; b <- narrow if a < b } yield shardKey(BitSet(a, b))
      ofRoot(root) = (singles.map(_._2) ++ pairs :+ none).map(k => new KeyOfRoot(k, busy(root, k)))
    }
    ofRoot(root)
  }

  /** Reduce tasks a node is dealt to. */
  def count(node: Int, key: BitSet): Int =
    model.shards(graph.groups(node), graph.shippedBytes(node), key, sketching(node))

  private lazy val sketching = Array.tabulate(graph.size)(i => model.sketching(graph.keys(i), rows = false))

  // See CostModel.busyShards; a key is of the node's own, and all of them if it has as many.
  private def busy(node: Int, key: ShardKey): Double =
    model.busyShards(count(node, key.attributes), key.values, key.attributes.size == own(node).size)

  /** The key of a node that nothing is derived from: all of it that may deal, see [[Problem.dealing]]. */
  def own(node: Int): BitSet = ownKeys(node)

  private val ownKeys: Array[BitSet] = Array.tabulate(graph.size)(graph.keys(_) & graph.problem.dealing)

  private val ownBusyShards: Array[Double] = new Array[Double](graph.size)
  def ownBusy(node: Int): Double = {
    if (ownBusyShards(node) == 0)
      ownBusyShards(node) = model.busyShards(count(node, own(node)), own(node), own(node))
    ownBusyShards(node)
  }
}

private object ShardKeys {

  // A single attribute with fewer values per core than this is also tried together with another.
  private val NarrowBelow = 4.0
}
