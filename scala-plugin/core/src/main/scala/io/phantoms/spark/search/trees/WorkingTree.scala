package io.phantoms.spark.search.trees

import scala.collection.mutable

/**
 * A local modification of an aggregate tree.
 *
 * @param moved node and its new parent; a node that is not in the tree yet is added, and comes before those moved to it
 * @param removed node that leaves the tree, all its children being moved; -1 if none does
 * @param gain cost saved
 */
private[trees] final case class Modification(moved: List[(Int, Int)], removed: Int, gain: Double)

/** The tree under search: every node once, each under the node it is computed from. */
private[trees] final class WorkingTree(space: AggregateSpace) {
  import space.{cost, covers, root}

  private val parents = mutable.LongMap.empty[Int]
  private val below = mutable.LongMap.empty[mutable.LinkedHashSet[Int]]

  below(root.toLong) = mutable.LinkedHashSet.empty
  space.queries.foreach(move(_, root))

  def contains(node: Int): Boolean = below.contains(node.toLong)
  def parent(node: Int): Int = parents.getOrElse(node.toLong, -1)
  def children(node: Int): collection.Set[Int] = below(node.toLong)

  /** All nodes but the stream. */
  def nodes: Vector[Int] = parents.keysIterator.map(_.toInt).toVector.sorted

  /** Nodes that answer no query. */
  def intermediate: Vector[Int] = nodes.filterNot(space.isQuery)

  def totalCost: Double = parents.iterator.map { case (n, p) => cost(p, n.toInt) }.sum

  def result: AggregateTree = space.tree(parents.iterator.map { case (n, p) => n.toInt -> p }.toMap)

  /** Carries a modification out, and returns what undoes it. */
  def apply(m: Modification): Modification = {
    val before = m.moved.map { case (n, _) => (n, parent(n)) }
    val removedFrom = if (m.removed < 0) Nil else List((m.removed, parent(m.removed)))
    m.moved.foreach { case (n, p) => move(n, p) }
    if (m.removed >= 0) remove(m.removed)
    val added = before.collect { case (n, -1) => n }
    Modification(removedFrom ++ before.filter(_._2 >= 0), added.headOption.getOrElse(-1), -m.gain)
  }

  private def move(node: Int, to: Int): Unit = {
    if (contains(node)) { val _ = below(parent(node).toLong).remove(node) }
    else below(node.toLong) = mutable.LinkedHashSet.empty
    parents(node.toLong) = to
    below(to.toLong) += node
  }

  private def remove(node: Int): Unit = {
    val _ = below(parent(node).toLong).remove(node)
    parents -= node.toLong
    below -= node.toLong
  }

  // A new node `c` (or one of the tree) between a parent and these children of it; replaces `removed`.
  private def between(parent: Int, c: Int, children: Iterable[Int], removed: Int): Option[Modification] = {
    val moved = children.filter(_ != c).toList
    val added = !contains(c)
    val valid = moved.forall(covers(c, _)) && (!added || covers(parent, c))
    Option.when(valid && moved.nonEmpty && c != parent && c != removed) {
      val saved = moved.iterator.map(n => cost(this.parent(n), n) - cost(c, n)).sum +
        (if (removed < 0) 0.0 else cost(this.parent(removed), removed))
      val moves = moved.map((_, c))
      if (added) Modification((c, parent) :: moves, removed, saved - cost(parent, c))
      else Modification(moves, removed, saved)
    }
  }

  /**
   * Modification 1: siblings `a` and `b` become children of a new node under their parent, or of the one that is their
   * union.
   *
   * @param merged the new node: their union, or a variant of it
   */
  def merge(a: Int, b: Int, merged: Int): Option[Modification] = between(parent(a), merged, List(a, b), -1)

  /** Modification 2: an intermediate node leaves, its parent computes its children. */
  def delete(v: Int): Option[Modification] = {
    val p = parent(v)
    val moved = children(v).toList
    Option.when(moved.forall(covers(p, _))) {
      val saved = cost(p, v) + moved.iterator.map(n => cost(v, n) - cost(p, n)).sum
      Modification(moved.map((_, p)), v, saved)
    }
  }

  /** Modification 3: an intermediate node only filters, its grouping becomes its parent's. */
  def suppressAggregation(v: Int): Option[Modification] = replace(v, space.mixed(parent(v), v))

  /** Modification 4: an intermediate node only aggregates, its filter becomes its parent's. */
  def suppressFilter(v: Int): Option[Modification] = replace(v, space.mixed(v, parent(v)))

  private def replace(v: Int, by: Int): Option[Modification] = between(parent(v), by, children(v), v)
}
