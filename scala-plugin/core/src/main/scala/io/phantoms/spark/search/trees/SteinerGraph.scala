package io.phantoms.spark.search.trees

/**
 * A directed acyclic graph in which a Steiner tree is sought: the cheapest tree from the root, node 0, to all terminals.
 *
 * Nodes are numbered so that every arc leads to a higher number.
 *
 * @param tails for each node the nodes its incoming arcs come from
 * @param costs for each node the costs of these arcs, not negative
 */
private[spark] final class SteinerGraph(
    val tails: Array[Array[Int]],
    val costs: Array[Array[Double]],
    val terminals: Array[Int]
) {
  val size: Int = tails.length

  require(tails.indices.forall(v => tails(v).length == costs(v).length && tails(v).forall(_ < v)), "arcs lead upwards")
  require(costs.forall(_.forall(_ >= 0)), "costs are not negative")
  require(terminals.forall(t => t > 0 && t < size), "a terminal outside the graph")

  val isTerminal: Array[Boolean] = {
    val is = new Array[Boolean](size)
    terminals.foreach(is(_) = true)
    is
  }
}

private[spark] object SteinerGraph {

  /** @param cost of the arc between two nodes of which the first has the lower number; NaN if there is none */
  def apply(size: Int, terminals: Seq[Int], cost: (Int, Int) => Double): SteinerGraph = {
    val tails = new Array[Array[Int]](size)
    val costs = new Array[Array[Double]](size)
    val from = new Array[Int](size)
    val of = new Array[Double](size)
    for (v <- 0 until size) {
      var n = 0
      var u = 0
      while (u < v) {
        val c = cost(u, v)
        if (!c.isNaN) {
          from(n) = u
          of(n) = c
          n += 1
        }
        u += 1
      }
      tails(v) = from.take(n)
      costs(v) = of.take(n)
    }
    new SteinerGraph(tails, costs, terminals.toArray)
  }
}

/**
 * A tree from the root to all terminals.
 *
 * @param parent by node; -1 for the root and for nodes outside the tree
 */
private[trees] final case class SteinerTree(parent: Array[Int], cost: Double) {
  def nodes: IndexedSeq[Int] = parent.indices.filter(v => v == 0 || parent(v) >= 0)
}
