package io.phantoms.spark.search.graph

/** Which maintained relation feeds which, in a forest over the feeding graph. */
private[search] object FeedingForest {

  /** These nodes, each after everything that can feed it. */
  def inOrder(graph: FeedingGraph, nodes: Iterable[Int]): Array[Int] = {
    val ranks = new Bits(graph.size)
    nodes.foreach(n => ranks += graph.rank(n))
    inOrder(graph, ranks)
  }

  /** The nodes of these ranks. */
  def inOrder(graph: FeedingGraph, ranks: Bits): Array[Int] = {
    val nodes = ranks.toArray
    var i = 0
    while (i < nodes.length) { nodes(i) = graph.order(nodes(i)); i += 1 }
    nodes
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
    val positions = new Array[Int](graph.size)
    val tables = new Bits(graph.size)
    var i = 0
    while (i < nodes.length) {
      val node = nodes(i)
      val feeder = graph.cheapestFeeder(tables, node)
      parent(i) = if (feeder < 0) -1 else positions(feeder)
      positions(node) = i
      if (!passing(node)) tables += graph.groupsRank(node)
      i += 1
    }
    parent
  }

  /** The nodes without those that feed fewer than two relations and are not `kept` for themselves. */
  def withoutIdle(nodes: Array[Int], parent: Array[Int], kept: Int => Boolean): Array[Int] = {
    val children = new Array[Int](nodes.length)
    var i = 0
    while (i < nodes.length) {
      if (parent(i) >= 0) children(parent(i)) += 1
      i += 1
    }
    filtered(nodes, i => children(i) >= 2 || kept(nodes(i)))
  }

  /** The nodes at positions that satisfy a predicate, in their order; the same array where all do. */
  def filtered(nodes: Array[Int], keeps: Int => Boolean): Array[Int] = {
    val left = new Array[Int](nodes.length)
    var n = 0
    var i = 0
    while (i < nodes.length) {
      if (keeps(i)) { left(n) = nodes(i); n += 1 }
      i += 1
    }
    if (n == nodes.length) nodes else java.util.Arrays.copyOf(left, n)
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
