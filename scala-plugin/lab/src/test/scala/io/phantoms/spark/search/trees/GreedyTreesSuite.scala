package io.phantoms.spark.search.trees

import scala.collection.immutable.BitSet
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class GreedyTreesSuite extends AnyFunSuite {
  private val singles = new GreedyTrees(breadth = 0)
  private val allPairs = new GreedyTrees(breadth = Int.MaxValue)

  private def problems(count: Int, queries: Int): Seq[(Int, TreeProblem)] = (1 to count).map { seed =>
    val random = new Random(seed)
    val (attributes, n) = (2 + random.nextInt(4), 1 + random.nextInt(queries))
    (
      seed,
      if (seed % 2 == 0) RandomTrees.unfiltered(random, attributes, n)
      else RandomTrees.filtered(random, attributes, n)._1
    )
  }

  private def optimum(problem: TreeProblem): Double = {
    val space = new AggregateSpace(problem)
    val nodes = if (space.unfiltered) RandomTrees.everyGrouping(space) else RandomTrees.closure(space, 80)
    ExactSteiner.cost(AggregateGraph(space, nodes).steiner)
  }

  test("never worse than no sharing, and the cost is that of the edges") {
    for ((seed, problem) <- problems(400, 8); greedy <- Seq(singles, new GreedyTrees(), allPairs))
      withClue(s"seed $seed: ") {
        val tree = greedy.choose(problem)
        val space = new AggregateSpace(problem)
        assert(math.abs(tree.cost - Reference.cost(space, Reference.of(space, tree))) <= 1e-9 * tree.cost)
        assert(tree.cost <= AggregateTree.naive(problem).cost * (1 + 1e-12))
        assert(AggregateTree.naive(problem).cost <= space.naive * (1 + 1e-12))
        assert(tree.nodes.flatMap(_.queries).sorted === problem.queries.indices.toVector)
      }
  }

  test("no single modification improves the result") {
    for ((seed, problem) <- problems(200, 8)) withClue(s"seed $seed: ") {
      val space = new AggregateSpace(problem)
      val tree = Reference.of(space, singles.choose(space))
      val cost = Reference.cost(space, tree)
      assert(Reference.neighbours(space, tree).forall(Reference.cost(space, _) >= cost * (1 - 1e-8)))
    }
  }

  test("with pairs, no two modifications improve the result") {
    for ((seed, problem) <- problems(80, 5)) withClue(s"seed $seed: ") {
      val space = new AggregateSpace(problem)
      val tree = Reference.of(space, allPairs.choose(space))
      val cost = Reference.cost(space, tree)
      val within = Reference.neighbours(space, tree)
      assert((within ++ within.flatMap(Reference.neighbours(space, _))).forall(Reference.cost(
        space,
        _
      ) >= cost * (1 - 1e-8)))
    }
  }

  test("the modification of the first iteration is the best there is") {
    for ((seed, problem) <- problems(100, 8)) withClue(s"seed $seed: ") {
      val space = new AggregateSpace(problem)
      val start: Reference.Tree = space.queries.map(_ -> space.root).toMap
      val naive = Reference.cost(space, start)
      val best = Reference.neighbours(space, start).map(Reference.cost(space, _)).minOption.getOrElse(naive)
      // Its gain is the threshold: one that is a little less is taken, and then nothing better may have been left.
      val gain = naive - best
      if (gain > naive * 1e-6) {
        val first = new GreedyTrees(breadth = 0, epsilon = gain / naive * (1 - 1e-9)).choose(space)
        assert(first.cost <= best * (1 + 1e-9))
        assert(new GreedyTrees(breadth = 0, epsilon = gain / naive * (1 + 1e-6)).choose(space).cost === naive)
      }
    }
  }

  test("beside the optimum") {
    val ratios = problems(300, 8).map { case (_, p) =>
      val best = optimum(p)
      (singles.choose(p).cost / best, allPairs.choose(p).cost / best)
    }.filter(r => !r._1.isNaN && !r._1.isInfinite)
    info(
      f"${ratios.size} problems, singles: mean ${ratios.map(_._1).sum / ratios.size}%.4f, worst ${ratios.map(_._1).max}%.4f; " +
        f"with pairs: mean ${ratios.map(_._2).sum / ratios.size}%.4f, worst ${ratios.map(_._2).max}%.4f"
    )
    assert(ratios.map(_._1).sum / ratios.size < 1.05)
    assert(ratios.map(_._2).sum <= ratios.map(_._1).sum)
    assert(ratios.exists(r => r._2 < r._1 - 1e-6), "pairs must make a difference somewhere")
  }

  test("three queries whose unions in pairs are all the same: only a pair of modifications finds it") {
    // ab, ac, bc: any union is abc. For two children it does not pay, for three it does.
    val sizes = Map(BitSet(0, 1, 2) -> 400.0)
    val stats = new TreeStatistics {
      override val rows = 1000.0
      override def selectivity(filter: Filter): Double = 1.0
      override def size(keys: BitSet, filter: Filter): Double = sizes.getOrElse(keys, 100.0)
    }
    val queries = Vector(BitSet(0, 1), BitSet(0, 2), BitSet(1, 2)).map(AggregateQuery(_))
    val problem = TreeProblem(3, queries, stats, TreeCosts(hashPerAttribute = 1, hashFixed = 0))
    // Two: 3000 + 2 * 400 * 2 = 4600 > 4000. Three: 3000 + 3 * 800 = 5400 < 6000.
    assert(singles.choose(problem).cost === 6000.0)
    assert(new GreedyTrees().choose(problem).cost === 5400.0)
  }

  test("no queries, one query, equal queries") {
    val stats = new UniformStatistics(100, Vector((0L, 9L)))
    assert(singles.choose(TreeProblem(1, Vector.empty, stats)).nodes.size === 1)
    val equal = TreeProblem(1, Vector.fill(3)(AggregateQuery(BitSet(0))), stats)
    assert(new GreedyTrees().choose(equal).nodes.map(_.queries) === Vector(Vector.empty, Vector(0, 1, 2)))
  }
}
