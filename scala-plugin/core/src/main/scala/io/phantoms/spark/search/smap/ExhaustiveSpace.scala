package io.phantoms.spark.search.smap

/**
 * Exhaustive space allocation (ES, SMAP section 6.3): the cheapest of all divisions of the memory into `units` equal
 * parts, of which each relation has at least one.
 *
 * Eq 7 of a subtree is c1 + x (c2 if external + what its children cost), so the best division of a subtree's space does
 * not depend on the rest of the tree: a table over (relation, units) finds the optimum of all divisions without listing
 * them. Where tables turn over (eq 29) the costs of a subtree no longer separate; the optimum of eq 7 is then improved by
 * moving units between pairs of relations, in shrinking steps, until no move helps. With x = mu g / b the cost is a sum of
 * products of powers of the b's, which has no local optimum besides the global one.
 *
 * @param units steps the memory is divided into; more if there are more relations
 */
final class ExhaustiveSpace(units: Int) extends SpaceAllocation {
  require(units > 0, s"units: $units")

  override val name: String = "es"

  override def allocate(problem: SpaceProblem, memory: Double, c1: Double, c2: Double): Array[Double] = {
    val tree = problem.tree
    if (tree.size == 0) Array.empty
    else {
      val steps = math.max(units, 2 * tree.size)
      val unit = memory / steps
      val found = divide(problem, steps, unit, c1, c2)
      if ((0 until tree.size).exists(problem.turnover(_) > 0)) exchange(problem, found, unit, c1, c2)
      found.map(_ * unit)
    }
  }

  private def divide(problem: SpaceProblem, steps: Int, unit: Double, c1: Double, c2: Double): Array[Int] = {
    val tree = problem.tree
    val n = tree.size
    val below = Array.fill(n)(start(steps)) // least cost of the children together, for each number of units
    val all = start(steps)
    val taken = Array.ofDim[Int](n, steps + 1) // units of a subtree out of those of it and its earlier siblings
    val own = Array.ofDim[Int](n, steps + 1) // units of its own table out of those of the subtree
    var r = n - 1
    while (r >= 0) {
      val subtree = table(problem, r, below(r), steps, unit, c1, c2, own(r))
      combine(if (tree.isRaw(r)) all else below(tree.parent(r)), subtree, taken(r))
      r -= 1
    }
    // Siblings joined last to first, so the first one's choice is the outermost.
    val left = new Array[Int](n) // units for the children of a relation not yet handed out
    val found = new Array[Int](n)
    var top = steps
    r = 0
    while (r < n) {
      val available = if (tree.isRaw(r)) top else left(tree.parent(r))
      val mine = taken(r)(available)
      if (tree.isRaw(r)) top -= mine else left(tree.parent(r)) -= mine
      found(r) = own(r)(mine)
      left(r) = mine - found(r)
      r += 1
    }
    found
  }

  private def start(steps: Int): Array[Double] = {
    val costs = Array.fill(steps + 1)(Double.PositiveInfinity)
    costs(0) = 0
    costs
  }

  private def table(
      problem: SpaceProblem,
      r: Int,
      below: Array[Double],
      steps: Int,
      unit: Double,
      c1: Double,
      c2: Double,
      own: Array[Int]
  ): Array[Double] = {
    val passedOn = if (problem.external(r)) c2 else 0.0
    val x = Array.tabulate(steps + 1)(u => problem.collisions(r, u * unit))
    val best = Array.fill(steps + 1)(Double.PositiveInfinity)
    for (m <- 1 to steps) {
      var u = 1
      while (u <= m) {
        val cost = c1 + x(u) * (passedOn + below(m - u))
        if (cost < best(m)) { best(m) = cost; own(m) = u }
        u += 1
      }
    }
    best
  }

  // Adds a subtree to its siblings, in place: sums for more units first, since they read those for fewer.
  private def combine(siblings: Array[Double], subtree: Array[Double], taken: Array[Int]): Unit =
    for (m <- siblings.indices.reverse) {
      var least = Double.PositiveInfinity
      var u = 1
      while (u <= m) {
        val cost = siblings(m - u) + subtree(u)
        if (cost < least) { least = cost; taken(m) = u }
        u += 1
      }
      siblings(m) = least
    }

  private def exchange(problem: SpaceProblem, found: Array[Int], unit: Double, c1: Double, c2: Double): Unit = {
    def cost: Double = problem.cost(found.map(_ * unit), c1, c2)
    var best = cost
    var step = 16
    while (step > 0) {
      var moved = false
      for (from <- found.indices; to <- found.indices if from != to && found(from) > step) {
        found(from) -= step
        found(to) += step
        val now = cost
        if (now < best) {
          best = now
          moved = true
        } else {
          found(from) += step
          found(to) -= step
        }
      }
      if (!moved) step /= 2
    }
  }
}
