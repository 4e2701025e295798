package io.phantoms.spark.search.smap

/**
 * Greedy by increasing space (SMAP section 4.1, Fig 5), the view materialisation algorithm adapted: every table has phi
 * buckets for each group of its relation, and the phantom of largest benefit per unit of space is added while the memory
 * lasts, even where no benefit is left. What remains of the memory goes to all in proportion to their groups
 * (section 8.4), which makes the final allocation PL.
 */
object Gp {

  /** phi where a user names none: a bucket for each group. */
  val DefaultPhi: Double = 1.0

  /**
   * @param phi buckets per group
   * @param candidates phantoms that may be added (S_C)
   * @param evaluations most configurations to cost; the algorithm stops when they are used up
   * @param most phantoms to add at most
   */
  def choose(
      problem: MultipleAggregation,
      phi: Double,
      candidates: Vector[Int],
      evaluations: Int = Int.MaxValue,
      most: Int = Int.MaxValue
  ): SmapConfiguration = {
    require(phi > 0 && !phi.isInfinite, s"phi: $phi")
    def space(node: Int): Double = phi * problem.groups(node) * problem.entry(node)
    def cost(chosen: Vector[Int]): Double = {
      val feeding = problem.feeding(chosen)
      problem.cost(feeding, feeding.nodes.map(space))
    }
    var chosen = Vector.empty[Int]
    var open = candidates
    var memory = problem.memory - problem.queries.iterator.map(space).sum
    var left = evaluations
    var now = cost(chosen)
    var adding = true
    while (adding) {
      open = open.filter(memory > space(_))
      adding = open.nonEmpty && open.size <= left && chosen.size < most
      if (adding) {
        left -= open.size
        val (lowered, best) = open.map(r => (cost(chosen :+ r), r)).maxBy { case (c, r) => (now - c) / space(r) }
        chosen :+= best
        open = open.filter(_ != best)
        memory -= space(best)
        now = lowered
      }
    }
    problem.allocated(problem.feeding(chosen), SpaceAllocation.ProportionalLinear)
  }
}
