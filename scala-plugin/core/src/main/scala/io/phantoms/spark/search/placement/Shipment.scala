package io.phantoms.spark.search.placement

import scala.collection.immutable.BitSet

import io.phantoms.spark.search.graph.{Bits, FeedingForest, FeedingGraph}

/**
 * A relation shipped by a shard key with what is derived from it.
 *
 * @param busyShards by how much sharding shortens the longest reduce task, see [[CostModel.busyShards]]
 * @param source in the second tier: the relation shipped from the map side in whose reduce tasks it is fed; -1: it is
 *   shipped from the map side itself
 */
private[search] final case class Shipment(
    shardKey: BitSet,
    busyShards: Double,
    derivation: Derivation,
    source: Int = -1
) {
  def isSecondTier: Boolean = source >= 0
  def root: Int = derivation.root
}

/**
 * The relations of a map task, all that its tables depend on.
 *
 * @param maintained nodes by rank
 * @param crossing those phantoms among them that cross the shuffle, as queries do
 */
private[placement] final case class LftaRelations(maintained: Bits, crossing: Bits)

/**
 * Which nodes a list of shipments ships and which it derives, whatever phantoms the map tasks have.
 *
 * @param shipments of both tiers; a query in none of them is shipped by itself
 */
private[placement] final class ShipmentSet(graph: FeedingGraph, val shipments: List[Shipment]) {
  val second: List[Shipment] = shipments.filter(_.isSecondTier)
  val first: List[Shipment] = if (second.isEmpty) shipments else shipments.filterNot(_.isSecondTier)

  private val derived = new Array[Boolean](graph.size)
  private val rooted = new Array[Boolean](graph.size)
  private val shipped = new Array[Shipment](graph.size)
  private val maintained = new Bits(graph.size)
  private val crossing = new Bits(graph.size)

  {
    shipments.foreach { s =>
      val below = s.derivation.nodeArray
      var i = 0
      while (i < below.length) { derived(below(i)) = true; i += 1 }
      rooted(s.root) = true
      if (s.isSecondTier) derived(s.root) = true
    }
    var q = 0
    while (q < graph.queryCount) {
      if (!derived(q)) maintained += graph.rank(q)
      q += 1
    }
    first.foreach { s =>
      maintained += graph.rank(s.root)
      if (graph.isPhantom(s.root)) crossing += graph.rank(s.root)
      if (shipped(s.root) == null) shipped(s.root) = s
    }
  }

  /** Whether a node crosses no shuffle, or the second one. */
  def isDerived(node: Int): Boolean = derived(node)

  /** The shipment from the map side whose root this is; null: there is none. */
  def shipmentOf(node: Int): Shipment = shipped(node)

  /** Whether a node crosses the first shuffle if the map tasks have it. */
  val ships: Int => Boolean = node => node < graph.queryCount || shipped(node) != null

  /** Whether a node is a root of either tier. */
  def isRoot(node: Int): Boolean = rooted(node)

  /** What the map tasks maintain whatever the phantoms, in the order of [[FeedingForest.inOrder]]. */
  def base: Array[Int] = FeedingForest.inOrder(graph, maintained)

  /** What the map tasks maintain with these phantoms. */
  def lfta(phantoms: Vector[Int]): LftaRelations = {
    val ranks = maintained.copy
    phantoms.foreach(p => if (!derived(p)) ranks += graph.rank(p))
    LftaRelations(ranks, crossing)
  }

  /** Each relation of the second tier needs a source that is shipped from the map side. */
  def isFed: Boolean = second.forall(s => ships(s.source) && !derived(s.source))

  /** The queries that are neither a root nor derived, by their position in [[FeedingGraph.queryOrder]]. */
  def open: Bits = Bits.where(graph.queryCount) { at =>
    val q = graph.queryOrder(at)
    !derived(q) && !rooted(q)
  }
}
