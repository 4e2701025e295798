package io.phantoms.spark.cost

/**
 * The shape of a configuration, as SMAP's cost equations see it.
 *
 * @param parents for each relation the ordinal of the relation that feeds it, or -1 for a raw relation; parents precede
 *   children
 */
final class ConfigurationTree(parents: Array[Int]) {
  val size: Int = parents.length

  private val children = new Array[Int](size)

  {
    var i = 0
    while (i < size) {
      val p = parents(i)
      if (p < -1 || p >= i) throw new IllegalArgumentException(s"relation $i: its parent must precede it")
      if (p >= 0) children(p) += 1
      i += 1
    }
  }

  def parent(i: Int): Int = parents(i)
  def isRaw(i: Int): Boolean = parents(i) < 0
  def isLeaf(i: Int): Boolean = children(i) == 0

  /** Relations that `i` feeds directly (the paper's f). */
  def fanOut(i: Int): Int = children(i)

  /** Depth of relation `i`; raw relations have depth 1. */
  def depth(i: Int): Int = if (isRaw(i)) 1 else 1 + depth(parents(i))
}

object ConfigurationTree {
  def apply(parents: Seq[Int]): ConfigurationTree = new ConfigurationTree(parents.toArray)
}

/**
 * SMAP's cost of a configuration (section 3.2), in the unit of `c1` and `c2`.
 *
 * The paper's queries are leaves. Where a query also feeds others its evictions cross to the HFTA as well, so the set L
 * of the equations is a parameter, `external`; by default the leaves.
 *
 * @param c1 one probe
 * @param c2 one eviction to the HFTA
 */
final class SmapCost(c1: Double, c2: Double) {

  /** Eq 7: maintenance cost e_m per tuple of the stream, given the collision rate x of each relation. */
  def perTuple(tree: ConfigurationTree, x: Int => Double): Double = perTuple(tree, x, tree.isLeaf _)

  def perTuple(tree: ConfigurationTree, x: Int => Double, external: Int => Boolean): Double = {
    val fed = new Array[Double](tree.size) // product of the ancestors' rates: tuples fed per tuple of the stream
    var cost = 0.0
    for (r <- 0 until tree.size) {
      fed(r) = if (tree.isRaw(r)) 1.0 else fed(tree.parent(r)) * x(tree.parent(r))
      cost += fed(r) * c1
      if (external(r)) cost += fed(r) * x(r) * c2
    }
    cost
  }

  /** Eqs 4 and 6: intra-epoch cost E_m of an epoch of `tuples` tuples (n_e). */
  def intraEpoch(tree: ConfigurationTree, x: Int => Double, tuples: Double): Double = tuples * perTuple(tree, x)

  /** Eq 8: end-of-epoch cost E_e; `size` is M_R, the entries evicted from the table of R. */
  def endOfEpoch(tree: ConfigurationTree, x: Int => Double, size: Int => Double): Double =
    endOfEpoch(tree, x, size, tree.isLeaf _)

  def endOfEpoch(
      tree: ConfigurationTree,
      x: Int => Double,
      size: Int => Double,
      external: Int => Boolean
  ): Double = {
    // Entries that reach R while its ancestors are evicted top down: the parent's own, and what collided there.
    val reached = new Array[Double](tree.size)
    var cost = 0.0
    for (r <- 0 until tree.size) {
      if (!tree.isRaw(r)) {
        val p = tree.parent(r)
        reached(r) = size(p) + reached(p) * x(p)
        cost += reached(r) * c1
      }
      if (external(r)) cost += (size(r) + reached(r) * x(r)) * c2
    }
    cost
  }

  /** Eq 27: what one hash table eviction of each relation costs (E_R); `size` is b_R. */
  def evictionCosts(
      tree: ConfigurationTree,
      x: Int => Double,
      size: Int => Double,
      external: Int => Boolean
  ): Array[Double] = {
    val perEntry = Array.tabulate(tree.size)(r => if (external(r)) c2 else 0.0)
    for (r <- tree.size - 1 to 0 by -1 if !tree.isRaw(r)) perEntry(tree.parent(r)) += c1 + x(r) * perEntry(r)
    Array.tabulate(tree.size)(r => size(r) * perEntry(r))
  }

  /**
   * Eq 29: overall cost E_c of a cycle, the sum of eq 23 and eq 28.
   *
   * @param tuples tuples of the stream in a cycle (n_c)
   * @param evictions hash table evictions of each relation in a cycle (n_R, eq 24)
   */
  def perCycle(
      tree: ConfigurationTree,
      x: Int => Double,
      size: Int => Double,
      external: Int => Boolean,
      tuples: Double,
      evictions: Int => Double
  ): Double = {
    val each = evictionCosts(tree, x, size, external)
    tuples * perTuple(tree, x, external) + each.indices.iterator.map(r => evictions(r) * each(r)).sum
  }
}
