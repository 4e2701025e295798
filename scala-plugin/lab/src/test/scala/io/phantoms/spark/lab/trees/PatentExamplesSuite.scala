package io.phantoms.spark.lab.trees

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.search.trees.{
  AggregateGraph,
  AggregateQuery,
  AggregateSpace,
  AggregateTree,
  BenefitTest,
  Box,
  ExactSteiner,
  Filter,
  FilterUnion,
  GreedyTrees,
  RandomTrees,
  RandomizedTrees,
  Step,
  TreeCosts,
  TreeProblem,
  TreeStatistics,
  UniformStatistics
}

import org.scalatest.funsuite.AnyFunSuite

class PatentExamplesSuite extends AnyFunSuite {

  private def near(found: Double, expected: Double, tolerance: Double): Unit = {
    val _ = assert(math.abs(found - expected) <= tolerance, s"$found instead of $expected")
  }

  test("section 2.3: 50 ns per hashed attribute, 5 ns per range, 15 ns for the modulo") {
    val costs = TreeCosts()
    assert(costs.hash(3) - costs.hash(2) === 50.0)
    assert(costs.hash(0) === 15.0)
    assert(costs.filter(Filter.range((0, 1, 2), (1, 1, 2))) === 10.0)
    assert(costs.filter(Filter.All) === 0.0)
    // Section 4.3: the sum over the boxes.
    assert(costs.filter(Filter(Seq(Box.of((0, 1, 2)), Box.of((1, 1, 2), (2, 0, 5))))) === 15.0)
  }

  test("section 3.1: the benefit test, N (X - Y) / X = 250 000") {
    assert(BenefitTest.limit(1e6, 4, 3) === 250000.0)
    assert(BenefitTest.pays(249999, 1e6, 4, 3) && !BenefitTest.pays(250000, 1e6, 4, 3))
  }

  test("the benefit test says whether the tree gets cheaper, where hashing is in proportion to the attributes") {
    val random = new Random(2)
    var beneficial = 0
    for (_ <- 1 to 300) {
      val keys = Vector.fill(2 + random.nextInt(3))(RandomTrees.keys(random, 5)).distinct
      val union = keys.reduce(_ | _)
      val s = random.nextInt(1000).toDouble
      if (!keys.contains(union)) {
        val stats = new TreeStatistics {
          override val rows: Double = 1000
          override def selectivity(filter: Filter): Double = 1.0
          override def size(of: BitSet, filter: Filter): Double = if (of == union) s else 1.0
        }
        val problem = TreeProblem(5, keys.map(AggregateQuery(_)), stats, TreeCosts(hashPerAttribute = 7, hashFixed = 0))
        val shared =
          PatentExamples.tree(problem, (Some(union), Filter.All, 0) +: keys.map(k => (Option(k), Filter.All, 1)): _*)
        val pays = BenefitTest.pays(s, 1000, keys.map(_.size).sum.toDouble, union.size.toDouble)
        assert((shared.cost < AggregateTree.naive(problem).cost) === pays)
        if (pays) beneficial += 1
      }
    }
    assert(beneficial > 25)
  }

  test("example 1: costs of strategies 1 to 3 as written") {
    import PatentExamples.One._
    val (n, c2, c3, c4) = (N, 100.0, 150.0, 200.0)
    val p = wideIsLarge
    val expected = Seq(n * 3 * c2, n * c4 + n * 3 * c2, n * c3 + n * c2 + N / 50 * 2 * c2)
    assert(costs(p).take(3) === expected)
    assert(costs(p).min === costs(p)(2), "strategy 3 is the cheapest")
  }

  test("example 1: with sz(B3) > sz(B2) strategy 3 is the best there is, and both heuristics find it") {
    import PatentExamples.One._
    val space = new AggregateSpace(wideIsLarge)
    val best = ExactSteiner.cost(AggregateGraph(space, RandomTrees.everyGrouping(space)).steiner)
    near(costs(wideIsLarge)(2), best, 1e-3)
    near(new GreedyTrees(breadth = 0).choose(wideIsLarge).cost, best, 1e-3)
    near(new RandomizedTrees().choose(wideIsLarge).cost, best, 1e-3)
    // Were sz(B3) the smaller one, merging {a, c} and {c, d} would be better.
    val other = problem(Map(B1 -> N, B2 -> N / 25, B3 -> N / 50))
    assert(new GreedyTrees().choose(other).intermediate.flatMap(_.keys) === Vector(B3))
  }

