package io.phantoms.spark.search.smap

import scala.collection.mutable

import io.phantoms.spark.cost.{CollisionRate, ConfigurationTree, FlowLengths, SmapCost}
import io.phantoms.spark.model.Notation
import io.phantoms.spark.search.graph.{FeedingForest, FeedingGraph}

/**
 * SMAP's multiple aggregation problem (section 3.3): which phantoms to maintain, and how to divide the memory among all
 * tables, so that the cost per tuple of the stream is least. Costs are in the unit of `c1` and `c2`.
 *
 * @param graph the queries and what can feed them
 * @param groups g_R of each node
 * @param entry h_R of each node: space of one table entry, in the unit of `memory` (section 6.4)
 * @param memory M
 * @param c1 one probe
 * @param c2 one eviction to the HFTA
 * @param epochs None: one epoch for all queries, whose end is left out of the cost (eq 7). Otherwise eq 29 divided by n_c
 * @param rate the collision rates the cost is computed with
 */
final class MultipleAggregation(
    val graph: FeedingGraph,
    val groups: Int => Double,
    val entry: Int => Double,
    val memory: Double,
    val c1: Double,
    val c2: Double,
    val flowLengths: FlowLengths = FlowLengths.Random,
    val epochs: Option[Turnover] = None,
    val rate: CollisionRate = CollisionRate.Exact
) {
  private val costs = new SmapCost(c1, c2)
  private val turnovers = mutable.HashMap.empty[Set[Long], Double]

  val queries: Vector[Int] = (0 until graph.queryCount).toVector
  val phantoms: Vector[Int] = (graph.queryCount until graph.size).toVector

  /** The queries with these phantoms, each relation fed by the one with fewest groups; idle phantoms are left out. */
  def feeding(chosen: Iterable[Int]): Feeding = {
    val nodes = FeedingForest.inOrder(graph, queries ++ chosen)
    val (useful, parents) = FeedingForest.useful(graph, nodes, _ => false, !graph.isPhantom(_))
    new Feeding(useful, new ConfigurationTree(parents))
  }

  def spaceProblem(feeding: Feeding): SpaceProblem = {
    val nodes = feeding.nodes
    val turnover = turnoverOf(feeding)
    SpaceProblem(
      feeding.tree,
      r => groups(nodes(r)),
      r => entry(nodes(r)),
      r => flowLengths(nodes(r), feeding.depth(r)),
      external(feeding),
      r => turnover(r),
      rate
    )
  }

  /** The memory divided by an allocation, and what that costs. */
  def allocated(feeding: Feeding, allocation: SpaceAllocation): SmapConfiguration = {
    val problem = spaceProblem(feeding)
    val space = allocation.allocate(problem, memory, c1, c2)
    new SmapConfiguration(feeding, space, problem.cost(space, c1, c2))
  }

  /** Cost per tuple when each relation has this much space. */
  def cost(feeding: Feeding, space: Array[Double]): Double = spaceProblem(feeding).cost(space, c1, c2)

  /** Cost per tuple under collision rates that were measured (the paper's second way to cost a configuration). */
  def cost(feeding: Feeding, space: Array[Double], x: Int => Double): Double = {
    val turnover = turnoverOf(feeding)
    costs.perCycle(feeding.tree, x, size(feeding, space), external(feeding), 1.0, turnover(_))
  }

  /** Eq 8: what the end of an epoch costs when all tables are full. */
  def endOfEpoch(feeding: Feeding, space: Array[Double]): Double = {
    val problem = spaceProblem(feeding)
    val x = Array.tabulate(feeding.tree.size)(r => problem.collisions(r, space(r)))
    costs.endOfEpoch(feeding.tree, x, size(feeding, space), external(feeding))
  }

  /** Whether a relation is a query: what it evicts leaves the tables. */
  def external(feeding: Feeding): Int => Boolean = r => !graph.isPhantom(feeding.nodes(r))

  private def size(feeding: Feeding, space: Array[Double]): Int => Double = r => space(r) / entry(feeding.nodes(r))

  // n_R / n_c: a relation is evicted at the end of every epoch of the queries below it (Proposition 1).
  private def turnoverOf(feeding: Feeding): Array[Double] = epochs match {
    case None => new Array[Double](feeding.tree.size)
    case Some(e) =>
      val below = Array.tabulate(feeding.tree.size)(r => e.lengths(feeding.nodes(r)).toSet)
      for (r <- below.indices.reverse if !feeding.tree.isRaw(r)) below(feeding.tree.parent(r)) ++= below(r)
      below.map(b => turnovers.getOrElseUpdate(b, e.evictionsPerTuple(b)))
  }
}

/** Relations maintained and how they feed each other: nodes of the feeding graph in the order of the tree. */
final class Feeding(val nodes: Array[Int], val tree: ConfigurationTree) {

  /** Depth of each relation; raw relations have depth 1. */
  val depth: Array[Int] = {
    val d = new Array[Int](tree.size)
    for (r <- d.indices) d(r) = if (tree.isRaw(r)) 1 else d(tree.parent(r)) + 1
    d
  }

  def phantoms(graph: FeedingGraph): Vector[Int] = nodes.toVector.filter(graph.isPhantom)

  /** In the paper's notation. */
  def render(graph: FeedingGraph): String =
    Notation(graph.problem).render(nodes.indices.toVector.map(r => (graph.keys(nodes(r)), tree.parent(r))))
}

/**
 * @param space of each relation, in the unit of the memory
 * @param cost expected cost per tuple
 */
final class SmapConfiguration(val feeding: Feeding, val space: Array[Double], val cost: Double)
