package io.phantoms.spark.search.placement

import scala.collection.mutable

import io.phantoms.spark.cost.CostModel
import io.phantoms.spark.search.graph.{FeedingForest, FeedingGraph}

/** @param score what the search minimises: elapsed time, and a little of all work so that idle cores are not free */
private[search] final class SearchState(
    val set: ShipmentSet,
    val phantoms: Vector[Int],
    val forest: LftaForest,
    val score: Double
) {
  def shipments: List[Shipment] = set.shipments
  def hasSecondTier: Boolean = set.second.nonEmpty
}

/** What each relation that crosses the shuffle costs now, in nanoseconds of elapsed time: what deriving it would save. */
private[placement] final class CrossingCosts(size: Int) {
  private val costs = Array.fill(size)(Double.NaN)

  def update(node: Int, cost: Double): Unit = costs(node) = cost
  def crosses(node: Int): Boolean = !costs(node).isNaN
  def apply(node: Int): Double = if (crosses(node)) costs(node) else 0.0
}

/** Costs of states: the pieces that do not depend on the state are computed once for each node. */
private[placement] final class StateCosts(
    graph: FeedingGraph,
    model: CostModel,
    val forests: LftaForestBuilder,
    derivations: DerivationBuilder,
    shards: ShardKeys,
    tiers: TierBuilder
) {
  import StateCosts._

  private val shipTime: Array[Double] = graph.shippedBytes.map(model.c2)
  private val emitWork: Array[Double] = Array.tabulate(graph.size)(derivations.emitWork)
  private val ownMerge: Array[Double] = Array.fill(graph.size)(Double.NaN)

  // Merging one entry where a node is shipped by itself.
  private def ownMergeTime(node: Int): Double = {
    if (ownMerge(node).isNaN)
      ownMerge(node) = model.mergeTime(derivations.tableBytes(node, shards.ownBusy(node)), forests.merging(node))
    ownMerge(node)
  }

  // Shipments that differ in shard keys, or in what comes after the shuffle, have the same tables.
  private val known = mutable.HashMap.empty[LftaRelations, LftaForest]

  def set(shipments: List[Shipment]): ShipmentSet = new ShipmentSet(graph, shipments)

  /** Scores shipments with one choice of phantoms after the other. */
  def of(set: ShipmentSet): Vector[Int] => SearchState = {
    val fed = feeds(set)
    val isFed = set.isFed
    phantoms => {
      val relations = set.lfta(phantoms)
      val forest = known.getOrElseUpdate(
        relations,
        forests.build(FeedingForest.inOrder(graph, relations.maintained), set.ships, whole = false)
      )
      val cost = elapsed(forest, set, fed)
      new SearchState(set, phantoms, forest, if (isFed) cost else Double.PositiveInfinity)
    }
  }

  // By source, a node of the graph; None: there is no second tier.
  private def feeds(set: ShipmentSet): Option[Array[Vector[TierFeed]]] = Option.when(set.second.nonEmpty) {
    val bySource = Array.fill(graph.size)(Vector.empty[TierFeed])
    set.second.groupBy(_.source).foreach { case (source, shipments) =>
      bySource(source) = tiers.feeds(tiers.sourceOf(source, set.first), shipments)
    }
    bySource
  }

  private def elapsed(forest: LftaForest, set: ShipmentSet, fed: Option[Array[Vector[TierFeed]]]): Double = {
    var mapWork = 0.0
    var reduceWork = 0.0
    var longest = 0.0
    var tierWork = 0.0
    var longestTier = 0.0
    var i = 0
    while (i < forest.nodes.length) {
      val node = forest.nodes(i)
      val probes = forests.feedWork(forest, i)
      if (!set.ships(node)) mapWork += probes
      else {
        mapWork += probes + forest.evictions(i) * shipTime(node)
        val shipment = set.shipmentOf(node)
        val busy = if (shipment == null) shards.ownBusy(node) else shipment.busyShards
        val mergeTime =
          if (shipment == null) ownMergeTime(node)
          else model.mergeTime(derivations.tableBytes(node, busy), forests.merging(node))
        val merge = forest.evictions(i) * model.partitions * mergeTime
        // A phantom that feeds the second tier alone is merged for that alone.
        if (!graph.isPhantom(node) || shipment.derivation.nodeArray.nonEmpty) {
          val work = merge + emitWork(node) + (if (shipment == null) 0.0 else shipment.derivation.work)
          reduceWork += work
          longest = math.max(longest, work / busy)
        }
        fed.map(_(node)).filter(_.nonEmpty).foreach { feeds =>
          val work = merge + feeds.iterator.map(_.work).sum
          tierWork += work
          longestTier = math.max(longestTier, work / busy)
          feeds.foreach { f =>
            reduceWork += f.mergeWork
            longest = math.max(longest, f.mergeWork / f.shipment.busyShards)
          }
        }
      }
      i += 1
    }
    model.elapsed(mapWork, reduceWork, longest, tierWork, longestTier) +
      WorkWeight * (mapWork * model.partitions + reduceWork + tierWork)
  }

  def crossing(state: SearchState): CrossingCosts = {
    val costs = new CrossingCosts(graph.size)
    val forest = state.forest
    var i = 0
    while (i < forest.nodes.length) {
      val node = forest.nodes(i)
      if (state.set.ships(node)) {
        val map = forests.feedWork(forest, i) + forest.evictions(i) * shipTime(node)
        val merge = forest.evictions(i) * model.partitions * ownMergeTime(node)
        costs(node) = map * model.partitions / model.mapParallelism + merge / speed(shards.ownBusy(node))
      }
      i += 1
    }
    costs
  }

  /** What shipping a relation adds that is not shipped yet, when its table works as well as it can. */
  def entry(root: Int, busy: Double): Double = {
    val leaving = forests.groupsInTask(root)
    val map = model.rowsPerTask * probeInCache + leaving * shipTime(root)
    map * model.partitions / model.mapParallelism +
      model.mergeWork(leaving, derivations.tableBytes(root, busy), forests.merging(root)) / speed(busy)
  }

  private val probeInCache = model.probe(CostModel.ProbeCacheBytes)

  /** Cores that work on a relation that is busy in so many shards. */
  def speed(busy: Double): Double = math.min(busy, model.parallelism.toDouble)
}

private object StateCosts {
  private val WorkWeight = 0.01
}
