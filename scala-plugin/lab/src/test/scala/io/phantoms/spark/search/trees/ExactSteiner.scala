package io.phantoms.spark.search.trees

/** Cost of the cheapest Steiner tree, by exhaustion. */
object ExactSteiner {

  /**
   * Over all sets of terminals and all roots (Dreyfus and Wagner): the tree below a node either splits the terminals, or
   * leads to one other node.
   */
  def cost(graph: SteinerGraph): Double = {
    val k = graph.terminals.length
    require(k <= 12, "3^k sets")
    val bit = graph.terminals.zipWithIndex.toMap
    val out = Array.fill(graph.size)(Vector.empty[(Int, Double)])
    for (v <- 0 until graph.size; i <- graph.tails(v).indices) out(graph.tails(v)(i)) :+= ((v, graph.costs(v)(i)))
    val least = Array.fill(1 << k, graph.size)(Double.PositiveInfinity)
    least(0) = new Array[Double](graph.size)
    for (set <- 1 until (1 << k); v <- graph.size - 1 to 0 by -1) {
      var best = Double.PositiveInfinity
      bit.get(v).filter(b => (set & (1 << b)) != 0).foreach(b => best = least(set & ~(1 << b))(v))
      var part = (set - 1) & set
      while (part > 0) {
        best = math.min(best, least(part)(v) + least(set & ~part)(v))
        part = (part - 1) & set
      }
      out(v).foreach { case (w, c) => best = math.min(best, c + least(set)(w)) }
      least(set)(v) = best
    }
    least((1 << k) - 1)(0)
  }

  /** Over all sets of nodes, each with the cheapest parents in it. */
  def byNodeSets(graph: SteinerGraph): Double = {
    val optional = (1 until graph.size).filterNot(graph.isTerminal(_))
    require(optional.size <= 16, "2^n sets")
    (0 until (1 << optional.size)).iterator.map { set =>
      val in = Array.tabulate(graph.size)(v => v == 0 || graph.isTerminal(v))
      optional.indices.foreach(i => if ((set & (1 << i)) != 0) in(optional(i)) = true)
      (1 until graph.size).iterator.filter(in(_)).map { v =>
        graph.tails(v).indices.filter(i => in(graph.tails(v)(i))).map(graph.costs(v)(_)).minOption
          .getOrElse(Double.PositiveInfinity)
      }.sum
    }.min
  }
}
