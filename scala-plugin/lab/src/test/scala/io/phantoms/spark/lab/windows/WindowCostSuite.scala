package io.phantoms.spark.lab.windows

import scala.util.Random

import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.{EdgeRate, SlicedWindow}

import org.scalatest.funsuite.AnyFunSuite

class WindowCostSuite extends AnyFunSuite {
  import io.phantoms.spark.windows.RandomWindows._

  private val u = PeriodicWindow(18, 15)
  private val v = PeriodicWindow(12, 9)

  private def near(a: Double, b: Double): Unit = {
    assert(math.abs(a - b) <= 1e-9 * math.max(1.0, math.abs(b)), s"$a, by hand $b")
    ()
  }

  test("Tables 1 and 2: one window, paned and paired") {
    // W[18, 15]: panes of 3; the pairs' rate is 2/15.
    near(WindowCost.paned(100, u).partial, 100)
    near(WindowCost.paned(100, u).finals, 1.0 / 3 * (18.0 / 15))
    near(WindowCost.paired(100, u).finals, 2.0 / 15 * (18.0 / 15))
    near(WindowCost.paired(100, u).total, 100 + 0.16)
    near(WindowCost.space(u), 1 + 1.2)
    // The best case, r mod s = 0.
    near(WindowCost.paired(100, PeriodicWindow(30, 15)).finals, 1.0 / 15 * 2)
  }

  test("Tables 2 and 3: U and V, unshared and shared") {
    val ws = Seq(u, v)
    val gamma = 12.0 / 45
    near(WindowCost.unshared(100, ws).partial, 200)
    near(WindowCost.unshared(100, ws).finals, 2.0 * 18 / (15 * 15) + 2.0 * 12 / (9 * 9))
    near(WindowCost.shared(100, gamma, ws).partial, 100)
    near(WindowCost.shared(100, gamma, ws).finals, gamma * (18.0 / 15 + 12.0 / 9))
    near(WindowCost.unsharedSpace(ws), 2 + 1.2 + 12.0 / 9)
    near(WindowCost.sharedSpace(ws), 1 + 1.2 + 12.0 / 9)
  }

  test("Table 3 over a common period: U and V") {
    // S = 45, E = 12: U is due 3 times and merges ceil(36/15) = 3 slices, V 5 times and ceil(24/9) = 3.
    val unshared = WindowCost.unsharedPeriod(4500, Seq(u, v))
    near(unshared.partial, 9000)
    near(unshared.finals, 3 * 3 + 5 * 3)
    val shared = WindowCost.sharedPeriod(4500, Seq(u, v))
    near(shared.partial, 4500)
    near(shared.finals, 12 * 1.2 + 12 * (12.0 / 9))
  }

  test("inequality 1: the rate at which both ways cost the same") {
    var (never, atSome) = (0, 0)
    for (seed <- 1 to 300) {
      val rng = new Random(seed)
      val ws = windows(rng, 2 + rng.nextInt(6), 12, 40, phases = seed % 2 == 0)
      val gamma = EdgeRate.exact(ws).get
      val lambda = WindowCost.threshold(gamma, ws)
      near(WindowCost.unshared(lambda, ws).total, WindowCost.shared(lambda, gamma, ws).total)
      Seq(lambda - 0.01, lambda + 0.01).foreach { l =>
        val cheaper = WindowCost.shared(l, gamma, ws).total < WindowCost.unshared(l, ws).total
        assert(WindowCost.share(l, gamma, ws) === cheaper)
      }
      if (lambda > 1e-9) atSome += 1 else never += 1
    }
    assert(atSome > 200)
    assert(!WindowCost.share(1e9, 2.0 / 15, Seq(u)))
    assert(!WindowCost.share(1e9, 0, Nil))
  }

  test("inequality 1 by hand: U and V") {
    val gamma = 12.0 / 45
    val expected = (gamma * (1.2 + 12.0 / 9) - 2 * (18.0 / 225 + 12.0 / 81)) / 1
    near(WindowCost.threshold(gamma, Seq(u, v)), expected)
    assert(WindowCost.share(expected + 0.001, gamma, Seq(u, v)) && !WindowCost.share(
      expected - 0.001,
      gamma,
      Seq(u, v)
    ))
  }

