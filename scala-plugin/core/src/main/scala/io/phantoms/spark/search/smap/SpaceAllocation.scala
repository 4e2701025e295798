package io.phantoms.spark.search.smap

import io.phantoms.spark.cost.{CollisionModel, CollisionRate, ConfigurationTree, SmapCost}

/**
 * A configuration whose tables are to share the memory M.
 *
 * @param tree the relations that have a table
 * @param groups g of each relation
 * @param entry h of each relation: space of one entry, in the unit of the memory
 * @param flowLength l_a of each relation
 * @param external whether the evictions of a relation cross to the HFTA (a leaf, or a query that also feeds)
 * @param turnover hash table evictions of each relation per tuple of the stream (n_R / n_c, section 7); 0 leaves the end
 *   of the epoch out of the cost
 * @param rate the collision rates that an exhaustive search goes by
 */
final case class SpaceProblem(
    tree: ConfigurationTree,
    groups: Int => Double,
    entry: Int => Double,
    flowLength: Int => Double,
    external: Int => Boolean,
    turnover: Int => Double = _ => 0.0,
    rate: CollisionRate = CollisionRate.Exact
) {

  /** g h: the space of all groups of a relation. */
  def extent(r: Int): Double = math.max(groups(r) * entry(r), Double.MinPositiveValue)

  /** g h / l_a: the analysis writes g for g / l_a (section 6.1), and section 6.4 puts g h in its place. */
  def weight(r: Int): Double =
    math.max(groups(r) * entry(r) / math.max(1.0, flowLength(r)), Double.MinPositiveValue)

  /** Collision rate of a relation in this much space. */
  def collisions(r: Int, space: Double): Double = rate(groups(r), space / entry(r), flowLength(r))

  /** Cost per tuple of the stream (eq 7; eq 29 divided by n_c where tables turn over) with this much space for each. */
  def cost(space: Array[Double], c1: Double, c2: Double): Double =
    new SmapCost(c1, c2).perCycle(
      tree,
      Array.tabulate(tree.size)(r => collisions(r, space(r))),
      r => space(r) / entry(r),
      external,
      1.0,
      turnover
    )
}

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

  /** Heuristic 1, Supernode with Linear Combination (SL): a supernode has the groups of all it is made of. */
  object SupernodeLinear extends Supernodes("sl") {
    override protected def root(own: Double, linear: Double, roots: Double): Double = math.sqrt(own + linear)
  }

  /** Heuristic 2, Supernode with Square Root Combination (SR): the square roots of the groups add up instead. */
  object SupernodeRoot extends Supernodes("sr") {
    override protected def root(own: Double, linear: Double, roots: Double): Double = math.sqrt(own) + roots
  }

  /** Heuristic 3, Linear Proportional Allocation (PL). */
  object ProportionalLinear extends Proportional("pl", identity)

  /** Heuristic 4, Square Root Proportional Allocation (PR). */
  object ProportionalRoot extends Proportional("pr", math.sqrt)

  /** The paper's allocations by name: `sl`, `sr`, `pl`, `pr`, and `es`, which tries steps of 1 % of the memory. */
  val byName: Map[String, SpaceAllocation] =
    Seq(SupernodeLinear, SupernodeRoot, ProportionalLinear, ProportionalRoot, new ExhaustiveSpace(100))
      .map(a => a.name -> a).toMap

  /** Combines each relation with all below it into a supernode until one level is left, then unfolds them by eqs 21, 22. */
  sealed abstract class Supernodes(override val name: String) extends SpaceAllocation {

    /**
     * Square root of a supernode's groups.
     *
     * @param own groups of the relation itself
     * @param linear groups of its children's supernodes, summed
     * @param roots their square roots, summed
     */
    protected def root(own: Double, linear: Double, roots: Double): Double

    override def allocate(problem: SpaceProblem, memory: Double, c1: Double, c2: Double): Array[Double] = {
      val tree = problem.tree
      val n = tree.size
      val roots = new Array[Double](n)
      val below = new Array[Double](n) // sum of the roots of the children's supernodes
      val linear = new Array[Double](n) // and of their squares
      var raw = 0.0
      var r = n - 1
      while (r >= 0) {
        roots(r) = root(problem.weight(r), linear(r), below(r))
        if (tree.isRaw(r)) raw += roots(r)
        else {
          below(tree.parent(r)) += roots(r)
          linear(tree.parent(r)) += roots(r) * roots(r)
        }
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

  /** By a relation's own groups alone, not by the analysis: entry widths count, flow lengths and the tree do not. */
  sealed abstract class Proportional(override val name: String, share: Double => Double) extends SpaceAllocation {
    override def allocate(problem: SpaceProblem, memory: Double, c1: Double, c2: Double): Array[Double] = {
      val shares = Array.tabulate(problem.tree.size)(r => share(problem.extent(r)))
      val all = shares.sum
      shares.map(_ / all * memory)
    }
  }
}
