package io.phantoms.spark.search.trees

import scala.collection.immutable.BitSet

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.model.{Notation, Query, TableStatistics, Workloads}
import io.phantoms.spark.search.Chooser

class TreeConfigurationsSuite extends AnyFunSuite {

  test("the relations are those of the tree") {
    for (seed <- 1 to 60) {
      val problem = Workloads.random(seed, 6, 12)
      val tree = new GreedyTrees().choose(TreeConfigurations.treeProblem(problem))
      val wanted = tree.nodes.flatMap(_.keys).toSet
      TreeConfigurations.greedy(problem).foreach { c =>
        val keys = c.relations.map(_.keys).toSet
        assert(keys.subsetOf(wanted), s"seed $seed")
        assert(problem.groupings.toSet.subsetOf(keys))
      }
    }
  }

  test("smap4 and cube4 by name: little dearer than the placement search") {
    for (problem <- Seq(Workloads.smap4, Workloads.cube4); algorithm <- Seq("trees", "steiner")) {
      val choice = Chooser.choose(problem, algorithm, -1)
      info(s"$algorithm: ${Notation(problem).render(choice.configuration.get)}")
      assert(choice.cost < 1.5 * Chooser.choose(problem, "auto", -1).cost)
      assert(choice.algorithm === algorithm)
    }
  }

  test("the randomized tree costs no more than the greedy one, by the patent's model") {
    for (seed <- 1 to 40) {
      val problem = TreeConfigurations.treeProblem(Workloads.random(seed, 7, 14))
      val greedy = new GreedyTrees()
      val steiner = new RandomizedTrees(iterations = 10, start = Some(greedy)).choose(problem)
      assert(steiner.cost <= greedy.choose(problem).cost, s"seed $seed")
    }
  }

  test("edges: no rows, one empty grouping, no memory, more attributes than a machine word") {
    val cube = Workloads.cube4
    val wide = cube.copy(
      attributes = Workloads.letters(150),
      queries = Vector(BitSet(0, 70, 149), BitSet(70, 149), BitSet(149), BitSet(3, 70)).map(Query(_))
    )
    val problems = Seq(
      cube.copy(statistics = TableStatistics(0, Map.empty)),
      cube.copy(queries = Vector(BitSet.empty, BitSet.empty).map(Query(_))),
      cube.copy(memory = 0),
      wide
    )
    for (problem <- problems; algorithm <- Seq("trees", "steiner")) {
      val relations = Chooser.choose(problem, algorithm, -1).configuration.get.relations
      assert(relations.flatMap(_.queries).sorted === problem.queries.indices.toVector)
      relations.foreach(r => assert(r.queries.forall(problem.groupings(_) == r.keys)))
    }
  }
}