  test("final aggregations without sharing are below those with sharing, partial ones above") {
    for (seed <- 1 to 200) {
      val ws = windows(new Random(seed), 4, 12, 40, phases = true)
      val gamma = EdgeRate.exact(ws).get
      assert(WindowCost.unshared(1, ws).finals <= WindowCost.shared(1, gamma, ws).finals + 1e-12)
      assert(WindowCost.unshared(1, ws).partial > WindowCost.shared(1, gamma, ws).partial)
    }
  }

  test("the equations beside counting slices one by one") {
    for (seed <- 1 to 100) {
      val rng = new Random(seed)
      val w = window(rng, 12, 60, phases = true)
      val ends = (1000L until 1000L + w.slide).filter(w.endsAt)
      val span = w.slide * 500
      def counted(sliced: PeriodicWindow => SlicedWindow): Double = {
        val cut = Slices.over(Seq(w), ends.head, ends.head + span, sliced)
        cut.merges(0).toDouble / span
      }
      // Panes divide evenly, so r/g is exact; a slice that begins a pair is in floor(r/s) windows and the other in one
      // more, of which 2r/s is the mean only where they are equally long.
      assert(math.abs(counted(SlicedWindow.paned) - WindowCost.paned(
        0,
        w
      ).finals) < 0.02 * (1 + w.range.toDouble / w.slide))
      val exact = (w.range / w.slide * 2 + 1) * (w.pairedSlices - 1) + w.range / w.slide * (2 - w.pairedSlices)
      assert(
        math.abs(counted(SlicedWindow.paired) - exact.toDouble / w.slide) < 0.02 * (1 + w.range.toDouble / w.slide)
      )
      assert(math.abs(exact - WindowCost.paired(0, w).finals * w.slide) <= 1)
      val ceiling = WindowCost.unsharedPeriod(0, Seq(w)).finals
      assert(ceiling >= exact && ceiling <= exact + 1, s"$w")
    }
  }

  test("weights: all 1 are the paper's equations") {
    val plain = new WeightedWindowCost(WindowWeights(1, 1))
    for (seed <- 1 to 100) {
      val rng = new Random(seed)
      val ws = windows(rng, 2 + rng.nextInt(4), 12, 40, phases = true)
      val weighted = ws.map(WeightedWindow(_))
      val gamma = plain.partials(SlicedWindow.common(ws).widths)
      near(gamma, EdgeRate.exact(ws).get)
      assert(plain.unshared(7, weighted) === WindowCost.unshared(7, ws))
      near(plain.shared(7, gamma, weighted).total, WindowCost.shared(7, gamma, ws).total)
      near(plain.threshold(gamma, weighted), WindowCost.threshold(gamma, ws))
    }
  }

  test("weights by hand: copies, widths, groups") {
    // U twice, V with wide buffers; of n ticks n groups, at most 5: U's slices 12 and 3 have 5 and 3, V's 6 and 3 too.
    val cost = new WeightedWindowCost(WindowWeights(2, 10, n => math.min(n, 5).toDouble))
    val ws = Seq(WeightedWindow(u, copies = 2), WeightedWindow(v, width = 3))
    near(cost.unshared(100, ws).partial, 2 * 3 * 100)
    near(cost.unshared(100, ws).finals, 10 * (2 * (8.0 / 15) * 1.2 + 3 * (8.0 / 9) * (12.0 / 9)))
    // The common slices: three of 6 ticks, nine of 3.
    val gamma = cost.partials(SlicedWindow.common(Seq(u, v)).widths)
    near(gamma, (3 * 5 + 9 * 3) / 45.0)
    near(cost.shared(100, gamma, ws).partial, 200)
    near(cost.shared(100, gamma, ws).finals, 10 * gamma * (1.2 + 3 * (12.0 / 9)))
    val lambda = cost.threshold(gamma, ws)
    near(cost.shared(lambda, gamma, ws).total, cost.unshared(lambda, ws).total)
    assert(cost.share(lambda + 1, gamma, ws) && !cost.share(lambda - 1, gamma, ws))
    // Two copies of one window: the same slices, merged once instead of twice.
    val twice = Seq(WeightedWindow(u, copies = 2))
    val own = cost.partials(SlicedWindow.paired(u).widths)
    assert(cost.share(1e-6, own, twice))
    assert(!cost.share(1e9, own, Seq(WeightedWindow(u))))
  }
}
