package io.phantoms.spark.search.graph

import scala.collection.immutable.BitSet
import scala.collection.mutable

import io.phantoms.spark.model.{Mask, Problem}

/**
 * The relation feeding graph (SMAP section 2.6): the distinct groupings of the queries and every union of them, the only
 * relations that can help, since a phantom is worth maintaining only if it feeds two relations or more.
 *
 * Never enumerates subsets of attributes. A workload whose unions outnumber `maxNodes` keeps the unions that cover most
 * pairs of queries (the sharing a phantom offers), then the narrowest.
 *
 * Nodes `0 until queryCount` are the distinct groupings in the order of the queries; phantoms follow, coarser first.
 */
final class FeedingGraph private (val problem: Problem, masks: Array[Mask]) {
  def this(problem: Problem, maxNodes: Int) = this(problem, FeedingGraph.withUnions(problem, maxNodes))
  def this(problem: Problem) = this(problem, FeedingGraph.nodesFor(problem.queries.size))

  private val width = problem.attributes.size

  private val ids: Map[Mask, Int] = masks.iterator.zipWithIndex.toMap

  val size: Int = masks.length

  /** The grouping of each node. */
  val keys: Vector[BitSet] = masks.iterator.map(_.toBitSet).toVector

  /** For each distinct grouping the queries (ordinals into [[Problem.queries]]) that ask for it. */
  val queries: Vector[Vector[Int]] = {
    val byNode = mutable.ArrayBuffer.empty[Vector[Int]]
    problem.groupings.iterator.zipWithIndex.foreach { case (keys, q) =>
      val node = ids(Mask(keys, width))
      // Nodes come in the order of the queries: a new one is the next one.
      if (node == byNode.size) byNode += Vector(q) else byNode(node) :+= q
    }
    byNode.toVector
  }

  val queryCount: Int = queries.size

  /** Groups g_R of each node, between 1 and the rows. */
  val groups: Array[Double] = {
    val rows = math.max(1.0, problem.statistics.rows)
    keys.iterator.map(k => math.min(rows, math.max(1.0, problem.statistics.groups(k)))).toArray
  }

  val flowLength: Array[Double] = keys.iterator.map(k => math.max(1.0, problem.statistics.flowLength(k))).toArray

  /** Bytes of one table entry of each node (h_R). */
  val entryBytes: Array[Int] = keys.iterator.map(problem.entryBytes).toArray

  /** Bytes that an entry of a relation is shipped as. */
  val shippedBytes: Array[Int] = keys.iterator.map(problem.shippedBytes).toArray

  /** Nodes, wider groupings first: each after everything that can feed it. */
  val order: Array[Int] = {
    val sizes = masks.map(_.size)
    Sorted.positions(sizes.map(-_.toDouble), groups.map(-_))
  }

  /** Position of each node in [[order]]. */
  val rank: Array[Int] = {
    val r = new Array[Int](size)
    order.iterator.zipWithIndex.foreach { case (node, at) => r(node) = at }
    r
  }

  /** Nodes with fewer groups first; of equals the one of lower rank. */
  private val byGroups: Array[Int] = Sorted.positions(order.map(groups(_))).map(order(_))

  /** Position of each node among all, those with fewer groups first: what sets of [[feeders]] hold. */
  val groupsRank: Array[Int] = {
    val r = new Array[Int](size)
    var at = 0
    while (at < size) { r(byGroups(at)) = at; at += 1 }
    r
  }

  private val feedersOf = new Array[Bits](size)

  /** The nodes that can feed a node, by their [[groupsRank]]. */
  def feeders(node: Int): Bits = {
    if (feedersOf(node) == null) feedersOf(node) = Bits.where(size)(at => feeds(byGroups(at), node))
    feedersOf(node)
  }

  /** Of the available nodes, by their [[groupsRank]], the one with fewest groups that can feed a node; -1: none can. */
  def cheapestFeeder(available: Bits, node: Int): Int = {
    val at = available.firstCommon(feeders(node))
    if (at < 0) -1 else byGroups(at)
  }

