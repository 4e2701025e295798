package io.phantoms.spark.lab.fragments

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.fragments.Fragments

import org.scalatest.funsuite.AnyFunSuite

class FragmentCostSuite extends AnyFunSuite {
  private val paper = new FragmentCost()

  private def near(a: Double, b: Double, within: Double = 1e-9): Unit = {
    assert(math.abs(a - b) <= within * math.max(1.0, math.abs(b)), s"$a, expected $b")
    ()
  }

  // Signatures over n queries with frequencies that fall as 1/i.
  private def population(rng: Random, n: Int, kinds: Int): Vector[BitSet] = {
    val signatures = Vector.fill(kinds)(BitSet.fromSpecific((0 until n).filter(_ => rng.nextInt(3) == 0)))
    signatures.zipWithIndex.flatMap { case (b, i) => Vector.fill(3000 / (i + 1))(b) }
  }

  private def fragments(n: Int, rows: Seq[BitSet]): Fragments = Fragments(n, rows.map(_ -> 1L))

  test("Table 5 by hand") {
    // Six rows: three satisfy queries 0 and 1, two query 2, one none. alpha = 8/6, k = 2, beta = 3/2.
    val f = Fragments(3, Seq(BitSet(0, 1) -> 3L, BitSet(2) -> 2L, BitSet() -> 1L))
    val e = FragmentEstimate.exact(f)
    near(e.alpha, 8.0 / 6)
    near(e.beta, 1.5)
    near(e.k, 2)
    near(paper.unshared(e), 8)
    near(paper.partial(e), 6)
    near(paper.finals(e), 3)
    near(paper.shared(e), 9)
    assert(!paper.share(e))
    near(paper.threshold(e), (8 - 6) / 1.5)
    val weighted =
      new FragmentCost(FragmentWeights(accumulate = 2, merge = 5, lookup = 3, miss = 0.5, skipsUnwanted = true))
    near(weighted.unshared(e), 16)
    near(weighted.shared(e), 5 * 5 + 3 * 5)
    near(weighted.conditional(e), 16 + 0.5 * (3 * 6 - 8))
    near(weighted.threshold(e), (16 - 25) / 7.5)
    assert(paper.threshold(e.copy(beta = 0)).isPosInfinity)
  }

  test("the aggregations of Table 5, counted while aggregating") {
    for (seed <- 1 to 100) {
      val rng = new Random(seed)
      val rows = rng.shuffle(population(rng, 6, 12)).take(500)
      val e = FragmentEstimate.exact(fragments(6, rows))
      var (unshared, partial, finals) = (0, 0, 0)
      rows.foreach(b => (0 until 6).foreach(q => if (b(q)) unshared += 1))
      val seen = rows.map { b => partial += 1; b }.toSet
      seen.foreach(b => (0 until 6).foreach(q => if (b(q)) finals += 1))
      near(paper.unshared(e), unshared.toDouble)
      near(paper.partial(e), partial.toDouble)
      near(paper.finals(e), finals.toDouble)
      assert(paper.share(e) === (partial + finals < unshared))
    }
  }

  test("sharing pays below the threshold of fragments and not above it") {
    for (seed <- 1 to 200) {
      val rng = new Random(seed)
      val e = FragmentEstimate(1000, 50, 1 + 20 * rng.nextDouble(), 1 + 20 * rng.nextDouble(), 0, 1000)
      val limit = paper.threshold(e)
      assert(paper.share(e.copy(k = limit * 0.999)) && !paper.share(e.copy(k = limit * 1.001)))
    }
  }

