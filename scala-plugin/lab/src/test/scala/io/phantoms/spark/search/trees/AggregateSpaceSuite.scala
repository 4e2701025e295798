package io.phantoms.spark.search.trees

import scala.collection.immutable.BitSet
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class AggregateSpaceSuite extends AnyFunSuite {
  private val (a, b, c, d) = (0, 1, 2, 3)
  private val G1 = Filter.range((a, 0, 99))
  private val F1 = Filter.range((a, 0, 49), (b, 0, 9))

  // Sizes that differ for every node an edge may ask for.
  private object Sizes extends TreeStatistics {
    override val rows = 10000.0
    override def selectivity(filter: Filter): Double = Map(Filter.All -> 1.0, G1 -> 0.5, F1 -> 0.03)(filter)
    override def size(keys: BitSet, filter: Filter): Double = Map(
      (BitSet(a, b, c), G1) -> 2000.0,
      (BitSet(a, b, c), F1) -> 130.0,
      (BitSet(a, b), G1) -> 700.0,
      (BitSet(a, b), F1) -> 40.0,
      (BitSet(b, c), G1) -> 90.0
    )((keys, filter))
  }

  private def space(costs: TreeCosts) = new AggregateSpace(TreeProblem(4, Vector.empty, Sizes, costs))

  private def node(space: AggregateSpace, keys: Option[BitSet], filter: Filter): Int =
    space.node(TreeNode(keys, filter, Vector.empty, 0, None, 0.0))

  private val abc = Some(BitSet(a, b, c))
  private val ab = Some(BitSet(a, b))

  test("case 1: equal filters, sz(B1, G1) C_H(B2)") {
    val s = space(TreeCosts())
    val edge = (node(s, abc, G1), node(s, ab, G1))
    assert(s.step(edge._1, edge._2) === Step.Hash)
    assert(s.cost(edge._1, edge._2) === 2000.0 * (15 + 2 * 50))
    // From the stream, N C_H(B2).
    val plain = space(TreeCosts())
    assert(plain.cost(plain.root, node(plain, ab, Filter.All)) === 10000.0 * 115)
  }

  test("case 2: equal grouping, sz(B1, G1) C_F(G2)") {
    val s = space(TreeCosts())
    val edge = (node(s, abc, G1), node(s, abc, F1))
    assert(s.step(edge._1, edge._2) === Step.Check)
    assert(s.cost(edge._1, edge._2) === 2000.0 * 2 * 5)
    // The stream filtered: T stays T, and its size is that of what passes.
    val pass = node(s, None, G1)
    assert(s.cost(s.root, pass) === 10000.0 * 5)
    assert(s.size(pass) === 5000.0)
    assert(s.step(pass, node(s, None, F1)) === Step.Check)
  }

  test("case 3: the cheaper of checking before and after hashing") {
    val cheapChecks = space(TreeCosts())
    val e = (node(cheapChecks, abc, G1), node(cheapChecks, ab, F1))
    assert(cheapChecks.step(e._1, e._2) === Step.CheckThenHash)
    assert(cheapChecks.cost(e._1, e._2) === 2000.0 * 10 + 130.0 * 115)
    val dearChecks = space(TreeCosts(hashPerAttribute = 1, hashFixed = 0, rangeCheck = 50))
    val f = (node(dearChecks, abc, G1), node(dearChecks, ab, F1))
    assert(dearChecks.step(f._1, f._2) === Step.HashThenCheck)
    assert(dearChecks.cost(f._1, f._2) === 2000.0 * 2 + 700.0 * 100)
  }

  test("a filter on what is not grouped by is checked before hashing, and where its attributes still are") {
    val s = space(TreeCosts(hashPerAttribute = 1, hashFixed = 0, rangeCheck = 50))
    val bc = Some(BitSet(b, c))
    val query = node(s, bc, F1)
    assert(s.step(node(s, abc, G1), query) === Step.CheckThenHash)
    assert(s.covers(node(s, abc, G1), query))
    assert(!s.covers(node(s, bc, G1), query), "attribute a is gone")
    assert(s.covers(node(s, abc, F1), query), "nothing left to check")
    assert(s.covers(s.root, query) && !s.covers(query, s.root))
  }

  test("covering: grouping and filter contain, T contains all") {
    val s = space(TreeCosts())
    val nodes = for (k <- Seq(None, abc, ab); f <- Seq(Filter.All, G1, F1)) yield (k, f, node(s, k, f))
    for ((k1, f1, n1) <- nodes; (k2, f2, n2) <- nodes) {
      val keys = k1.isEmpty || k2.exists(k => k.subsetOf(k1.get))
      val expected = n1 != n2 && keys && f1.contains(f2)
      assert(s.covers(n1, n2) === expected, s"$k1 $f1 to $k2 $f2")
    }
  }

  test("covering is transitive, also with filters on what is not grouped by") {
    for (seed <- 1 to 40) {
      val (problem, _) = RandomTrees.filtered(new Random(seed), 4, 5, rows = 50)
      val s = new AggregateSpace(problem)
      val nodes = RandomTrees.closure(s, 40).toVector
      for (x <- nodes; y <- nodes if s.covers(x, y); z <- nodes if s.covers(y, z)) assert(s.covers(x, z), s"seed $seed")
    }
  }

  test("the union of nodes covers them, and keeps what filters have yet to check") {
    for (seed <- 1 to 60) {
      val (problem, _) = RandomTrees.filtered(new Random(seed), 4, 5, rows = 50)
      val s = new AggregateSpace(problem)
      val queries = s.queries
      for (x <- queries; y <- queries) {
        val u = s.union(x, y)
        assert((u == x || s.covers(u, x)) && (u == y || s.covers(u, y)), s"seed $seed")
        assert(u === s.union(y, x))
      }
      val all = s.union(queries)
      assert(queries.forall(q => q == all || s.covers(all, q)), s"seed $seed")
    }
  }

  test("naive: N C_F + N sigma C_H for each different query") {
    val queries = Vector(
      AggregateQuery(BitSet(a, b), F1),
      AggregateQuery(BitSet(a, b), F1),
      AggregateQuery(BitSet(b, c))
    )
    val s = new AggregateSpace(TreeProblem(4, queries, Sizes))
    assert(s.naive === 10000.0 * 10 + 10000.0 * 0.03 * 115 + 10000.0 * 115)
  }

  test("a query beyond the attributes is refused") {
    intercept[IllegalArgumentException](TreeProblem(3, Vector(AggregateQuery(BitSet(d))), Sizes))
    intercept[IllegalArgumentException](TreeProblem(1, Vector(AggregateQuery(BitSet(a), F1)), Sizes))
  }
}
