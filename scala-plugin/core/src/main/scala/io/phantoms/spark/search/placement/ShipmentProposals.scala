package io.phantoms.spark.search.placement

import scala.collection.mutable

import io.phantoms.spark.cost.CostModel
import io.phantoms.spark.search.graph.{Bits, FeedingGraph, Sorted}

/** Shipments that may be worth adding to a state, by what they promise; sets of queries are as in [[FeedingGraph.fed]]. */
private[placement] final class ShipmentProposals(
    graph: FeedingGraph,
    model: CostModel,
    derivations: DerivationBuilder,
    shards: ShardKeys,
    tiers: TierBuilder,
    costs: StateCosts,
    effort: SearchEffort
) {
  import ShipmentProposals._

  /** Shipments of one relation, those that promise most first. */
  def oneTier(current: SearchState): Vector[Proposal] = {
    val set = current.set
    val open = set.open
    val saving = costs.crossing(current)
    val found = mutable.ArrayBuffer.empty[Proposal]
    for (root <- roots(open) if !set.isDerived(root) && !set.isRoot(root)) {
      val below = open & graph.fed(root)
      val seen = mutable.HashSet.empty[Bits]
      shards.candidates(root).foreach { k =>
        val eligible = below & k.key.holders
        if (!eligible.isEmpty && seen.add(eligible)) {
          val chosen = worthDeriving(root, eligible, k.busy, saving)
          val entry = if (saving.crosses(root)) 0.0 else costs.entry(root, k.busy)
          if (chosen.size > 0) found += new Proposal(chosen.gain - entry, root, k, chosen.nodes)
          if (chosen.size < eligible.size) found += new Proposal(chosen.gain / 2 - entry, root, k, eligible)
        }
      }
    }
    Sorted.positions(found.iterator.map(-_.promise).toArray).iterator.map(found(_)).toVector
  }

  /** @param promise elapsed time that it may save */
  final class Proposal(val promise: Double, root: Int, key: KeyOfRoot, nodes: Bits) {
    def busy: Double = key.busy
    def shipment: Shipment = ShipmentProposals.this.shipment(root, key, nodes)
  }

  /**
   * Relations fed from one that is shipped anyhow: all that gain by it, and each alone. And from a phantom that is not
   * shipped yet.
   */
  def twoTiers(current: SearchState): Vector[List[Shipment]] = {
    val set = current.set
    val sources = set.second.iterator.map(_.source).toSet
    val open = set.open
    for (at <- open.toArray if sources(graph.queryOrder(at))) open -= at
    val saving = costs.crossing(current)
    val forest = current.forest
    val shipped = forest.nodes.indices.filter(i => set.ships(forest.nodes(i)))
      .sortBy(i => graph.groups(forest.nodes(i)) - forest.evictions(i) * model.partitions).map(forest.nodes(_))
    val fromShipped = shipped.iterator.map(tiers.sourceOf(_, set.first)).map(s => secondTier(s, open, saving))
      .filter(_.nonEmpty).take(effort.tierSources)
      .flatMap(all => all +: (if (all.size > 1) all.map(List(_)) else Nil)).toVector
    val fromPhantoms = roots(open).filter(p => graph.isPhantom(p) && !set.isRoot(p) && !set.isDerived(p))
      .take(effort.tierSources).flatMap { root =>
        val below = open & graph.fed(root)
        shards.candidates(root).filter(_.key.holders.commonSize(below) > 0).take(TierKeys).map { k =>
          val chosen = worthDeriving(root, below & k.key.holders, k.busy, saving)
          val source = shipment(root, k, chosen.nodes)
          val key = k.key.attributes
          source +: secondTier(
            TierSource(shards.count(root, key), key, k.busy, source.derivation),
            below &~ chosen.nodes,
            saving
          )
        }.filter(_.size > 1)
      }
    fromShipped ++ fromPhantoms
  }

  // Shipments of the second tier that are worth feeding from a source, the finest first.
  private def secondTier(source: TierSource, open: Bits, saving: CrossingCosts): List[Shipment] = {
    var left = open & graph.fed(source.derivation.root)
    val found = mutable.ListBuffer.empty[Shipment]
    var at = left.next(0)
    while (at >= 0) {
      val root = graph.queryOrder(at)
      val ownBusy = shards.ownBusy(root)
      if (saving(root) > tiers.rootCost(source, root, ownBusy)) {
        // By its own key nothing can be derived from it.
        var best = Shipment(shards.own(root), ownBusy, Derivation(root, ownBusy))
        var most = 0.0
        val under = left & graph.fed(root)
        if (!under.isEmpty) {
          var chosen: Bits = null
          var key: KeyOfRoot = null
          shards.candidates(root).foreach { k =>
            val worth = worthDeriving(root, under & k.key.holders, k.busy, saving)
            if (worth.gain > most) { most = worth.gain; chosen = worth.nodes; key = k }
          }
          if (key != null) {
            best = shipment(root, key, chosen)
            left = left &~ chosen
          }
        }
        found += best.copy(source = source.derivation.root)
      }
      at = left.next(at + 1)
    }
    found.toList
  }

  private def shipment(root: Int, key: KeyOfRoot, nodes: Bits): Shipment = {
    val queries = nodes.toArray.map(graph.queryOrder(_))
    Shipment(key.key.attributes, key.busy, derivations.derive(root, queries, key.busy))
  }

  private val available = new Bits(graph.size)

  // The queries that are cheaper derived than shipped, taken finest first so that each can be derived from another.
  private def worthDeriving(root: Int, eligible: Bits, busy: Double, saving: CrossingCosts): Worth = {
    val speed = costs.speed(busy)
    available.clear()
    available += graph.groupsRank(root)
    val nodes = new Bits(graph.queryCount)
    var gain = 0.0
    var size = 0
    var at = eligible.next(0)
    while (at >= 0) {
      val q = graph.queryOrder(at)
      val now = saving(q)
      if (now > 0) {
        val parentGroups = graph.groups(graph.cheapestFeeder(available, q))
        val saved = now - derivations.deriveWork(parentGroups, q, busy) / speed
        if (saved > 0) {
          available += graph.groupsRank(q)
          nodes += at
          gain += saved
          size += 1
        }
      }
      at = eligible.next(at + 1)
    }
    new Worth(nodes, size, gain)
  }

  private val phantomsByGroups: Array[Int] =
    Sorted.positions(graph.groups.drop(graph.queryCount)).map(_ + graph.queryCount)

  // The widest queries, and the phantoms that most of the open queries can be derived from.
  private def roots(open: Bits): Vector[Int] = {
    val coarser = phantomsByGroups.map(p => open.commonSize(graph.fed(p)))
    val phantoms = Sorted.positions(coarser.map(-_.toDouble)).iterator.takeWhile(coarser(_) >= 2)
    open.toArray.iterator.take(effort.roots).map(graph.queryOrder(_)).toVector ++
      phantoms.take(effort.roots).map(phantomsByGroups(_))
  }
}

private object ShipmentProposals {
  private final class Worth(val nodes: Bits, val size: Int, val gain: Double)

  // Shard keys tried for a phantom that would feed the second tier.
  private val TierKeys = 4
}
