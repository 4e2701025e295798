package io.phantoms.spark.fragments

import scala.collection.immutable.BitSet
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class FragmentsSuite extends AnyFunSuite {

  private def near(a: Double, b: Double): Unit = {
    assert(math.abs(a - b) <= 1e-9 * math.max(1.0, math.abs(b)), s"$a, expected $b")
    ()
  }

  private def random(rng: Random, n: Int): IndexedSeq[Int => Boolean] = Vector.fill(n) {
    val (low, wide) = (rng.nextInt(100), rng.nextInt(60))
    rng.nextInt(3) match {
      case 0 => (x: Int) => x >= low && x < low + wide
      case 1 => (x: Int) => x < low
      case _ => (x: Int) => x % (2 + wide % 7) == 0
    }
  }

  test("Example 1: three predicates, eight fragments, and the queries each belongs to") {
    // Row i has the signature with the bits of i: bit 2 is Q1, as in Fig 7.
    val predicates = Vector(2, 1, 0).map(bit => (i: Int) => (i >> bit & 1) == 1)
    val fragments = Fragments.of(0 until 8, predicates)
    def rowsOf(q: Int): Set[BitSet] = fragments.of(q).map(_.signature).toSet
    def f(i: Int): BitSet = Fragments.signature(i, predicates)
    assert(fragments.all.size === 8 && fragments.k === 7 && fragments.unwanted === 1)
    assert(rowsOf(0) === Set(4, 5, 6, 7).map(f))
    assert(rowsOf(1) === Set(2, 3, 6, 7).map(f))
    assert(rowsOf(2) === Set(1, 3, 5, 7).map(f))
  }

  test("fragments part the rows, and each query's rows are the union of its fragments") {
    for (seed <- 1 to 200) {
      val rng = new Random(seed)
      val predicates = random(rng, 1 + rng.nextInt(80))
      val rows = Vector.fill(rng.nextInt(300))(rng.nextInt(120))
      val fragments = Fragments.of(rows, predicates)
      assert(fragments.rows === rows.size)
      assert(fragments.all.map(_.signature).distinct === fragments.all.map(_.signature))
      val bySignature = rows.groupBy(r => predicates.indices.filter(predicates(_)(r)).toSet)
      assert(fragments.all.map(f => (f.signature.toSet, f.frequency)).toMap ===
        bySignature.map { case (s, same) => (s, same.size.toLong) })
      for (q <- predicates.indices) {
        assert(fragments.rowsOf(q) === rows.count(predicates(q)))
        val union = fragments.of(q).flatMap(f => bySignature(f.signature.toSet)).sorted
        assert(union === rows.filter(predicates(q)).sorted)
      }
      // alpha and beta, row by row and fragment by fragment.
      val perRow = rows.map(r => predicates.count(_(r)))
      near(fragments.alpha, if (rows.isEmpty) 0 else perRow.sum.toDouble / rows.size)
      val perFragment = bySignature.keys.filter(_.nonEmpty).toVector.map(_.size)
      near(fragments.beta, if (perFragment.isEmpty) 0 else perFragment.sum.toDouble / perFragment.size)
      assert(fragments.k === perFragment.size)
    }
  }

  test("Algorithm 2: sums of the queries from sums of the fragments, merged sum of |b| times") {
    for (seed <- 1 to 100) {
      val rng = new Random(seed)
      val predicates = random(rng, 1 + rng.nextInt(20))
      val rows = Vector.fill(200)(rng.nextInt(120))
      val partials = rows.groupBy(Fragments.signature(_, predicates)).filter(_._1.nonEmpty)
        .map { case (b, same) => (b, same.map(_.toLong).sum) }
      var merges = 0
      val results = Fragments.finalAggregation(predicates.size, partials, 0L) { (a, g) => merges += 1; a + g }
      assert(results === predicates.map(p => rows.filter(p).map(_.toLong).sum).toVector)
      val fragments = Fragments.of(rows, predicates)
      near(merges.toDouble, fragments.k * fragments.beta)
    }
  }

  test("a query leaves: fragments that only it told apart become one") {
    for (seed <- 1 to 100) {
      val rng = new Random(seed)
      val predicates = random(rng, 8)
      val rows = Vector.fill(300)(rng.nextInt(120))
      val gone = BitSet.fromSpecific((0 until 8).filter(_ => rng.nextBoolean()))
      val left = Fragments.of(rows, predicates).without(gone)
      val stay = predicates.zipWithIndex.map { case (p, q) => (x: Int) => !gone(q) && p(x) }
      assert(left === Fragments.of(rows, stay))
      val (a, b) = rows.splitAt(rng.nextInt(300))
      assert(Fragments.of(a, predicates) ++ Fragments.of(b, predicates) === Fragments.of(rows, predicates))
    }
  }

  test("signatures beyond the queries are refused") {
    assertThrows[IllegalArgumentException](Fragments(2, Seq(BitSet(2) -> 1L)))
    assertThrows[IllegalArgumentException](Fragments(2, Seq(BitSet(1) -> -1L)))
    assert(Fragments(2, Nil).alpha === 0.0 && Fragments(2, Nil).beta === 0.0)
  }
}
