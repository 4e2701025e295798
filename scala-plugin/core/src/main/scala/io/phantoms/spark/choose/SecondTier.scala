package io.phantoms.spark.choose

import scala.collection.immutable.BitSet
import scala.collection.mutable


/**
 * A relation shipped from the map side whose reduce tasks feed the second tier.
 *
 * @param shards reduce tasks its groups are dealt to by `shardKey`
 * @param derivation what is complete in these tasks
 */
private[choose] final case class TierSource(
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
private[choose] final case class TierFeed(
    shipment: Shipment,
    parent: Int,
    partials: Double,
    work: Double,
    mergeWork: Double
)

private[choose] final class TierBuilder(
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
    // What it takes to have a node's groups in these tasks, besides merging the source.
    val making = mutable.Map(root -> 0.0)
    nodes.zip(parents).foreach { case (n, p) =>
      making(n) = making(p) + model.deriveWork(graph.groups(p), derivations.tableBytes(n, source.busyShards))
    }
    val entries = mutable.Map.from(making.keys.map(n => n -> graph.groups(n)))
    shipments.toVector.sortBy(s => graph.rank(s.derivation.root)).map { s =>
      val node = s.derivation.root
      val fed = entries.keys.filter(graph.feeds(_, node)).map { parent =>
        val partials = partialGroups(source, node, entries(parent))
        (making(parent) + feedWork(source, node, entries(parent), partials), parent, partials)
      }
      val (work, parent, partials) = fed.minBy { case (w, p, _) => (w, graph.rank(p)) }
      making(node) = 0.0
      entries(node) = partials
      val merge = model.tierMergeWork(partials, derivations.tableBytes(node, s.busyShards)) +
        model.emitWork(graph.groups(node), graph.queriesOf(node).size) + s.derivation.work
      TierFeed(s, parent, partials, work, merge)
    }
  }

  /** Elapsed time that one relation adds, fed from the source itself. */
  def rootCost(source: TierSource, node: Int, busyShards: Double): Double = {
    val fed = graph.groups(source.derivation.root)
    val partials = partialGroups(source, node, fed)
    feedWork(source, node, fed, partials) / math.min(source.busyShards, model.parallelism.toDouble) +
      model.tierMergeWork(partials, derivations.tableBytes(node, busyShards)) /
      math.min(busyShards, model.parallelism.toDouble)
  }

  private def feedWork(source: TierSource, node: Int, fed: Double, partials: Double): Double =
    model.tierWork(fed, partials, partials * graph.entryBytes(node) / source.busyShards, graph.entryBytes(node))

  private def partialGroups(source: TierSource, node: Int, fed: Double): Double =
    if (source.shards == 1 || graph.contains(node, source.shardKey)) math.min(graph.groups(node), fed)
    else model.partialGroups(graph.groups(node), fed, source.shards)
}
