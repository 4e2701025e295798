package io.phantoms.spark.choose

/** Which maintained relation feeds which, in a forest over the feeding graph. */
private[choose] object FeedingForest {

  /** These nodes, each after everything that can feed it. */
  def inOrder(graph: FeedingGraph, nodes: Iterable[Int]): Array[Int] = {
    val ranks = new Array[Int](nodes.size)
    var i = 0
    nodes.foreach { n => ranks(i) = graph.rank(n); i += 1 }
    java.util.Arrays.sort(ranks)
    i = 0
    while (i < ranks.length) { ranks(i) = graph.order(ranks(i)); i += 1 }
    ranks
  }

  /**
   * Each relation is fed by the maintained relation with fewest groups that can: the one that evicts least.
   *
   * @param nodes in the order of [[inOrder]]
   * @param passing relations without a table, which feed nothing
   * @return positions in `nodes`, -1 for a raw relation
   */
  def parents(graph: FeedingGraph, nodes: Array[Int], passing: Int => Boolean): Array[Int] = {
    val parent = new Array[Int](nodes.length)
    val feeders = new Array[Int](nodes.length) // positions of the tables so far
    var tables = 0
    var i = 0
    while (i < nodes.length) {
      val node = nodes(i)
      var best = -1
      var fewest = Double.PositiveInfinity
      var j = 0
      while (j < tables) {
        val feeder = nodes(feeders(j))
        if (graph.groups(feeder) < fewest && graph.feeds(feeder, node)) {
          best = feeders(j)
          fewest = graph.groups(feeder)
        }
        j += 1
      }
      parent(i) = best
      if (!passing(node)) {
        feeders(tables) = i
        tables += 1
      }
      i += 1
    }
    parent
  }

  /** The nodes without those that feed fewer than two relations and are not `kept` for themselves. */
  def withoutIdle(nodes: Array[Int], parent: Array[Int], kept: Int => Boolean): Array[Int] = {
    val children = new Array[Int](nodes.length)
    var idle = 0
    var i = 0
    while (i < nodes.length) {
      if (parent(i) >= 0) children(parent(i)) += 1
      i += 1
    }
    i = 0
    while (i < nodes.length) {
      if (children(i) < 2 && !kept(nodes(i))) {
        children(i) = -1
        idle += 1
      }
      i += 1
    }
    if (idle == 0) nodes else nodes.indices.iterator.filter(children(_) >= 0).map(nodes(_)).toArray
  }

  /** Nodes and parents after every idle relation has gone, and those that became idle by it. */
  def useful(
      graph: FeedingGraph,
      nodes: Array[Int],
      passing: Int => Boolean,
      kept: Int => Boolean
  ): (Array[Int], Array[Int]) = {
    var left = nodes
    var parent = parents(graph, left, passing)
    var fewer = withoutIdle(left, parent, kept)
    while (fewer.length < left.length) {
      left = fewer
      parent = parents(graph, left, passing)
      fewer = withoutIdle(left, parent, kept)
    }
    (left, parent)
  }
}
