package io.phantoms.spark.windows

import io.phantoms.spark.model.PeriodicWindow

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class EdgeRateSuite extends AnyFunSuite {
  import RandomWindows._

  private def near(a: Double, b: Double, within: Double = 1e-9): Unit = {
    assert(math.abs(a - b) <= within * math.max(1.0, math.abs(b)), s"$a, expected $b")
    ()
  }

  test("by composition, by residue classes and by counting: the same rate") {
    for (seed <- 1 to 250) {
      val rng = new Random(seed)
      val ws = windows(rng, 1 + rng.nextInt(6), 10, 40, phases = seed % 2 == 0)
      val period = SlicedWindow.commonPeriod(ws.map(_.slide))
      val counted = edges(ws, 0, period).size.toDouble / period
      near(EdgeRate.exact(ws).get, counted)
      near(EdgeRate.byClasses(ws, 1 << 16).get, counted)
      near(EdgeRate.over(ws, 5, 5 + period), counted)
      near(EdgeRate.of(ws), counted)
    }
  }

  test("Fig 3: 12 edges in 45 ticks") {
    val ws = Seq(PeriodicWindow(18, 15), PeriodicWindow(12, 9))
    near(EdgeRate.exact(ws).get, 12.0 / 45)
    assert(EdgeRate.exact(Nil) === Some(0.0))
  }

  test("few windows of a long period: residue classes") {
    // Slides without a common divisor are independent, by the Chinese remainder theorem.
    val ws = Seq(PeriodicWindow(700000123, 600000001), PeriodicWindow(500000000, 300000007))
    val expected = 2.0 / 600000001 + 2.0 / 300000007 - 2.0 / 600000001 * (2.0 / 300000007)
    near(EdgeRate.exact(ws).get / expected, 1)
    near(EdgeRate.of(ws) / expected, 1)
  }

  test("many windows: counted over a stretch of time, as a sieve counts") {
    val ws = paper(new Random(3), 256)
    assert(EdgeRate.exact(ws) === None)
    val until = 100L * ws.map(_.slide).max
    val sieve = new Array[Boolean](until.toInt + 1)
    for (w <- ws; begin <- Seq(0L, w.slide - w.range % w.slide); t <- begin to until by w.slide) sieve(t.toInt) = true
    near(EdgeRate.of(ws), sieve.drop(1).count(identity).toDouble / until)
  }

  test("eq 1 of Shared hierarchical aggregation: bounds of the rate, reached at both ends") {
    for (seed <- 1 to 300) {
      val rng = new Random(seed)
      val ws = windows(rng, 1 + rng.nextInt(5), 10, 40, phases = false).distinct
      val (low, high) = EdgeRate.bounds(ws)
      val rate = EdgeRate.exact(ws).get
      assert(low <= rate + 1e-12 && rate <= high + 1e-12, s"$ws: $rate not in [$low, $high]")
    }
    // One window subsumes the other; and only the last edge is shared.
    val within = Seq(PeriodicWindow(5, 4), PeriodicWindow(9, 8))
    near(EdgeRate.exact(within).get, 2.0 / 4)
    near(EdgeRate.bounds(within)._1, 2.0 / 4)
    val apart = Seq(PeriodicWindow(5, 4), PeriodicWindow(6, 4), PeriodicWindow(7, 4))
    near(EdgeRate.exact(apart).get, EdgeRate.bounds(apart)._2)
    assertThrows[IllegalArgumentException](EdgeRate.bounds(Seq(PeriodicWindow(5, 4), PeriodicWindow(5, 4, 1))))
  }
}
