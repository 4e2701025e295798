package io.phantoms.spark.search.placement

import scala.collection.immutable.BitSet
import scala.collection.mutable

import io.phantoms.spark.model.{Configuration, Placement, Relation}
import io.phantoms.spark.search.graph.FeedingGraph

/** Writes down what a search found: the relations of a forest and of its shipments as a configuration. */
private[placement] final class PlacedRelations(graph: FeedingGraph, shards: ShardKeys, tiers: TierBuilder) {

  /**
   * @param forest the map side, with whole tables
   * @param ships whether a node of it crosses the shuffle
   */
  def configuration(forest: LftaForest, ships: Int => Boolean, shipments: List[Shipment]): Configuration = {
    val (second, first) = shipments.partition(_.isSecondTier)
    val roots = first.map(s => s.derivation.root -> s).toMap
    val relations = mutable.ArrayBuffer.from(forest.nodes.indices.map { i =>
      val node = forest.nodes(i)
      val placement =
        if (!ships(node)) Placement.Feeds
        else sharded(node, roots.get(node).fold(shards.own(node))(_.shardKey), Placement.Shipped)
      Relation(graph.keys(node), graph.queriesOf(node), forest.parent(i), forest.buckets(i).toInt, placement)
    })
    // Two shipments may derive the same phantom, each for its own shards.
    def add(node: Int, parent: Int, placement: Placement, ordinals: mutable.Map[Int, Int]): Unit = {
      ordinals(node) = relations.size
      relations += Relation(graph.keys(node), graph.queriesOf(node), parent, 0, placement)
    }
    def derive(derivation: Derivation, ordinals: mutable.Map[Int, Int]): Unit =
      derivation.nodes.zip(derivation.parents).foreach { case (node, parent) =>
        add(node, ordinals(parent), Placement.Derived, ordinals)
      }
    val ordinalsOf = mutable.Map.empty[Int, mutable.Map[Int, Int]]
    def ordinalsAt(root: Int) = ordinalsOf.getOrElseUpdate(root, mutable.Map(root -> forest.nodes.indexOf(root)))
    first.foreach(s => derive(s.derivation, ordinalsAt(s.derivation.root)))
    second.groupBy(_.source).toVector.sortBy(_._1).foreach { case (source, fed) =>
      val ordinals = ordinalsAt(source)
      tiers.feeds(tiers.sourceOf(source, first), fed).foreach { f =>
        val root = f.shipment.derivation.root
        add(root, ordinals(f.parent), sharded(root, f.shipment.shardKey, Placement.SecondTier), ordinals)
        // What is derived from it there feeds no other.
        derive(f.shipment.derivation, mutable.Map(root -> ordinals(root)))
      }
    }
    Configuration(relations.toVector)
  }

  private def sharded(node: Int, key: BitSet, placed: (BitSet, Int) => Placement): Placement = {
    val n = shards.count(node, key)
    placed(if (n == 1) BitSet.empty else key, n)
  }
}
