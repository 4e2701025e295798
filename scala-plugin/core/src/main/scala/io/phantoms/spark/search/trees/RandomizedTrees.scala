package io.phantoms.spark.search.trees

import scala.util.Random

/**
 * The randomized heuristic (aggregate trees, Fig 5 and section 4.2.2). Every iteration adds unions of randomly picked
 * queries to the nodes of the best tree so far, and seeks the cheapest tree among them by Wong's dual ascent.
 *
 * @param iterations c1
 * @param candidates c2, random unions of one iteration; 0: as many as there are queries
 * @param seed of the random numbers
 * @param start the tree whose nodes the first iteration has besides the queries; None, as in the patent: no others
 */
final class RandomizedTrees(
    iterations: Int = 50,
    candidates: Int = 0,
    seed: Long = 1,
    start: Option[GreedyTrees] = None
) {

  def choose(problem: TreeProblem): AggregateTree = choose(new AggregateSpace(problem))

  private[spark] def choose(space: AggregateSpace): AggregateTree = {
    val random = new Random(seed)
    val queries = space.queries
    var best = AggregateTree.naive(space)
    var nodes = (space.root +: queries).toSet // S
    start.foreach { greedy =>
      best = greedy.choose(space)
      nodes = best.nodes.iterator.map(space.node).toSet
    }
    if (queries.nonEmpty) for (_ <- 0 until iterations) {
      val added = Iterator.continually(pick(space, random)).take(if (candidates > 0) candidates else queries.size)
        .flatMap(v => v +: (if (space.unfiltered) Nil else mixtures(space, v, nodes))).toSet // R
      val graph = AggregateGraph(space, nodes ++ added)
      val found = graph.search()
      if (found.cost < best.cost) {
        best = graph.tree(found)
        nodes = best.nodes.iterator.map(space.node).toSet
      }
    }
    best
  }

  // The union of between 1 and n queries.
  private def pick(space: AggregateSpace, random: Random): Int = {
    val queries = space.queries
    val r = 1 + random.nextInt(queries.size)
    space.union(random.shuffle(queries).take(r))
  }

  // Nodes that do not aggregate, or do not filter, more than a node that covers v.
  private def mixtures(space: AggregateSpace, v: Int, nodes: Set[Int]): Seq[Int] =
    nodes.toSeq.filter(space.covers(_, v)).flatMap(u => Seq(space.mixed(u, v), space.mixed(v, u)))
}
