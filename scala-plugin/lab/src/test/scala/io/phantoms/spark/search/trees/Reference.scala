package io.phantoms.spark.search.trees

/** The local modifications of section 4.2.1 written plainly: every tree one of them leads to, with its whole cost. */
object Reference {

  /** Parents by node. */
  type Tree = Map[Int, Int]

  def cost(space: AggregateSpace, tree: Tree): Double = tree.iterator.map { case (n, p) => space.cost(p, n) }.sum

  /** The nodes of a tree the heuristics returned. */
  def of(space: AggregateSpace, tree: AggregateTree): Tree =
    tree.nodes.drop(1).map(n => space.node(n) -> space.node(tree.nodes(n.parent))).toMap

  def neighbours(space: AggregateSpace, tree: Tree): Seq[Tree] = {
    val nodes = tree.keys.toVector.sorted
    val merges = for {
      a <- nodes
      b <- nodes
      if a < b && tree(a) == tree(b)
      u = space.union(a, b)
      c <- Seq(u, space.mixed(tree(a), u), space.mixed(u, tree(a))).distinct
      if c != tree(a)
    } yield under(tree, c, tree(a), Seq(a, b).filter(_ != c))
    val changes = nodes.filterNot(space.isQuery).flatMap { v =>
      val (p, children) = (tree(v), nodes.filter(tree(_) == v))
      val deleted = (tree - v) ++ children.map(_ -> p)
      val replaced = Seq(space.mixed(p, v), space.mixed(v, p)).filter(c => c != v && c != p)
        .map(c => under(tree - v, c, p, children))
      deleted +: replaced
    }
    (merges ++ changes).filter(valid(space, _))
  }

  private def under(tree: Tree, c: Int, p: Int, children: Seq[Int]): Tree =
    (if (tree.contains(c) || c == 0) tree else tree + (c -> p)) ++ children.map(_ -> c)

  private def valid(space: AggregateSpace, tree: Tree): Boolean = tree.forall { case (n, p) => space.covers(p, n) }
}
