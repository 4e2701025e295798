package io.phantoms.spark.search.trees

import scala.util.Random

import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

class SteinerSuite extends AnyFunSuite {
  import SteinerSuite.Ratios

  private def near(a: Double, b: Double): Boolean = math.abs(a - b) <= 1e-9 * math.max(1.0, math.abs(b))

  private def ratios(graph: SteinerGraph): Ratios = {
    val exact = ExactSteiner.cost(graph)
    val (wong, bound) = new SteinerSearch(graph).wong()
    val (found, sameBound) = new SteinerSearch(graph).search()
    assert(bound === sameBound)
    Seq(wong, found).foreach(checkTree(graph, _))
    assert(bound <= exact * (1 + 1e-9), "a lower bound above the optimum")
    assert(exact <= found.cost * (1 + 1e-9) && found.cost <= wong.cost * (1 + 1e-9))
    checkLocalOptimum(graph, found)
    // Grouping by nothing may cost nothing.
    def ratio(cost: Double): Double = if (exact == 0 && cost == 0) 1.0 else cost / exact
    Ratios(ratio(wong.cost), ratio(found.cost), ratio(bound))
  }

  private def checkTree(graph: SteinerGraph, tree: SteinerTree): Assertion = {
    assert(graph.terminals.forall(tree.nodes.contains(_)))
    val edges = tree.nodes.filter(_ > 0).map { v =>
      assert(tree.nodes.contains(tree.parent(v)))
      graph.costs(v)(graph.tails(v).indexOf(tree.parent(v)))
    }
    assert(near(edges.sum, tree.cost))
    val feeding = tree.nodes.map(tree.parent(_)).toSet
    assert(tree.nodes.forall(v => v == 0 || graph.isTerminal(v) || feeding(v)), "a node that leads nowhere")
  }

  // No node more or less makes the tree cheaper.
  private def checkLocalOptimum(graph: SteinerGraph, tree: SteinerTree): Unit = {
    val in = tree.nodes.toSet
    def cost(nodes: Set[Int]): Double = nodes.iterator.filter(_ > 0).map { v =>
      graph.tails(v).indices.filter(i => nodes(graph.tails(v)(i))).map(graph.costs(v)(_)).minOption
        .getOrElse(Double.PositiveInfinity)
    }.sum
    for (v <- 1 until graph.size if !graph.isTerminal(v)) {
      val other = cost(if (in(v)) in - v else in + v)
      assert(other >= tree.cost * (1 - 1e-8), s"node $v")
    }
  }

  private def report(name: String, all: Seq[Ratios]): Unit = info(
    f"$name: ${all.size} graphs; worst ratio to the optimum ${all.map(_.search).max}%.4f, " +
      f"${all.count(_.search > 1 + 1e-9)} not optimal; Wong's tree alone ${all.map(_.wong).max}%.4f, " +
      f"${all.count(_.wong > 1 + 1e-9)} not optimal; lower bound at least ${all.map(_.bound).min}%.4f of the optimum"
  )

  test("both exhaustive searches agree on small graphs") {
    for (seed <- 1 to 60) {
      val graph = layered(new Random(seed), 8, 3)
      assert(near(ExactSteiner.cost(graph), ExactSteiner.byNodeSets(graph)), s"seed $seed")
    }
  }

  test("aggregate graphs of all groupings of up to 5 attributes, up to 8 queries: within 1.1 of the optimum") {
    val all = for (seed <- 1 to 800) yield {
      val random = new Random(seed)
      val problem = RandomTrees.unfiltered(random, 2 + random.nextInt(4), 1 + random.nextInt(8))
      val space = new AggregateSpace(problem)
      withClue(s"seed $seed: ")(ratios(AggregateGraph(space, RandomTrees.everyGrouping(space)).steiner))
    }
    report("all groupings", all)
    assert(all.map(_.search).max <= 1.1)
    assert(all.exists(_.bound > 0.999) && all.forall(_.bound > 0.5))
  }

