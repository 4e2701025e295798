package io.phantoms.spark.windows

import io.phantoms.spark.model.PeriodicWindow

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class SlicedWindowSuite extends AnyFunSuite {
  import RandomWindows._

  test("Fig 1: W[18, 15] paned and paired") {
    val w = PeriodicWindow(18, 15)
    assert(SlicedWindow.paned(w).slices === Vector(3, 3, 3, 3, 3))
    assert(SlicedWindow.paired(w).slices === Vector(12, 3))
    assert(SlicedWindow.paired(w).edges === Vector(12, 15))
  }

  test("Fig 3: U(12, 3) and V(6, 3), stretched and composed") {
    val u = SlicedWindow.of(12, 3)
    val v = SlicedWindow.of(6, 3)
    assert(u.stretch(3).slices === Vector(12, 3, 12, 3, 12, 3))
    assert(v.stretch(5).slices === Vector(6, 3, 6, 3, 6, 3, 6, 3, 6, 3))
    val w = SlicedWindow.compose(Seq(u, v))
    assert(w.period === 45)
    // As printed in Shared hierarchical aggregation; the slices printed in On-the-fly sharing add up to 51.
    assert(w.slices === Vector(6, 3, 3, 3, 3, 6, 3, 3, 3, 3, 6, 3))
    assert(w.slices.sum === 45)
    assert(u.stretch(3).edges.intersect(v.stretch(5).edges) === Vector(15, 27, 42, 45))
    assert(SlicedWindow.paired(PeriodicWindow(18, 15)) === u && SlicedWindow.paired(PeriodicWindow(12, 9)) === v)
  }

  test("windows that begin at multiples of the slide, as Spark's") {
    for (seed <- 1 to 200) {
      val rng = new Random(seed)
      val (range, slide) = (1L + rng.nextInt(40), 1L + rng.nextInt(20))
      val start = rng.nextInt(100) - 50L
      val w = PeriodicWindow.startingAt(range, slide, start)
      for (t <- -100L to 100L) {
        val begins = Math.floorMod(t - start, slide) == 0
        assert(w.endsAt(t + range) === begins, s"$w at $t")
        assert(w.hasEdge(t) === (begins || Math.floorMod(t - range - start, slide) == 0))
      }
      val next = w.endAfter(17)
      assert(next > 17 && w.endsAt(next) && (18L until next).forall(!w.endsAt(_)))
    }
  }

  test("kinds of windows") {
    assert(PeriodicWindow(18, 15).isOverlapping && !PeriodicWindow(18, 15).isTumbling)
    assert(PeriodicWindow(15, 15).isTumbling && !PeriodicWindow(15, 15).isHopping)
    assert(PeriodicWindow(12, 15).isHopping && !PeriodicWindow(12, 15).isOverlapping)
    assert(SlicedWindow.paired(PeriodicWindow(15, 15)).slices === Vector(15))
    assert(SlicedWindow.paired(PeriodicWindow(12, 15)).slices === Vector(3, 12))
    assert(SlicedWindow.paired(PeriodicWindow(18, 15, 4)).edges === Vector(1, 4))
    assert(SlicedWindow.paired(PeriodicWindow(18, 15, 4)).slices === Vector(12, 3))
  }

  // Whether results of `w` are unions of the slices between `cuts`, tried for every window of a common period.
  private def computable(w: PeriodicWindow, sliced: SlicedWindow): Boolean = {
    val until = 3 * SlicedWindow.commonPeriod(Seq(w.slide, sliced.period)) + w.range
    val cuts = (-until to until).filter { t =>
      sliced.edges.exists(e => Math.floorMod(t - e, sliced.period) == 0)
    }
    val slices = cuts.zip(cuts.tail)
    (0L to until / 3).filter(t => Math.floorMod(t - w.phase, w.slide) == 0).forall { end =>
      // Of the slices within the window, those that are there have to cover it.
      slices.filter { case (a, b) => a >= end - w.range && b <= end }.map { case (a, b) => b - a }.sum == w.range
    }
  }

  test("Lemma 1: computable if and only if some last slices add up to r mod s") {
    var (yes, no) = (0, 0)
    for (seed <- 1 to 1500) {
      val rng = new Random(seed)
      val slide = 2L + rng.nextInt(14)
      val w = PeriodicWindow(1L + rng.nextInt(40), slide)
      val inner = rng.shuffle((1L until slide).toVector).take(rng.nextInt(4)).sorted
      val v = SlicedWindow(slide, inner :+ slide)
      val lemma = (0 to v.size).exists(k => v.slices.drop(k).sum == w.range % w.slide)
      assert(v.answers(w) === lemma, s"$w by $v")
      assert(computable(w, v) === lemma, s"$w by $v")
      if (lemma) yes += 1 else no += 1
    }
    assert(yes > 300 && no > 300, s"$yes and $no")
  }

  test("answers, for any period and phase, is what can be computed") {
    var yes = 0
    for (seed <- 1 to 1500) {
      val rng = new Random(seed)
      val w = window(rng, 8, 24, phases = true)
      val period = w.slide * (1 + rng.nextInt(2)) * (if (rng.nextInt(4) == 0) 2 else 1)
      val edges = (1L to period).filter(t => w.hasEdge(t) && rng.nextInt(12) > 0 || rng.nextInt(3) == 0).toVector
      val v = SlicedWindow(period, if (edges.isEmpty) Vector(period) else edges)
      assert(v.answers(w) === computable(w, v), s"$w by $v")
      if (v.answers(w)) yes += 1
    }
    assert(yes > 200 && yes < 1300, s"$yes")
  }

  test("paned and paired windows answer their window; paired never has more slices") {
    var fewer = 0
    for (seed <- 1 to 2000) {
      val w = window(new Random(seed), 60, 200, phases = seed % 2 == 0)
      val (paned, paired) = (SlicedWindow.paned(w), SlicedWindow.paired(w))
      assert(paned.answers(w) && paired.answers(w), s"$w")
      assert(paned.slices.sum === w.slide && paired.slices.sum === w.slide)
      assert(paned.slices.distinct.size === 1)
      assert(paired.size === w.pairedSlices && paired.size <= paned.size, s"$w")
      if (paired.size < paned.size) fewer += 1
    }
    assert(fewer > 1000)
  }

  test("the composition is the union of the edges, answers every window, and needs every edge") {
    for (seed <- 1 to 300) {
      val rng = new Random(seed)
      val ws = windows(rng, 1 + rng.nextInt(4), 9, 30, phases = seed % 2 == 0)
      val common = SlicedWindow.common(ws)
      assert(common.period === ws.map(w => BigInt(w.slide)).reduce((a, b) => a * b / a.gcd(b)).toLong)
      assert(common.edges === edges(ws, 0, common.period), s"$ws")
      assert(common.slices.sum === common.period)
      assert(ws.forall(common.answers), s"$ws")
      if (common.size > 1) common.edges.foreach { e =>
        assert(!ws.forall(SlicedWindow(common.period, common.edges.filterNot(_ == e)).answers), s"$ws without $e")
      }
    }
  }

  test("Theorem 1: no composition of other sliced windows has fewer slices than that of the paired ones") {
    var more = 0
    for (seed <- 1 to 500) {
      val rng = new Random(seed)
      val ws = windows(rng, 1 + rng.nextInt(4), 12, 30, phases = false)
      val others = ws.map { w =>
        // Any sliced window of w: one that Lemma 1 admits.
        val more = (1L to w.slide).filter(t => w.hasEdge(t) || rng.nextInt(6) == 0).toVector
        val v = SlicedWindow(w.slide, more)
        assert(v.answers(w))
        v
      }
      val paired = SlicedWindow.common(ws).size
      assert(paired <= SlicedWindow.compose(others).size, s"$ws, $others")
      assert(paired <= SlicedWindow.compose(ws.map(SlicedWindow.paned)).size, s"$ws")
      if (paired < SlicedWindow.compose(others).size) more += 1
    }
    assert(more > 100, s"$more")
  }

  test("Theorem 1 by brute force: of all sets of edges that answer the windows the composition is smallest") {
    for (seed <- 1 to 60) {
      val rng = new Random(seed)
      val slides = Seq(Seq(2L, 3L), Seq(4L, 6L), Seq(3L, 9L), Seq(10L), Seq(2L, 5L), Seq(12L, 4L))(seed % 6)
      val ws = Vector.fill(1 + rng.nextInt(3)) {
        val slide = slides(rng.nextInt(slides.size))
        PeriodicWindow(1L + rng.nextInt(25), slide, if (seed % 2 == 0) 0 else rng.nextInt(slide.toInt).toLong)
      }
      val common = SlicedWindow.common(ws)
      val period = common.period.toInt
      val smallest = (1 until (1 << period)).iterator
        .filter(m => ws.forall(SlicedWindow(period.toLong, bits(m, period)).answers))
        .map(Integer.bitCount).min
      assert(common.size === smallest, s"$ws")
    }
  }

  private def bits(mask: Int, n: Int): Vector[Long] =
    (0 until n).filter(i => (mask >> i & 1) == 1).map(_ + 1L).toVector

  test("what is not a window or a sliced window is refused") {
    assertThrows[IllegalArgumentException](PeriodicWindow(0, 5))
    assertThrows[IllegalArgumentException](PeriodicWindow(5, 0))
    assertThrows[IllegalArgumentException](PeriodicWindow(5, 5, 5))
    assertThrows[IllegalArgumentException](SlicedWindow(5, Vector(2, 2)))
    assertThrows[IllegalArgumentException](SlicedWindow(5, Vector(2, 6)))
    assertThrows[IllegalArgumentException](SlicedWindow(5, Vector.empty))
    assertThrows[ArithmeticException](SlicedWindow.common((1000000000L to 1000000009L).map(PeriodicWindow(7, _))))
  }
}
