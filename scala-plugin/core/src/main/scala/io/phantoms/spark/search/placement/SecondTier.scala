package io.phantoms.spark.search.placement

import scala.collection.immutable.BitSet

import io.phantoms.spark.cost.CostModel
import io.phantoms.spark.search.graph.{Bits, FeedingGraph}

/**
 * A relation shipped from the map side whose reduce tasks feed the second tier.
 *
 * @param shards reduce tasks its groups are dealt to by `shardKey`
 * @param derivation what is complete in these tasks
 */
private[placement] final case class TierSource(
    shards: Int,
    shardKey: BitSet,
    busyShards: Double,
    derivation: Derivation
)

/**
 * How one shipment of the second tier is fed.
 *
 * @param parent the node it is fed from: complete in the source's tasks, or in the second tier itself
 * @param partials entries shipped by all tasks
 * @param work nanoseconds in the source's tasks: deriving the parent once more, aggregating, shipping
 * @param mergeWork nanoseconds in the second reduce stage: merging, deriving and writing results
 */
private[placement] final case class TierFeed(
    shipment: Shipment,
    parent: Int,
    partials: Double,
    work: Double,
    mergeWork: Double
)

private[placement] final class TierBuilder(
    graph: FeedingGraph,
    model: CostModel,
    derivations: DerivationBuilder,
    shards: ShardKeys
) {

  /** A relation that crosses the first shuffle, by itself or as one of these shipments, as a source. */
  def sourceOf(node: Int, first: List[Shipment]): TierSource = {
    val shipment = first.find(_.derivation.root == node)
    val key = shipment.fold(shards.own(node))(_.shardKey)
    val busy = shipment.fold(shards.ownBusy(node))(_.busyShards)
    TierSource(shards.count(node, key), key, busy, shipment.fold(Derivation(node, busy))(_.derivation))
  }

  /** Feeds each shipment from what costs least: finest shipments first, so that each may feed those after it. */
  def feeds(source: TierSource, shipments: Seq[Shipment]): Vector[TierFeed] = {
    val Derivation(root, nodes, parents, _, _) = source.derivation
    // What it takes to have a node's groups in these tasks, besides merging the source, and entries of the node there.
    val there = new Bits(graph.size)
    def put(node: Int, work: Double, groups: Double): Unit = {
      there += graph.rank(node)
      making(node) = work
      entries(node) = groups
    }
    put(root, 0.0, graph.groups(root))
    nodes.indices.foreach { i =>
      val n = nodes(i)
      val p = parents(i)
      val work = derivations.deriveWork(graph.groups(p), n, source.busyShards)
      put(n, making(p) + work, graph.groups(n))
    }
    val finestFirst =
      if (shipments.size == 1) shipments.toVector else shipments.toVector.sortBy(s => graph.rank(s.root))
    finestFirst.map { s =>
      val node = s.root
      var parent = -1
      var partials = 0.0
      var work = Double.PositiveInfinity
      var rank = there.next(0)
      while (rank >= 0) {
        val feeder = graph.order(rank)
        if (graph.feeds(feeder, node)) {
          val shipped = partialGroups(source, node, entries(feeder))
          val cost = making(feeder) + feedWork(source, node, entries(feeder), shipped)
          if (cost < work || parent < 0) {
            parent = feeder
            partials = shipped
            work = cost
          }
        }
        rank = there.next(rank + 1)
      }
      put(node, 0.0, partials)
      val merge = derivations.tierMergeWork(partials, node, s.busyShards) +
        derivations.emitWork(node) + s.derivation.work
      TierFeed(s, parent, partials, work, merge)
    }
  }

  // Of the nodes that are there while [[feeds]] runs.
  private val making = new Array[Double](graph.size)
  private val entries = new Array[Double](graph.size)

  /** Elapsed time that one relation adds, fed from the source itself. */
  def rootCost(source: TierSource, node: Int, busyShards: Double): Double = {
    val fed = graph.groups(source.derivation.root)
    val partials = partialGroups(source, node, fed)
    feedWork(source, node, fed, partials) / math.min(source.busyShards, model.parallelism.toDouble) +
      derivations.tierMergeWork(partials, node, busyShards) /
      math.min(busyShards, model.parallelism.toDouble)
  }

  private def feedWork(source: TierSource, node: Int, fed: Double, partials: Double): Double =
    model.tierWork(
      fed,
      partials,
      partials * graph.entryBytes(node) / source.busyShards,
      graph.shippedBytes(node),
      derivations.sketching(node)
    )

  private def partialGroups(source: TierSource, node: Int, fed: Double): Double =
    if (source.shards == 1 || graph.contains(node, source.shardKey)) math.min(graph.groups(node), fed)
    else model.partialGroups(graph.groups(node), fed, source.shards)
}
