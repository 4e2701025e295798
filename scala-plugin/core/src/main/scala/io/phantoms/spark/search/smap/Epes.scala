package io.phantoms.spark.search.smap

import io.phantoms.spark.cost.ConfigurationTree
import io.phantoms.spark.search.graph.{FeedingForest, FeedingGraph}

/**
 * Exhaustive phantoms and exhaustive space (EPES, SMAP section 8.4), the optimum that other algorithms are measured by:
 * every forest of queries and phantoms, whichever relation feeds which, under an exhaustive division of the memory.
 *
 * A phantom feeds two relations at least, so no forest has as many phantoms as queries.
 */
object Epes {

  /**
   * @param mostForests None is returned where there are more
   */
  def choose(problem: MultipleAggregation, allocation: SpaceAllocation, mostForests: Int): Option[SmapConfiguration] =
    forests(problem.graph, mostForests).map(_.iterator.map(problem.allocated(_, allocation)).minBy(_.cost))

  /** All forests, or None if there are more than `most`. */
  def forests(graph: FeedingGraph, most: Int): Option[Vector[Feeding]] = {
    val found = Vector.newBuilder[Feeding]
    var count = 0
    var tried = 0L
    var tooMany = false

    // Parents of nodes(at...), given those before; a phantom that cannot get its two children is given up at the end.
    def assign(nodes: Array[Int], parents: Array[Int], at: Int): Unit = if (!tooMany) {
      tried += 1
      if (tried > most.toLong * TriesPerForest) tooMany = true
      else if (at == nodes.length) {
        val children = new Array[Int](nodes.length)
        parents.foreach(p => if (p >= 0) children(p) += 1)
        if (nodes.indices.forall(r => !graph.isPhantom(nodes(r)) || children(r) >= 2)) {
          count += 1
          if (count > most) tooMany = true
          else found += new Feeding(nodes, new ConfigurationTree(parents.clone()))
        }
      } else
        for (p <- -1 until at if p < 0 || graph.feeds(nodes(p), nodes(at))) {
          parents(at) = p
          assign(nodes, parents, at + 1)
        }
    }

    def subsets(from: Int, chosen: List[Int]): Unit = if (!tooMany) {
      val nodes = FeedingForest.inOrder(graph, (0 until graph.queryCount) ++ chosen)
      assign(nodes, new Array[Int](nodes.length), 0)
      if (chosen.size < graph.queryCount - 1)
        for (p <- from until graph.size) subsets(p + 1, p :: chosen)
    }

    subsets(graph.queryCount, Nil)
    if (tooMany) None else Some(found.result())
  }

  // Assignments that leave a phantom idle are many more than forests.
  private val TriesPerForest = 1000
}
