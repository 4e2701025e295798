package io.phantoms.spark.search.smap

import io.phantoms.spark.lab.papers.SmapData

import org.scalatest.funsuite.AnyFunSuite

class EpesSuite extends AnyFunSuite {
  private val data = SmapData(1)

  private def forests(queries: String*): Set[String] = {
    val graph = data.problem(queries, 1000).graph
    Epes.forests(graph, 1000).get.map(_.render(graph)).toSet
  }

  test("all forests of small query sets") {
    assert(forests("A") === Set("A"))
    assert(forests("A", "B") === Set("A B", "AB(A B)"))
    assert(forests("A", "AB") === Set("A AB", "AB(A)"))
    assert(forests("A", "B", "C") === Set(
      "A B C",
      "AB(A B) C",
      "AC(A C) B",
      "A BC(B C)",
      "ABC(A B C)",
      "ABC(A B) C",
      "ABC(A C) B",
      "A ABC(B C)",
      "ABC(AB(A B) C)",
      "ABC(AC(A C) B)",
      "ABC(A BC(B C))"
    ))
  }

  test("the paper's configurations are among those of its query sets") {
    assert(forests("AB", "BC", "BD", "CD").contains("ABCD(AB BCD(BC BD CD))"))
    assert(forests("AB", "BC", "BD", "CD").contains("ABC(AB BC) BD CD"))
    assert(forests("A", "B", "C", "D").contains("ABCD(AC(A C) BD(B D))"))
  }

  test("too many forests: none") {
    val graph = data.problem(Seq("A", "B", "C", "D"), 1000).graph
    val all = Epes.forests(graph, 1000).get
    assert(all.map(_.render(graph)).distinct.size === all.size, "none twice")
    assert(Epes.forests(graph, all.size).nonEmpty)
    assert(Epes.forests(graph, all.size - 1).isEmpty)
    val problem = data.problem(Seq("A", "B", "C", "D"), 30000)
    val es = new ExhaustiveSpace(50)
    assert(Epes.choose(problem, es, 10).isEmpty)
    // The fall-back is GC with the same allocation.
    assert(Smap.Exhaustive(es, 10).choose(problem).cost === Smap.GreedyCollisions(es).choose(problem).cost)
  }

  test("nothing that any other algorithm finds is cheaper by more than the steps of ES") {
    val sets = Seq(Seq("A", "B", "C"), Seq("AB", "BC", "BD", "CD"), Seq("ABC", "AB", "A"))
    for (queries <- sets; memory <- SmapData.Memories) {
      val problem = data.problem(queries, memory)
      val best = Smap("epes").choose(problem).cost
      Smap.names.foreach(n => assert(Smap(n).choose(problem).cost >= best * 0.998, s"$queries, $memory, $n"))
    }
  }
}
