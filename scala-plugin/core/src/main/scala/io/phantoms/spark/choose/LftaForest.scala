package io.phantoms.spark.choose

/**
 * The map side of a configuration under evaluation: which relation feeds which, how large each table is, and what flows.
 * All arrays run over the maintained relations, parents before children; amounts are per map task.
 *
 * @param nodes nodes of the feeding graph
 * @param parent positions in `nodes`, -1 for a raw relation
 * @param buckets table sizes, whole only after rounding; 0: entries pass straight through
 */
private[choose] final class LftaForest(
    val nodes: Array[Int],
    val parent: Array[Int],
    val buckets: Array[Double],
    val fed: Array[Double],
    val evictions: Array[Double]
)

/** Builds forests: parents, space allocation, and the tables that are better left out. */
private[choose] final class LftaForestBuilder(
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

  private val weight: Array[Double] =
    Array.tabulate(graph.size)(i => groupsInTask(i) * graph.entryBytes(i) / graph.flowLength(i))

  /** Whether a table of any size would let most entries through: the task sees almost as many groups as rows. */
  def irreducible(node: Int): Boolean = groupsInTask(node) > model.rowsPerTask * PassAbove

  /**
   * @param relations nodes to maintain; phantoms that turn out to feed fewer than two relations are left out
   * @param ships whether the evictions of a node cross the shuffle
   * @param whole round the tables to powers of two
   */
  def build(relations: Seq[Int], ships: Int => Boolean, whole: Boolean): LftaForest = {
    val ordered = relations.toArray.sortBy(graph.rank(_))
    // A relation sees no more entries than the task has rows, so what does not reduce them reduces nothing.
    val passing = new Array[Boolean](graph.size)
    ordered.foreach(n => passing(n) = irreducible(n))
    var forest = attempt(ordered, ships, passing, whole)
    while (markPassing(forest, passing)) forest = attempt(ordered, ships, passing, whole)
    forest
  }

  // Marks tables that do not reduce: all that never could, or else the worst third, whose memory then helps the others.
  private def markPassing(forest: LftaForest, passing: Array[Boolean]): Boolean = {
    val tables = forest.nodes.indices.filter(i => !passing(forest.nodes(i)))
    def ratio(i: Int): Double = forest.evictions(i) / forest.fed(i)
    val hopeless = tables.filter { i =>
      forest.buckets(i) < 1 || groupsInTask(forest.nodes(i)) > forest.fed(i) * PassAbove
    }
    val poor = tables.filter(ratio(_) > PassAbove)
    val marked = if (hopeless.nonEmpty) hopeless else poor.sortBy(-ratio(_)).take((poor.size + 2) / 3)
    marked.foreach(i => passing(forest.nodes(i)) = true)
    marked.nonEmpty
  }

  private def attempt(
      ordered: Array[Int],
      ships: Int => Boolean,
      passing: Array[Boolean],
      whole: Boolean
  ): LftaForest = {
    var nodes = ordered.filter(n => ships(n) || !passing(n))
    var parent = parents(nodes, passing)
    var idle = idlePhantoms(nodes, parent, ships)
    while (idle.nonEmpty) {
      nodes = nodes.indices.iterator.filterNot(idle).map(nodes(_)).toArray
      parent = parents(nodes, passing)
      idle = idlePhantoms(nodes, parent, ships)
    }
    val buckets = tables(nodes, parent, ships, passing, whole)
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

  // Each relation is fed by the maintained relation with fewest groups that can: the one that evicts least.
  private def parents(nodes: Array[Int], passing: Array[Boolean]): Array[Int] = {
    val parent = new Array[Int](nodes.length)
    var i = 0
    while (i < nodes.length) {
      var best = -1
      var fewest = Double.PositiveInfinity
      var j = 0
      while (j < i) {
        if (graph.groups(nodes(j)) < fewest && !passing(nodes(j)) && graph.feeds(nodes(j), nodes(i))) {
          best = j
          fewest = graph.groups(nodes(j))
        }
        j += 1
      }
      parent(i) = best
      i += 1
    }
    parent
  }

  private def idlePhantoms(nodes: Array[Int], parent: Array[Int], ships: Int => Boolean): Set[Int] = {
    val children = new Array[Int](nodes.length)
    parent.foreach(p => if (p >= 0) children(p) += 1)
    nodes.indices.iterator.filter(i => children(i) < 2 && !ships(nodes(i))).toSet
  }

  private def tables(
      nodes: Array[Int],
      parent: Array[Int],
      ships: Int => Boolean,
      passing: Array[Boolean],
      whole: Boolean
  ): Array[Double] = {
    val buckets = new Array[Double](nodes.length)
    val kept = nodes.indices.filter(i => !passing(nodes(i))).toArray
    if (kept.nonEmpty) {
      val at = new Array[Int](nodes.length)
      kept.indices.foreach(k => at(kept(k)) = k)
      val tree = ConfigurationTree(kept.iterator.map(i => if (parent(i) < 0) -1 else at(parent(i))).toVector)
      val node = kept.map(nodes(_))
      val meanC2 = node.iterator.map(n => model.c2(graph.entryBytes(n))).sum / node.length
      val space = allocation.allocate(
        SpaceProblem(tree, k => weight(node(k)), k => ships(node(k))),
        memory,
        model.machine.c1,
        meanC2 + model.machine.merge
      )
      TableSizes.respread(space, k => tableLimit(node(k)))
      if (whole) {
        val rounded =
          TableSizes.round(space, k => graph.entryBytes(node(k)), k => groupsInTask(node(k)), memory)
        kept.indices.foreach(k => buckets(kept(k)) = rounded(k).toDouble)
      } else
        kept.indices.foreach(k =>
          buckets(kept(k)) = math.max(TableSizes.MinBuckets.toDouble, space(k) / graph.entryBytes(node(k)))
        )
    }
    buckets
  }
}

private[choose] object LftaForestBuilder {

  /** A table from which more than this part of the fed entries leaves again is not worth its probes. */
  val PassAbove: Double = 0.9
}
