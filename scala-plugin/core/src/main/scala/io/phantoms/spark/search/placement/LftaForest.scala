package io.phantoms.spark.search.placement

import io.phantoms.spark.cost.{ConfigurationTree, CostModel}
import io.phantoms.spark.search.graph.{FeedingForest, FeedingGraph, Sorted}
import io.phantoms.spark.search.smap.{SpaceAllocation, SpaceProblem}

/**
 * The map side of a configuration under evaluation: which relation feeds which, how large each table is, and what flows.
 * All arrays run over the maintained relations, parents before children; amounts are per map task.
 *
 * @param nodes nodes of the feeding graph
 * @param parent positions in `nodes`, -1 for a raw relation
 * @param buckets table sizes, whole only after rounding; 0: entries pass straight through
 */
private[placement] final class LftaForest(
    val nodes: Array[Int],
    val parent: Array[Int],
    val buckets: Array[Double],
    val fed: Array[Double],
    val evictions: Array[Double]
)

/** Builds forests: parents, space allocation, and the tables that are better left out. */
private[placement] final class LftaForestBuilder(
    graph: FeedingGraph,
    model: CostModel,
    allocation: SpaceAllocation,
    memory: Double
) {
  import LftaForestBuilder._

  /** Groups each node has in one map task. */
  val groupsInTask: Array[Double] =
    Array.tabulate(graph.size)(i => model.groupsInTask(graph.groups(i), graph.flowLength(i)))

  private val tableLimit: Array[Double] =
    Array.tabulate(graph.size)(i => TableSizes.ceiling(groupsInTask(i)).toDouble * graph.entryBytes(i))

  /** Whether a table of any size would let most entries through: the task sees almost as many groups as rows. */
  def irreducible(node: Int): Boolean = groupsInTask(node) > model.rowsPerTask * PassAbove

  private val hopelessTable: Array[Boolean] = Array.tabulate(graph.size)(irreducible)

  /**
   * @param ordered nodes to maintain in the order of [[FeedingForest.inOrder]]; phantoms that turn out to feed fewer than
   *   two relations are left out
   * @param ships whether the evictions of a node cross the shuffle
   * @param whole round the tables to powers of two
   */
  def build(
      ordered: Array[Int],
      ships: Int => Boolean,
      whole: Boolean,
      memory: Double = memory
  ): LftaForest = {
    // A relation sees no more entries than the task has rows, so what does not reduce them reduces nothing.
    val passing = hopelessTable.clone()
    var forest = attempt(ordered, ships, passing, whole, memory)
    while (markPassing(forest, passing)) forest = attempt(ordered, ships, passing, whole, memory)
    forest
  }

  /**
   * Whole tables in all of the memory, or in a part of it: where fewer evictions are not worth slower probes. Once all tables
   * fit the cache, less memory has nothing to gain.
   */
  def cheapest(ordered: Array[Int], ships: Int => Boolean): LftaForest = {
    var part = memory
    var last = build(ordered, ships, whole = true, part)
    var best = last
    var least = work(best, ships)
    var halvings = 1
    while (halvings < Halvings && last.nodes.indices.exists(tableBytes(last, _) > CostModel.ProbeCacheBytes)) {
      part /= 2
      last = build(ordered, ships, whole = true, part)
      val w = work(last, ships)
      if (w < least) { best = last; least = w }
      halvings += 1
    }
    best
  }

  /** Time one map task spends on the tables, and reduce tasks on merging what it ships. */
  private def work(forest: LftaForest, ships: Int => Boolean): Double = forest.nodes.indices.iterator.map { i =>
    val node = forest.nodes(i)
    val shipped = Option.when(ships(node))(graph.shippedBytes(node))
    model.mapWork(forest.fed(i), forest.evictions(i), tableBytes(forest, i), shipped, sketching(forest, i)) +
      (if (ships(node)) forest.evictions(i) * (model.machine.merge + merging(node)) else 0.0)
  }.sum

  // By node, what sketches take: of a row, and of another group.
  private val updating = Array.tabulate(graph.size)(i => model.sketching(graph.keys(i), rows = true))
  private[placement] val merging: Array[Double] =
    Array.tabulate(graph.size)(i => model.sketching(graph.keys(i), rows = false))

  private def sketching(forest: LftaForest, i: Int): Double =
    if (forest.parent(i) < 0) updating(forest.nodes(i)) else merging(forest.nodes(i))

  /** Time one map task spends on finding the groups of what feeds relation `i` of a forest, and on adding to them. */
  def feedWork(forest: LftaForest, i: Int): Double =
    forest.fed(i) * (model.probe(tableBytes(forest, i)) + sketching(forest, i))

  /** Bytes of the table of relation `i` of a forest; 0 where it has none. */
  def tableBytes(forest: LftaForest, i: Int): Double =
    if (forest.buckets(i) < 1) 0.0 else forest.buckets(i) * graph.entryBytes(forest.nodes(i))

  // Marks tables that do not reduce: all that never could, or else the worst third, whose memory then helps the others.
  private def markPassing(forest: LftaForest, passing: Array[Boolean]): Boolean = {
    val nodes = forest.nodes
    var hopeless = false
    var poor = 0
    var i = 0
    while (i < nodes.length) {
      if (!passing(nodes(i))) {
        val fed = forest.fed(i)
        if (forest.buckets(i) < 1 || groupsInTask(nodes(i)) > fed * PassAbove) {
          passing(nodes(i)) = true
          hopeless = true
        } else if (forest.evictions(i) > fed * PassAbove) poor += 1
      }
      i += 1
    }
    if (!hopeless && poor > 0) markWorst(forest, passing, poor)
    hopeless || poor > 0
  }

  // Of `poor` tables that reduce too little the third that reduces least.
  private def markWorst(forest: LftaForest, passing: Array[Boolean], poor: Int): Unit = {
    val nodes = forest.nodes
    val reducingLittle = FeedingForest.filtered(
      Array.range(0, nodes.length),
      i => !passing(nodes(i)) && forest.evictions(i) > forest.fed(i) * PassAbove
    )
    Sorted.positions(reducingLittle.map(i => -forest.evictions(i) / forest.fed(i))).iterator.take((poor + 2) / 3)
      .foreach(p => passing(nodes(reducingLittle(p))) = true)
  }

  private def attempt(
      ordered: Array[Int],
      ships: Int => Boolean,
      passing: Array[Boolean],
      whole: Boolean,
      memory: Double
  ): LftaForest = {
    val kept = FeedingForest.filtered(ordered, i => ships(ordered(i)) || !passing(ordered(i)))
    val (nodes, parent) = FeedingForest.useful(graph, kept, passing(_), ships)
    val buckets = tables(nodes, parent, ships, passing, whole, memory)
    val fed = new Array[Double](nodes.length)
    val evictions = new Array[Double](nodes.length)
    var i = 0
    while (i < nodes.length) {
      val node = nodes(i)
      fed(i) = if (parent(i) < 0) model.rowsPerTask else evictions(parent(i))
      val la = model.flowLength(graph.flowLength(node), fed(i))
      evictions(i) = model.evictions(fed(i), groupsInTask(node), buckets(i), la)
      i += 1
    }
    new LftaForest(nodes, parent, buckets, fed, evictions)
  }

  private def tables(
      nodes: Array[Int],
      parent: Array[Int],
      ships: Int => Boolean,
      passing: Array[Boolean],
      whole: Boolean,
      memory: Double
  ): Array[Double] = {
    val buckets = new Array[Double](nodes.length)
    val at = new Array[Int](nodes.length) // position among the tables
    val kept = new Array[Int](nodes.length) // and back
    var count = 0
    var shipping = 0.0
    var i = 0
    while (i < nodes.length) {
      if (!passing(nodes(i))) {
        at(i) = count
        kept(count) = i
        count += 1
        shipping += model.c2(graph.shippedBytes(nodes(i)))
      }
      i += 1
    }
    if (count > 0) {
      val feeder = new Array[Int](count)
      i = 0
      while (i < count) {
        val p = parent(kept(i))
        feeder(i) = if (p < 0) -1 else at(p)
        i += 1
      }
      val space = allocation.allocate(
        SpaceProblem(
          new ConfigurationTree(feeder),
          k => groupsInTask(nodes(kept(k))),
          k => graph.entryBytes(nodes(kept(k))).toDouble,
          k => graph.flowLength(nodes(kept(k))),
          k => ships(nodes(kept(k)))
        ),
        memory,
        model.machine.c1,
        shipping / count + model.machine.merge
      )
      TableSizes.respread(space, k => tableLimit(nodes(kept(k))))
      if (whole) {
        val rounded =
          TableSizes.round(space, k => graph.entryBytes(nodes(kept(k))), k => groupsInTask(nodes(kept(k))), memory)
        rounded.indices.foreach(k => buckets(kept(k)) = rounded(k).toDouble)
      } else {
        i = 0
        while (i < count) {
          buckets(kept(i)) = math.max(TableSizes.MinBuckets.toDouble, space(i) / graph.entryBytes(nodes(kept(i))))
          i += 1
        }
      }
    }
    buckets
  }
}

private[placement] object LftaForestBuilder {

  /** A table from which more than this part of the fed entries leaves again is not worth its probes. */
  val PassAbove: Double = 0.9

  /** How often the memory is halved in search of tables that are cheaper than all of it. */
  private val Halvings = 7
}
