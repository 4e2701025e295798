package io.phantoms.spark.search.trees

import scala.collection.immutable.BitSet

import io.phantoms.spark.cost.CostModel
import io.phantoms.spark.model.{Configuration, Problem}
import io.phantoms.spark.search.graph.FeedingGraph
import io.phantoms.spark.search.placement.{DerivationBuilder, PlacementSearch, SearchState, Shipment}
import io.phantoms.spark.search.smap.SpaceAllocation

/**
 * The aggregate tree of a workload without predicates as configurations. Which relations there are is the tree's to say.
 * The patent computes the stream's children while tuples arrive and everything else from their results. Here that is a
 * relation shipped, and others derived from it in the tasks that merge it, as far as its shard key allows; the rest of
 * the tree stays before the shuffle.
 */
private[search] object TreeConfigurations {

  /** The greedy heuristic's tree. */
  def greedy(problem: Problem): Seq[Configuration] =
    placed(problem, greedyTrees(problem).choose(treeProblem(problem)))

  /** The randomized heuristic's, which starts from the greedy one's. */
  def randomized(problem: Problem): Seq[Configuration] = {
    val queries = math.max(1, problem.groupings.distinct.size)
    val search = new RandomizedTrees(
      iterations = math.max(2, math.min(Iterations, SearchedNodes / (queries * queries))),
      candidates = math.min(queries, MostCandidates),
      start = Some(greedyTrees(problem))
    )
    placed(problem, search.choose(treeProblem(problem)))
  }

  private[trees] def treeProblem(problem: Problem): TreeProblem = TreeProblem(
    problem.attributes.size,
    problem.groupings.map(AggregateQuery(_)),
    new GroupStatistics(problem.statistics)
  )

  private def greedyTrees(problem: Problem): GreedyTrees =
    new GreedyTrees(breadth = if (problem.queries.size <= PairsUpTo) GreedyTrees.Breadth else 0)

  private def placed(problem: Problem, tree: AggregateTree): Seq[Configuration] = {
    val graph = FeedingGraph.of(problem, tree.intermediate.flatMap(_.keys))
    val placement = new TreePlacement(graph, new CostModel(problem), tree)
    placement.states.map(placement.search.configuration)
  }

  private val Iterations = 50
  // Bounds the work of all iterations: a graph of n nodes has up to n^2 arcs.
  private val SearchedNodes = 600000
  private val MostCandidates = 64
  private val PairsUpTo = 24
}

/** Decides which relations of a tree are derived after the shuffle. */
private final class TreePlacement(graph: FeedingGraph, model: CostModel, tree: AggregateTree) {
  val search = new PlacementSearch(graph, model, SpaceAllocation.SupernodeLinear)
  private val derivations = new DerivationBuilder(graph, model)
  private val phantoms = (graph.queryCount until graph.size).toVector

  /** All of the tree before the shuffle, and with those of the stream's children shipped that lower the score. */
  def states: Seq[SearchState] = {
    val all = search.state(Nil, phantoms)
    val shared = roots.foldLeft(all) { case (state, root) =>
      val better = shipments(root).map(s => search.state(s :: state.shipments, phantoms))
      (better :+ state).minBy(_.score)
    }
    if (shared.shipments.isEmpty) Seq(all) else Seq(shared, all)
  }

  // The stream's children that something is computed from, those with most below them first.
  private def roots: Vector[Int] =
    tree.children(0).filter(tree.children(_).nonEmpty).sortBy(-below(_).size)

  private def below(i: Int): Vector[Int] = tree.children(i).flatMap(c => c +: below(c))

  // One shipment for each shard key worth a try: what all below have in common, single attributes, none.
  private def shipments(root: Int): Vector[Shipment] = {
    val node = nodeOf(root)
    val nodes = below(root).map(nodeOf)
    val common = nodes.map(graph.keys(_)).reduce(_ & _)
    val singles = graph.keys(node).toVector.map(BitSet(_))
    (common +: BitSet.empty +: singles).distinct.map(key => (key, nodes.filter(graph.contains(_, key))))
      .filter(_._2.exists(!graph.isPhantom(_))).sortBy(-_._2.size).take(TreePlacement.Keys)
      .map { case (key, derived) =>
        val shards = model.shards(
          graph.groups(node),
          graph.shippedBytes(node),
          key,
          model.sketching(graph.keys(node), rows = false)
        )
        val busy = model.busyShards(shards, key, graph.keys(node))
        Shipment(key, busy, derivations.derive(node, derived, busy))
      }
  }

  private def nodeOf(i: Int): Int = graph.node(tree.nodes(i).keys.get).get
}

private object TreePlacement {

  /** Most shard keys tried for one relation. */
  private val Keys = 6
}