  test("the cheapest way, with conditional aggregates for few predicates") {
    val cost = new FragmentCost(FragmentWeights(accumulate = 1, merge = 1, lookup = 5, miss = 0.2))
    // Two queries: 1.5 updates and 0.5 misses a row are less than a lookup; sixty-four are more.
    val few = FragmentEstimate(1e6, 2, 1.5, 1.5, 3, 1e6)
    val many = FragmentEstimate(1e6, 64, 20, 20, 5000, 1e6)
    assert(cost.choose(few).way === FragmentWay.Conditional)
    assert(cost.choose(many).way === FragmentWay.Shared)
    near(cost.choose(many).cost, 6e6 + 5000 * 20)
    near(cost.choose(many).costUnshared, 20e6)
    val each = many.copy(k = 1e6)
    assert(cost.choose(each).way === FragmentWay.Shared) // 26 beside 28.8
    assert(cost.choose(each, indexed = true).way === FragmentWay.Unshared)
  }

  test("estimates from all rows are exact") {
    for (seed <- 1 to 50) {
      val rng = new Random(seed)
      val f = fragments(7, rng.shuffle(population(rng, 7, 20)).take(700))
      val (e, exact) = (FragmentEstimate.fromSample(f.rows.toDouble, f), FragmentEstimate.exact(f))
      near(e.alpha, exact.alpha)
      near(e.beta, exact.beta)
      near(e.k, exact.k)
      near(e.wanted, exact.wanted)
    }
    assert(FragmentEstimate.fromSample(100, Fragments(3, Nil)).k === 0.0)
    assertThrows[IllegalArgumentException](FragmentEstimate.fromSample(1, Fragments(3, Seq(BitSet(1) -> 2L))))
  }

  test("GEE by hand: a signature seen once stands for sqrt(N/r)") {
    val sample = Fragments(6, Seq(BitSet(0) -> 1L, BitSet(0, 1, 2) -> 1L, BitSet(1, 2) -> 6L, BitSet() -> 1L))
    val e = FragmentEstimate.fromSample(900, sample)
    near(e.k, 10 * 2 + 1)
    near(FragmentEstimate.fromSample(90000, sample).k, 63) // six predicates have no more signatures
    near(e.beta, (10 * (1 + 3) + 2) / 21.0)
    near(e.alpha, (1 + 3 + 12) / 9.0)
    near(e.wanted, 800)
  }

  test("estimates from a sample: alpha within its error, k within GEE's guarantee") {
    for (seed <- 1 to 60) {
      val rng = new Random(seed)
      val rows = population(rng, 12, 400)
      val truth = FragmentEstimate.exact(fragments(12, rows))
      val sample = fragments(12, rng.shuffle(rows).take(rows.size / 25))
      val e = FragmentEstimate.fromSample(rows.size.toDouble, sample)
      near(e.alpha, truth.alpha, 0.15)
      near(e.wanted, truth.wanted, 0.1)
      assert(e.k <= 5.5 * truth.k && e.k >= truth.k / 5.5, s"${e.k} of ${truth.k}")
      near(e.beta, truth.beta, 0.4)
      assert(e.k <= e.wanted)
    }
  }

  test("fragments of fewer rows than the sample has: as many as draws find") {
    for (seed <- 1 to 10) {
      val rng = new Random(seed)
      val rows = rng.shuffle(population(rng, 10, 60)).take(2000)
      val sample = fragments(10, rows)
      for (n <- Seq(20, 200, 1000)) {
        val draws = Vector.fill(60)(fragments(10, rng.shuffle(rows).take(n)))
        near(FragmentEstimate.merges(n.toDouble, sample, _ => 1.0), draws.map(_.k.toDouble).sum / 60, 0.05)
        near(
          FragmentEstimate.merges(n.toDouble, sample, _.cardinality.toDouble),
          draws.map(d => d.k * d.beta).sum / 60,
          0.05
        )
      }
    }
    // Two of four rows A, A, B, C: A is missed once in six, B and C every other time.
    val four = Fragments(3, Seq(BitSet(0) -> 2L, BitSet(1) -> 1L, BitSet(2) -> 1L))
    near(FragmentEstimate.merges(2, four, _ => 1.0), 5.0 / 6 + 0.5 + 0.5)
    near(FragmentEstimate.merges(0.5, four, _ => 1.0), 0.5)
    assert(FragmentEstimate.merges(0, Fragments(1, Seq(BitSet(0) -> 1L)), _ => 1.0) === 0.0)
  }
}
