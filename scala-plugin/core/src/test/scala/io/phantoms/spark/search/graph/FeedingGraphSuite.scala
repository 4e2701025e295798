package io.phantoms.spark.search.graph

import scala.collection.immutable.BitSet

import io.phantoms.spark.model.{Machine, Problem, Query, TableStatistics, Workloads}

import org.scalatest.funsuite.AnyFunSuite

class FeedingGraphSuite extends AnyFunSuite {

  private def graph(queries: IndexedSeq[BitSet], attributes: Int, nodes: Int = 2048): FeedingGraph =
    new FeedingGraph(
      Problem(
        Workloads.letters(attributes),
        queries.map(Query(_)),
        64,
        TableStatistics(1000, Map.empty),
        Machine(),
        1024,
        8
      ),
      nodes
    )

  test("Fig 4: the relations that can help AB, BC, BD, CD") {
    val g = graph(Workloads.groupings("AB", "BC", "BD", "CD"), 4)
    assert(g.keys.take(4) === Workloads.groupings("AB", "BC", "BD", "CD"))
    assert(g.keys.drop(4).toSet === Workloads.groupings("ABC", "ABD", "BCD", "ABCD").toSet)
    val abcd = g.node(BitSet(0, 1, 2, 3)).get
    val abc = g.node(BitSet(0, 1, 2)).get
    assert(g.feeds(abcd, 0) && g.feeds(abc, 0) && !g.feeds(abc, 2) && !g.feeds(0, abc) && !g.feeds(0, 0))
    assert(g.isPhantom(abcd) && !g.isPhantom(3))
    assert(g.order.head === abcd && g.rank(abcd) === 0)
  }

  test("equal groupings are one relation") {
    val g = graph(Workloads.groupings("AB", "", "AB", "A", ""), 2)
    assert(g.queryCount === 3 && g.size === 3)
    assert(g.queries === Vector(Vector(0, 2), Vector(1, 4), Vector(3)))
  }

  test("three disjoint queries among 200 attributes: only their four unions") {
    val g = graph(Vector(BitSet(0, 100), BitSet(70, 199), BitSet(5)), 200)
    assert(g.keys.drop(3).toSet ===
      Set(BitSet(0, 70, 100, 199), BitSet(0, 5, 100), BitSet(5, 70, 199), BitSet(0, 5, 70, 100, 199)))
    assert(g.feeds(g.node(BitSet(5, 70, 199)).get, 1))
  }

  test("the closure is bounded, and keeps unions of many pairs") {
    val queries = (0 until 40).map(i => BitSet(i, 40))
    val g = graph(queries, 41, nodes = 100)
    assert(g.size === 100)
    assert(g.keys.toSet.size === 100)
    val covering = graph(Workloads.groupings("AB", "AC", "BC", "DE"), 5, nodes = 5)
    assert(covering.keys.last === BitSet(0, 1, 2)) // three pairs unite to ABC, every other union is of one pair
  }
}