  test("example 1: where N >> sz(B1) >> sz(B2), Fig 3(d) beats strategy 3, and both heuristics find it") {
    import PatentExamples.One._
    val expected = N * 200 + N / 50 * (150 + 100) + N / 1000 * 200
    near(costs(wideIsSmall)(3), expected, 1e-3)
    assert(costs(wideIsSmall).min === costs(wideIsSmall)(3))
    near(new GreedyTrees().choose(wideIsSmall).cost, expected, 1e-3)
    near(new RandomizedTrees().choose(wideIsSmall).cost, expected, 1e-3)
  }

  test("section 3.2.1: a merge saves sz(P) - 2 sz(C) hash operations, a deletion the opposite") {
    import PatentExamples.One._
    // Every hash operation costs 1.
    val p = wideIsLarge.copy(costs = TreeCosts(hashPerAttribute = 0, hashFixed = 1))
    assert(tree(p, 0).cost - tree(p, 2).cost === N - 2 * (N / 50))
    def tree(p: TreeProblem, strategy: Int): AggregateTree = PatentExamples.tree(p, strategies(strategy): _*)
  }

  test("example 2: selectivities and filter operations") {
    import PatentExamples.Two._
    assert(G1 === Filter.range((0, 0, 100)) && G2 === Filter.range((0, 0, 300)))
    near(statistics.selectivity(G1), 0.1, 0.001)
    near(statistics.selectivity(G1) - statistics.selectivity(F1), 0.005, 0.0001)
    near(statistics.selectivity(G1) - statistics.selectivity(F2), 0.05, 0.0001)
    near(2 * statistics.selectivity(G2), 0.6, 0.002)
    // (1 + 2 sigma) N checks instead of 2 N; one range costs 5.
    val union = new FilterUnion(statistics.selectivity(_), tenfold)
    near(union.cost(G1, Seq(F1, F2)) / 5, 1 + 2 * 0.1, 0.002)
  }

  test("example 2: F1 is checked on the result, F2 before hashing; every strategy is cheaper than the one before") {
    import PatentExamples.Two._
    val p = problem(tenfold)
    val trees = strategies.map(PatentExamples.tree(p, _: _*))
    val shared = trees(1)
    def step(query: Int): Step = shared.nodes.find(_.queries == Vector(query)).get.step.get
    assert(step(0) === Step.HashThenCheck)
    assert(step(1) === Step.CheckThenHash)
    // Strategy 2 checks F1 before hashing.
    val sigma = statistics.selectivity(_)
    val second = N * 5 + N * sigma(G1) * 10 + N * (sigma(F1) + sigma(F2)) * 50 + N * (5 + sigma(F3) * 50)
    val naive = N * 15 + N * (sigma(F1) + sigma(F2) + sigma(F3)) * 50
    near(new AggregateSpace(p).naive, naive, naive * 1e-9)
    assert(naive > second && second > shared.cost && shared.cost > trees(2).cost)
    Seq(new GreedyTrees(breadth = 0).choose(p), new GreedyTrees().choose(p), new RandomizedTrees().choose(p))
      .foreach(t => assert(t.cost <= trees(2).cost * (1 + 1e-9)))
  }

  test("section 4.1: the union of two boxes is the box around both") {
    val first = Filter.range((0, 0, 5), (1, 0, 5))
    val second = Filter.range((0, 5, 10), (1, 5, 10))
    val stats = new UniformStatistics(1, Vector.fill(2)((0L, 10L)))
    assert(new FilterUnion(
      stats.selectivity(_),
      TreeCosts()
    )(Seq(first, second)) === Filter.range((0, 0, 10), (1, 0, 10)))
  }

  test("section 2.3: GEE is sqrt(N/r) f1 + f2") {
    // r = 4 of N = 100: one value twice, two once.
    val sample = new SampleStatistics(100, Vector(Array(7L, 7L, 8L, 9L)))
    assert(sample.size(BitSet(0), Filter.All) === 5.0 * 2 + 1)
  }
}