  test("aggregate graphs with filters: within 1.1 of the optimum") {
    val all = for (seed <- 1 to 300) yield {
      val random = new Random(seed)
      val (problem, _) = RandomTrees.filtered(random, 2 + random.nextInt(4), 1 + random.nextInt(8), rows = 200)
      val space = new AggregateSpace(problem)
      withClue(s"seed $seed: ")(ratios(AggregateGraph(space, RandomTrees.closure(space, 80)).steiner))
    }
    report("with filters", all)
    assert(all.map(_.search).max <= 1.1)
  }

  test("graphs of any costs: the bound holds, every tree is one") {
    val all = for (seed <- 1 to 300) yield {
      val random = new Random(seed)
      withClue(s"seed $seed: ")(ratios(layered(random, 4 + random.nextInt(20), 1 + random.nextInt(8))))
    }
    report("any costs", all)
    assert(all.map(_.search).max <= 1.1)
  }

  test("dual ascent by hand: two terminals behind one node") {
    // root -3-> a -1-> t, a -1-> u; root -10-> t, root -10-> u. Nodes 0 root, 1 a, 2 t, 3 u.
    val arcs = Map((0, 1) -> 3.0, (1, 2) -> 1.0, (1, 3) -> 1.0, (0, 2) -> 10.0, (0, 3) -> 10.0)
    val graph = SteinerGraph(4, Seq(2, 3), (u, v) => arcs.getOrElse((u, v), Double.NaN))
    val ascent = DualAscent(graph)
    // Cuts {t} and {u} cost 1 each; then {a, t} or {a, u} 3.
    assert(ascent.bound === 5.0)
    assert(ascent.reached.toSeq === Seq(true, true, true, true))
    // The cut {a, t} comes first of the two, so the arc from the root to t has paid 1 and 3, that to u only 1.
    assert(ascent.reducedCosts.map(_.toSeq).toSeq === Seq(Nil, Seq(0.0), Seq(6.0, 0.0), Seq(9.0, 0.0)))
    assert(new SteinerSearch(graph).wong()._1.cost === 5.0)
  }

  test("dual ascent by hand: arcs within a cut pay nothing") {
    // root -4-> a, root -7-> b, a -2-> b, a -1-> t, b -1-> t. Nodes 0 root, 1 a, 2 b, 3 t.
    val arcs = Map((0, 1) -> 4.0, (0, 2) -> 7.0, (1, 2) -> 2.0, (1, 3) -> 1.0, (2, 3) -> 1.0)
    val ascent = DualAscent(SteinerGraph(4, Seq(3), (u, v) => arcs.getOrElse((u, v), Double.NaN)))
    // {t} costs 1, then {a, b, t} costs 4.
    assert(ascent.bound === 5.0)
    assert(ascent.reducedCosts.map(_.toSeq).toSeq === Seq(Nil, Seq(0.0), Seq(3.0, 2.0), Seq(0.0, 0.0)))
  }

  test("reduced costs are never negative, and at least the bound is paid for by every tree") {
    for (seed <- 1 to 100) {
      val graph = layered(new Random(seed), 12, 4)
      val ascent = DualAscent(graph)
      assert(ascent.reducedCosts.forall(_.forall(_ >= 0)))
      assert(ascent.reducedCosts.zip(graph.costs).forall { case (r, c) => r.zip(c).forall { case (x, y) => x <= y } })
      assert(graph.terminals.forall(ascent.reached(_)))
      assert(ascent.bound > 0)
    }
  }

  test("a terminal that cannot be reached is an error, its bound infinite") {
    val graph = SteinerGraph(3, Seq(2), (u, v) => if (u == 0 && v == 1) 1.0 else Double.NaN)
    assert(DualAscent(graph).bound.isInfinite)
    intercept[IllegalArgumentException](new SteinerSearch(graph).search())
  }

  // Random arcs upwards; the root has one to every node.
  private def layered(random: Random, size: Int, terminals: Int): SteinerGraph = {
    val chosen = random.shuffle((1 until size).toList).take(terminals)
    SteinerGraph(
      size,
      chosen,
      (u, _) =>
        if (u == 0) 1.0 + random.nextInt(200)
        else if (random.nextInt(3) == 0) 1.0 + random.nextInt(50)
        else Double.NaN
    )
  }
}

object SteinerSuite {

  /** Ratios to the cheapest tree: of Wong's tree, after the local search, and of the lower bound. */
  private final case class Ratios(wong: Double, search: Double, bound: Double)
}
