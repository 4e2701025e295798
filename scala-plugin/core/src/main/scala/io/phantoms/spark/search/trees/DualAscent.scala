package io.phantoms.spark.search.trees

import scala.collection.mutable

/**
 * Wong's dual ascent for the directed Steiner tree (R. Wong, A Dual Ascent Approach for Steiner Tree Problems on a
 * Directed Graph, Mathematical Programming 28, 1984).
 *
 * Every set of nodes that holds a terminal and not the root must be entered by an arc of the tree. The dual problem
 * gives each such cut a price; prices of the cuts an arc enters may not exceed its cost. Starting from 0, the ascent
 * raises one price after the other until an arc of the cut is used up (saturated), and ends when saturated arcs lead
 * from the root to every terminal. The sum of the prices is a lower bound of every tree's cost, and the saturated arcs
 * are where cheap trees lie.
 *
 * @param bound lower bound of the cost of the cheapest tree; infinite if no tree reaches all terminals
 * @param reached whether saturated arcs lead to a node from the root
 * @param reducedCosts what is left of the costs, arranged as in [[SteinerGraph.costs]]; 0: saturated
 */
private[trees] final case class DualAscent(
    bound: Double,
    reached: Array[Boolean],
    reducedCosts: Array[Array[Double]]
)

private[trees] object DualAscent {

  def apply(graph: SteinerGraph): DualAscent = {
    val ascent = new Ascent(graph)
    ascent.run()
    DualAscent(ascent.bound, ascent.reached, ascent.reduced)
  }

  private final class Ascent(graph: SteinerGraph) {
    val reduced: Array[Array[Double]] = graph.costs.map(_.clone())
    var bound: Double = 0.0

    // The cut of a terminal: all nodes from which saturated arcs lead to it.
    private val cut = new Array[Int](graph.size)
    private var cutSize = 0
    private val inCut = new Array[Int](graph.size) // number of the cut a node was last put in
    private var cuts = 0

    // The terminal with the smallest cut comes first. Another terminal in its cut would have a cut within it, so each cut
    // is a root component in Wong's sense: of its terminals none is outside its strong component.
    private val waiting = mutable.PriorityQueue.empty[(Int, Int)](Ordering.by { case (size, t) => (-size, -t) })

    def run(): Unit = {
      graph.terminals.foreach(t => waiting.enqueue((1, t)))
      while (waiting.nonEmpty) {
        val (size, t) = waiting.dequeue()
        find(t)
        if (inCut(0) != cuts) {
          if (cutSize > size && waiting.nonEmpty) waiting.enqueue((cutSize, t))
          else if (raise()) waiting.enqueue((cutSize, t))
          else bound = Double.PositiveInfinity
        }
      }
    }

    private def find(t: Int): Unit = {
      cuts += 1
      cut(0) = t
      cutSize = 1
      inCut(t) = cuts
      var at = 0
      while (at < cutSize && inCut(0) != cuts) {
        val v = cut(at)
        at += 1
        var i = 0
        while (i < reduced(v).length) {
          val u = graph.tails(v)(i)
          if (reduced(v)(i) <= 0 && inCut(u) != cuts) {
            inCut(u) = cuts
            cut(cutSize) = u
            cutSize += 1
          }
          i += 1
        }
      }
    }

    // Raises the price of the cut as far as its cheapest arc allows.
    private def raise(): Boolean = {
      val least = cheapestEntering()
      val found = !least.isInfinite
      if (found) {
        bound += least
        entering((v, i) => reduced(v)(i) = math.max(0.0, reduced(v)(i) - least))
      }
      found
    }

    private def cheapestEntering(): Double = {
      var least = Double.PositiveInfinity
      entering((v, i) => if (reduced(v)(i) < least) least = reduced(v)(i))
      least
    }

    @inline private def entering(act: (Int, Int) => Unit): Unit = {
      var at = 0
      while (at < cutSize) {
        val v = cut(at)
        val tails = graph.tails(v)
        var i = 0
        while (i < tails.length) {
          if (inCut(tails(i)) != cuts) act(v, i)
          i += 1
        }
        at += 1
      }
    }

    def reached: Array[Boolean] = {
      val found = new Array[Boolean](graph.size)
      found(0) = true
      for (v <- 1 until graph.size)
        found(v) = graph.tails(v).indices.exists(i => reduced(v)(i) <= 0 && found(graph.tails(v)(i)))
      found
    }
  }
}
