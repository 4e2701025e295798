package io.phantoms.spark.search.trees

/**
 * A cheap Steiner tree: of the nodes that Wong's dual ascent reaches by saturated arcs, each takes its cheapest parent and
 * those that lead nowhere are dropped. Then nodes leave and enter the tree one at a time as long as that saves.
 *
 * In an acyclic graph the cheapest tree over given nodes is that of the cheapest parents, so a set of nodes says it all.
 */
private[spark] final class SteinerSearch(graph: SteinerGraph) {
  private val n = graph.size
  private val in = new Array[Boolean](n)

  // For each node of the tree its parent, the cost of that arc and of the next best; the latter infinite if there is none.
  private val parent = new Array[Int](n)
  private val best = new Array[Double](n)
  private val next = new Array[Double](n)

  /** Wong's tree, and the lower bound. */
  def wong(): (SteinerTree, Double) = {
    val ascent = DualAscent(graph)
    require(!ascent.bound.isInfinite, "a terminal that cannot be reached from the root")
    start(ascent.reached)
    (current, ascent.bound)
  }

  /** The tree of [[wong]] after the local search, and the lower bound. */
  def search(): (SteinerTree, Double) = {
    val (_, bound) = wong()
    while (dropOne() || addOne()) ()
    (current, bound)
  }

  private def start(nodes: Array[Boolean]): Unit = {
    System.arraycopy(nodes, 0, in, 0, n)
    graph.terminals.foreach(in(_) = true)
    in(0) = true
    assign()
    prune()
  }

  private def current: SteinerTree = {
    val tree = Array.tabulate(n)(v => if (v > 0 && in(v)) parent(v) else -1)
    SteinerTree(tree, (1 until n).iterator.filter(in(_)).map(best(_)).sum)
  }

  private def assign(): Unit = {
    var v = 1
    while (v < n) {
      parent(v) = -1
      best(v) = Double.PositiveInfinity
      next(v) = Double.PositiveInfinity
      if (in(v)) {
        val tails = graph.tails(v)
        val costs = graph.costs(v)
        var i = 0
        while (i < tails.length) {
          if (in(tails(i))) {
            if (costs(i) < best(v)) {
              next(v) = best(v)
              best(v) = costs(i)
              parent(v) = tails(i)
            } else if (costs(i) < next(v)) next(v) = costs(i)
          }
          i += 1
        }
      }
      v += 1
    }
  }

  // Drops nodes that are no terminals and feed nothing; children come after their parents.
  private def prune(): Unit = {
    val children = new Array[Int](n)
    var dropped = false
    var v = n - 1
    while (v > 0) {
      if (in(v)) {
        if (children(v) == 0 && !graph.isTerminal(v)) {
          in(v) = false
          dropped = true
        } else children(parent(v)) += 1
      }
      v -= 1
    }
    if (dropped) assign()
  }

  private def dropOne(): Boolean = {
    val saved = new Array[Double](n)
    var v = 1
    while (v < n) {
      if (in(v)) {
        saved(v) += best(v)
        saved(parent(v)) -= next(v) - best(v)
      }
      v += 1
    }
    // Also one that saves nothing: of two trees of one cost the smaller.
    change(saved, v => in(v) && !graph.isTerminal(v), -SteinerSearch.Rounding, entering = false)
  }

  private def addOne(): Boolean = {
    val saved = new Array[Double](n)
    val entry = Array.fill(n)(Double.PositiveInfinity)
    var v = 1
    while (v < n) {
      val tails = graph.tails(v)
      val costs = graph.costs(v)
      var i = 0
      while (i < tails.length) {
        val u = tails(i)
        if (in(v)) { if (!in(u) && costs(i) < best(v)) saved(u) += best(v) - costs(i) }
        else if (in(u) && costs(i) < entry(v)) entry(v) = costs(i)
        i += 1
      }
      v += 1
    }
    v = 1
    while (v < n) { saved(v) -= entry(v); v += 1 }
    change(saved, v => !in(v), SteinerSearch.Epsilon, entering = true)
  }

  // The step that saves most, if that is more than a part of the cost.
  private def change(saved: Array[Double], allowed: Int => Boolean, least: Double, entering: Boolean): Boolean = {
    var most = Double.NegativeInfinity
    var which = -1
    var v = 1
    while (v < n) {
      if (allowed(v) && saved(v) > most) {
        most = saved(v)
        which = v
      }
      v += 1
    }
    val worth = which > 0 && most > least * current.cost
    if (worth) {
      in(which) = entering
      assign()
      prune()
    }
    worth
  }
}

private[spark] object SteinerSearch {

  /** Least saving worth a new node, as a part of the cost, and what rounding can feign: much less. */
  private val Epsilon = 1e-9
  private val Rounding = 1e-13
}
