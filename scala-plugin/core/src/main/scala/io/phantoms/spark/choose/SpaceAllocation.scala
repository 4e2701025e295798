package io.phantoms.spark.choose

/**
 * A configuration whose tables are to share the memory M.
 *
 * @param tree the relations that have a table
 * @param weight for each relation g h / l_a: groups, times bytes of an entry, by flow length. SMAP's analysis writes g
 *   for g / l_a (section 6.1) and section 6.4 puts g h in its place when entries differ in size; space is then in bytes.
 * @param external whether the evictions of a relation cross to the HFTA (a leaf, or a query that also feeds)
 */
final case class SpaceProblem(tree: ConfigurationTree, weight: Int => Double, external: Int => Boolean)

/** Divides the memory among the tables of a configuration (SMAP section 6); the sum of the shares is the memory. */
trait SpaceAllocation {
  def name: String

  /**
   * @param memory bytes
   * @return bytes for each relation, not yet a whole number of buckets
   */
  def allocate(problem: SpaceProblem, memory: Double, c1: Double, c2: Double): Array[Double]
}

object SpaceAllocation {

  /**
   * Eqs 21 and 22: the optimal division for one phantom that feeds relations of weights g_1..g_f. A phantom that is a
   * query too pays c2 for each of its own evictions, which stands beside f c1 in eq 17.
   *
   * @return bytes of the phantom, and the factor v' by which each child's sqrt(g_i) becomes its bytes
   */
  def twoLevels(
      memory: Double,
      fanOut: Int,
      sumOfRoots: Double,
      external: Boolean,
      c1: Double,
      c2: Double
  ): (Double, Double) = {
    val perEviction = fanOut * c1 + (if (external) c2 else 0.0)
    val denominator = sumOfRoots + math.sqrt(sumOfRoots * sumOfRoots + perEviction * memory / (CollisionModel.Mu * c2))
    val scale = if (denominator <= 0) 0.0 else memory / denominator
    (memory - scale * sumOfRoots, scale)
  }

  /** Heuristic 1, Supernode with Linear Combination (SL). */
  object SupernodeLinear extends SpaceAllocation {
    override val name: String = "sl"

    override def allocate(problem: SpaceProblem, memory: Double, c1: Double, c2: Double): Array[Double] = {
      val tree = problem.tree
      val n = tree.size
      // A supernode's groups: those of the relation itself and of everything below it.
      val roots = new Array[Double](n)
      val below = new Array[Double](n) // sum of the roots of the children's supernodes
      var raw = 0.0
      var r = n - 1
      while (r >= 0) {
        roots(r) += math.max(problem.weight(r), Double.MinPositiveValue)
        if (!tree.isRaw(r)) roots(tree.parent(r)) += roots(r)
        roots(r) = math.sqrt(roots(r))
        if (tree.isRaw(r)) raw += roots(r) else below(tree.parent(r)) += roots(r)
        r -= 1
      }

      // One level: in proportion to the square root. Then each supernode unfolds into a phantom and what it feeds.
      val space = new Array[Double](n)
      val scale = new Array[Double](n)
      r = 0
      while (r < n) {
        val whole = if (tree.isRaw(r)) memory * roots(r) / raw else scale(tree.parent(r)) * roots(r)
        if (tree.isLeaf(r)) space(r) = whole
        else {
          val (own, factor) = twoLevels(whole, tree.fanOut(r), below(r), problem.external(r), c1, c2)
          space(r) = own
          scale(r) = factor
        }
        r += 1
      }
      space
    }
  }
}
