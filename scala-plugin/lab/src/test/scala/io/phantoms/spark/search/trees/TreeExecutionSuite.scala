package io.phantoms.spark.search.trees

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class TreeExecutionSuite extends AnyFunSuite {

  private val heuristics: Seq[TreeProblem => AggregateTree] = Seq(
    AggregateTree.naive(_),
    new GreedyTrees(breadth = 0).choose(_),
    new GreedyTrees().choose(_),
    new RandomizedTrees(iterations = 6).choose(_)
  )

  test("every tree answers every query as if computed alone, and its cost is what was counted") {
    var steps = Map.empty[Step, Int]
    var intermediate, multiple = 0
    for (seed <- 1 to 150) {
      val random = new Random(seed)
      val (problem, data) =
        RandomTrees.filtered(random, 2 + random.nextInt(4), 1 + random.nextInt(7), rows = 300, maxBoxes = 3)
      val expected = problem.queries.indices.map(q => q -> TreeExecutor.direct(problem.queries(q), data)).toMap
      heuristics.foreach { choose =>
        val tree = choose(problem)
        val outcome = TreeExecutor.run(problem, tree, data)
        withClue(s"seed $seed: ") {
          assert(outcome.answers === expected)
          assert(math.abs(outcome.cost - tree.cost) <= 1e-6 * math.max(1.0, tree.cost))
        }
        tree.nodes.flatMap(_.step).foreach(s => steps += s -> (steps.getOrElse(s, 0) + 1))
        intermediate += tree.intermediate.size
        multiple += tree.nodes.count(n => n.queries.isEmpty && n.filter.boxes.size > 1)
      }
    }
    info(s"$steps, $intermediate intermediate nodes, $multiple of them with filters of several boxes")
    assert(Seq[Step](Step.Hash, Step.Check, Step.CheckThenHash, Step.HashThenCheck).forall(steps.getOrElse(_, 0) > 20))
    assert(intermediate > 100 && multiple > 10)
  }

  test("random trees over unions and mixtures answer as well: whatever the space says can be computed") {
    for (seed <- 1 to 100) {
      val random = new Random(seed)
      val (problem, data) = RandomTrees.filtered(random, 3, 4, rows = 200, maxBoxes = 3)
      val space = new AggregateSpace(problem)
      val nodes = RandomTrees.closure(space, 30).filter(_ != space.root).toVector
      val parents = nodes.map(n => n -> random.shuffle((space.root +: nodes).filter(space.covers(_, n))).head).toMap
      val tree = space.tree(parents)
      val outcome = TreeExecutor.run(problem, tree, data)
      withClue(s"seed $seed: ") {
        problem.queries.indices.foreach(q =>
          assert(outcome.answers(q) === TreeExecutor.direct(problem.queries(q), data))
        )
        assert(math.abs(outcome.cost - tree.cost) <= 1e-6 * math.max(1.0, tree.cost))
      }
    }
  }
}
