package io.phantoms.spark.search.trees

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class WorkingTreeSuite extends AnyFunSuite {

  private def parents(tree: WorkingTree): Map[Int, Int] = tree.nodes.map(n => n -> tree.parent(n)).toMap

  test(
    "random walks: every gain is the difference of the costs, every modification can be undone and does what it says"
  ) {
    var done = Map.empty[String, Int]
    for (seed <- 1 to 400) withClue(s"seed $seed: ") {
      val random = new Random(seed)
      val (problem, _) = RandomTrees.filtered(random, 2 + random.nextInt(4), 2 + random.nextInt(6), rows = 200)
      val space = new AggregateSpace(problem)
      val tree = new WorkingTree(space)
      for (_ <- 1 to 15) choices(space, tree, random).foreach { case (name, v, m) =>
        val (before, cost) = (parents(tree), tree.totalCost)
        val undo = tree(m)
        assert(math.abs(cost - tree.totalCost - m.gain) <= 1e-6 * math.max(1.0, cost))
        tree(undo)
        assert(parents(tree) === before)
        tree(m)
        val after = parents(tree)
        assert(after.forall { case (n, p) => space.covers(p, n) })
        check(space, name, v, before, after)
        done += name -> (done.getOrElse(name, 0) + 1)
      }
    }
    info(s"$done")
    assert(Seq("merge", "delete", "suppress aggregation", "suppress filter").forall(done.getOrElse(_, 0) > 30))
  }

  // One of each kind, at random: its name, the node it is about, and the modification.
  private def choices(space: AggregateSpace, tree: WorkingTree, random: Random): Option[(String, Int, Modification)] = {
    val nodes = random.shuffle(tree.nodes)
    val merge = nodes.iterator.flatMap { a =>
      tree.children(tree.parent(a)).iterator.filter(_ != a).flatMap { b =>
        tree.merge(a, b, space.union(a, b)).map(("merge", a, _))
      }
    }
    val inner = nodes.filterNot(space.isQuery)
    val others = Seq(
      inner.iterator.flatMap(v => tree.delete(v).map(("delete", v, _))),
      inner.iterator.flatMap(v => tree.suppressAggregation(v).map(("suppress aggregation", v, _))),
      inner.iterator.flatMap(v => tree.suppressFilter(v).map(("suppress filter", v, _)))
    )
    random.shuffle(merge +: others).flatMap(_.nextOption()).headOption
  }

  private def check(space: AggregateSpace, name: String, v: Int, before: Map[Int, Int], after: Map[Int, Int]): Unit = {
    val moved = before.keys.filter(n => before(n) == v).toSeq
    name match {
      case "merge" => assert(after(v) != before(v) || after.values.count(_ == v) > before.values.count(_ == v))
      case "delete" =>
        assert(!after.contains(v) && moved.forall(after(_) == before(v)))
      case _ =>
        assert(!after.contains(v))
        val (grouping, filter) = if (name == "suppress filter") (v, before(v)) else (before(v), v)
        moved.foreach { n =>
          assert(space.keys(after(n)) === space.keys(grouping))
          assert(space.filter(after(n)) === space.filter(filter))
        }
    }
    val _ = assert(space.queries.forall(after.contains))
  }
}