  /** The queries' nodes by rank, finest first. */
  val queryOrder: Array[Int] = order.filter(!isPhantom(_))

  private val fedBy = new Array[Bits](size)

  /** The queries that a node can feed, by their position in [[queryOrder]]. */
  def fed(node: Int): Bits = {
    if (fedBy(node) == null) fedBy(node) = Bits.where(queryCount)(at => feeds(node, queryOrder(at)))
    fedBy(node)
  }

  /** The queries' nodes that hold all these attributes, by their position in [[queryOrder]]. */
  def holding(attributes: BitSet): Bits = {
    val holds = holder(attributes)
    Bits.where(queryCount)(at => holds(queryOrder(at)))
  }

  /** Whether a node holds all these attributes. */
  def holder(attributes: BitSet): Int => Boolean = {
    val held = Mask(attributes, width)
    node => held.subsetOf(masks(node))
  }

  /** The queries that ask for a node's grouping; none: a phantom. */
  def queriesOf(node: Int): Vector[Int] = if (isPhantom(node)) Vector.empty else queries(node)

  def isPhantom(node: Int): Boolean = node >= queryCount

  /** Whether node `a` can feed node `b`: its grouping is strictly finer. */
  def feeds(a: Int, b: Int): Boolean = a != b && masks(b).subsetOf(masks(a))

  def contains(node: Int, attributes: BitSet): Boolean = attributes.subsetOf(keys(node))

  /** The node with this grouping. */
  def node(grouping: BitSet): Option[Int] = ids.get(Mask(grouping, width))
}

object FeedingGraph {

  /** Most nodes of a graph; beyond it unions are ranked and cut. */
  val MaxNodes: Int = 2048

  /** The graph of the queries and these groupings, which somebody else found worth considering. */
  def of(problem: Problem, phantoms: Iterable[BitSet]): FeedingGraph = {
    val queries = groupings(problem)
    val others = phantoms.iterator.map(Mask(_, problem.attributes.size)).filterNot(queries.toSet).distinct
    new FeedingGraph(problem, (queries ++ others.toIndexedSeq.sortBy(_.size)).toArray)
  }

  private def groupings(problem: Problem): IndexedSeq[Mask] =
    problem.groupings.map(Mask(_, problem.attributes.size)).distinct

  private def withUnions(problem: Problem, maxNodes: Int): Array[Mask] = {
    val queries = groupings(problem)
    (queries ++ unions(queries, math.max(0, maxNodes - queries.size))).toArray
  }

  // Many queries have many unions that cover many of them: fewer will do, and each costs a look at every query.
  private def nodesFor(queries: Int): Int =
    if (queries <= 64) MaxNodes else queries + math.max(256, MaxNodes * 32 / queries)

  private def unions(queries: IndexedSeq[Mask], room: Int): IndexedSeq[Mask] = {
    val known = mutable.HashSet.from(queries)
    val found = mutable.ArrayBuffer.empty[Mask]
    var frontier: IndexedSeq[Mask] = queries
    while (frontier.nonEmpty && found.size < room) {
      // How many (relation, query) pairs a union covers is known for free while uniting them.
      val covered = mutable.LinkedHashMap.empty[Mask, Int]
      for (f <- frontier.indices) {
        var q = if (frontier eq queries) f + 1 else 0
        while (q < queries.size) {
          val u = frontier(f) | queries(q)
          if (!known(u)) covered.update(u, covered.getOrElse(u, 0) + 1)
          q += 1
        }
      }
      val ranked = covered.toIndexedSeq
      val kept =
        if (found.size + ranked.size <= room) ranked
        else {
          val mostPairs = ranked.iterator.map { case (_, pairs) => -pairs.toDouble }.toArray
          val widths = ranked.iterator.map { case (u, _) => u.size.toDouble }.toArray
          Sorted.positions(mostPairs, widths).iterator.take(room - found.size).map(ranked(_)).toIndexedSeq
        }
      frontier = kept.map(_._1)
      known ++= frontier
      found ++= frontier
    }
    found.toIndexedSeq.sortBy(_.size)
  }
}
