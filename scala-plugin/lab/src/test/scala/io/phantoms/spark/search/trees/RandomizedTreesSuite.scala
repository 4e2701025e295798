package io.phantoms.spark.search.trees

import scala.collection.immutable.BitSet
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class RandomizedTreesSuite extends AnyFunSuite {

  private def problems(count: Int): Seq[(Int, TreeProblem)] = (1 to count).map { seed =>
    val random = new Random(seed)
    val (attributes, n) = (2 + random.nextInt(4), 1 + random.nextInt(8))
    (
      seed,
      if (seed % 2 == 0) RandomTrees.unfiltered(random, attributes, n)
      else RandomTrees.filtered(random, attributes, n)._1
    )
  }

  test("never worse than no sharing, never worse than the tree it starts from, and the same twice") {
    for ((seed, problem) <- problems(100)) withClue(s"seed $seed: ") {
      val tree = new RandomizedTrees(iterations = 10).choose(problem)
      assert(tree.cost <= AggregateTree.naive(problem).cost)
      assert(tree === new RandomizedTrees(iterations = 10).choose(problem))
      assert(tree.nodes.flatMap(_.queries).sorted === problem.queries.indices.toVector)
      val greedy = new GreedyTrees()
      val better = new RandomizedTrees(iterations = 2, start = Some(greedy)).choose(problem)
      assert(better.cost <= greedy.choose(problem).cost)
    }
  }

  test("without filters, with the patent's c1 = 50 and c2 = n: beside the optimum") {
    val ratios = problems(200).filter(_._1 % 2 == 0).map { case (_, p) =>
      val space = new AggregateSpace(p)
      val best = ExactSteiner.cost(AggregateGraph(space, RandomTrees.everyGrouping(space)).steiner)
      new RandomizedTrees().choose(p).cost / best
    }
    info(f"${ratios.size} problems: mean ${ratios.sum / ratios.size}%.4f, worst ${ratios.max}%.4f of the optimum")
    assert(ratios.max <= 1.05)
  }

  test("filters: the graph has nodes that only filter and nodes that only aggregate") {
    // Two filters far from each other on one attribute, a grouping too fine to aggregate: only a shared check pays.
    val stats = new UniformStatistics(1e4, Vector((0L, 999L), (0L, 99999L), (0L, 99999L)))
    val queries = Vector(
      AggregateQuery(BitSet(0, 1), Filter.range((0, 0, 9))),
      AggregateQuery(BitSet(0, 2), Filter.range((0, 5, 14)))
    )
    val problem = TreeProblem(3, queries, stats)
    val tree = new RandomizedTrees(iterations = 5).choose(problem)
    assert(tree.intermediate.map(n => (n.keys, n.filter)) === Vector((None, Filter.range((0, 0, 14)))))
    // And the reverse: few groups, a filter that hardly rejects.
    val few = new UniformStatistics(1e6, Vector((0L, 9L), (0L, 9L), (0L, 9L)))
    val reverse = TreeProblem(
      3,
      Vector(
        AggregateQuery(BitSet(0, 1), Filter.range((0, 0, 8), (1, 0, 8))),
        AggregateQuery(BitSet(0, 2), Filter.range((0, 1, 9), (2, 1, 9)))
      ),
      few
    )
    val aggregated = new RandomizedTrees(iterations = 5).choose(reverse).intermediate
    assert(aggregated.exists(n => n.keys.contains(BitSet(0, 1, 2)) && n.filter.isAll))
  }
}
