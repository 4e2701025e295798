package io.phantoms.spark.search.trees

/**
 * The partial aggregate graph (aggregate trees, section 3.2.2): an arc from each node to every other one it covers, at the
 * cost of computing the one from the other.
 *
 * @param nodes of the space, each after all that cover it; the first is the stream
 */
private[spark] final class AggregateGraph(space: AggregateSpace, val nodes: Array[Int]) {

  val steiner: SteinerGraph = {
    val position = nodes.iterator.zipWithIndex.toMap
    SteinerGraph(
      nodes.length,
      space.queries.map(position),
      (u, v) => if (space.covers(nodes(u), nodes(v))) space.cost(nodes(u), nodes(v)) else Double.NaN
    )
  }

  /** The tree of the Steiner heuristic. */
  def search(): SteinerTree = new SteinerSearch(steiner).search()._1

  def tree(found: SteinerTree): AggregateTree =
    space.tree(found.nodes.drop(1).map(v => nodes(v) -> nodes(found.parent(v))).toMap)
}

private[spark] object AggregateGraph {

  /** @param nodes with the stream and all queries */
  def apply(space: AggregateSpace, nodes: Set[Int]): AggregateGraph = {
    val all = nodes.toArray.sorted
    // Covering is transitive: what covers more nodes' covers is covered by more.
    val covering = all.map(b => all.count(space.covers(_, b)))
    new AggregateGraph(space, all.indices.sortBy(i => (covering(i), all(i))).map(all).toArray)
  }
}
