package io.phantoms.spark.cost

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class CollisionModelSuite extends AnyFunSuite {
  import CollisionModelSuite._

  test("eq 13 by hand") {
    assert(CollisionModel.random(2, 1) === 0.5)
    assert(math.abs(CollisionModel.random(3, 2) - 5.0 / 12) < 1e-12)
    assert(CollisionModel.random(1, 10) === 0.0)
    assert(CollisionModel.random(0.5, 10) === 0.0)
    assert(CollisionModel.random(5, 0) === 1.0)
  }

  test("eq 13 equals the sum of eq 12") {
    for (g <- Seq(2, 3, 7, 20); b <- Seq(1, 2, 5, 16, 300)) {
      val sum = (2 to g).map { k =>
        binomial(g, k) * math.pow(1.0 / b, k) * math.pow(1 - 1.0 / b, g - k) * (k - 1)
      }.sum * b / g
      assert(math.abs(CollisionModel.random(g, b) - sum) < 1e-10, s"g=$g b=$b")
    }
  }

  test("the rate stays in [0, 1] and is monotone from 1 to 1e9 groups and buckets") {
    val sizes = Seq(1.0, 2.0, 3.0, 10.0, 999.0, 4095.0, 4096.0, 1e5, 1e6, 1e7, 1e8, 1e9)
    for (g <- sizes; b <- sizes) {
      val x = CollisionModel.random(g, b)
      assert(x >= 0 && x <= 1, s"g=$g b=$b")
      assert(CollisionModel.random(g * 1.5, b) >= x - 1e-12, s"more groups: g=$g b=$b")
      assert(CollisionModel.random(g, b * 1.5) <= x + 1e-12, s"more buckets: g=$g b=$b")
    }
    // (g - 1) / 2b to first order: no digit is lost where the closed form cancels.
    assert(math.abs(CollisionModel.random(3, 1e9) / 1e-9 - 1) < 1e-6)
    assert(math.abs(CollisionModel.random(1e9, 1e9) - math.exp(-1)) < 1e-6)
  }

  test("the logarithm's series and the cheaper exponential keep the digits of eq 13") {
    val random = new Random(8)
    for (_ <- 1 to 20000) {
      val b = math.pow(2, 4 + 8 * random.nextDouble())
      val g = b * math.pow(2, -9 + 14 * random.nextDouble())
      if (g > 1) {
        // Where few groups cancel, the lost digits are those of eq 13 itself.
        val exact = 1 + b / g * StrictMath.expm1(g * StrictMath.log1p(-1 / b))
        assert(math.abs(CollisionModel.random(g, b) - exact) < 1e-14 * math.max(1.0, b / g), s"g=$g b=$b")
      }
    }
  }

  test("the series for few groups per bucket, against eq 13 in 60 digits") {
    val digits = new java.math.MathContext(60)
    for (g <- Seq(2, 3, 50, 900); b <- Seq(1000000, 30000000)) {
      val ratio = BigDecimal(b, digits) / g
      val empty = (BigDecimal(1, digits) - BigDecimal(1, digits) / b).pow(g)
      val exact = (BigDecimal(1, digits) - ratio + ratio * empty).toDouble
      assert(math.abs(CollisionModel.random(g, b) / exact - 1) < 1e-8, s"g=$g b=$b")
    }
  }

  test("the series and the closed form meet") {
    for (b <- Seq(5e4, 1e6, 1e8)) {
      val below = CollisionModel.random(b * 0.999e-3, b)
      val above = CollisionModel.random(b * 1.001e-3, b)
      assert(above > below && above / below < 1.003 * (1 + 2 / (b * 1e-3)), s"b=$b")
    }
  }

  test("eq 13 within 5 % of a simulated table") {
    for (g <- Seq(500, 1000, 2000); ratio <- Seq(0.25, 0.5, 1.0, 2.0, 5.0)) {
      val b = (g / ratio).toInt
      val measured = simulate(new Random(g), g, b, tuples = 300000, flowLength = 1)
      val expected = CollisionModel.random(g, b)
      assert(math.abs(measured / expected - 1) < 0.05, s"g=$g b=$b: $measured against $expected")
    }
  }

  test("eq 15 within 5 % of a simulated table fed by flows") {
    for (la <- Seq(2, 10)) {
      val measured = simulate(new Random(la), 1000, 800, tuples = 600000, flowLength = la)
      val expected = CollisionModel.clustered(1000, 800, la)
      assert(math.abs(measured / expected - 1) < 0.05, s"$measured against $expected")
    }
    assert(CollisionModel.clustered(1000, 800, 1) === CollisionModel.random(1000, 800))
  }

  test("eq 16 by hand, and near eq 15 while the rate is low") {
    assert(math.abs(CollisionModel.linear(1000, 1000) - 0.3807) < 1e-12)
    assert(math.abs(CollisionModel.linear(1000, 2000, 4) - (0.0267 + 0.177) / 4) < 1e-12)
    for (i <- 1 to 100) {
      val b = 10000.0
      val g = b * i / 100
      assert(math.abs(CollisionModel.linear(g, b) - CollisionModel.random(g, b)) < 0.03, s"g/b=${g / b}")
    }
  }

  test("occupied buckets") {
    assert(math.abs(CollisionModel.occupied(2, 2) - 1.5) < 1e-12)
    assert(CollisionModel.occupied(1, 16) === 1.0)
    assert(CollisionModel.occupied(5, 0) === 0.0)
    assert(math.abs(CollisionModel.occupied(1e6, 1000) - 1000) < 1e-6)
  }
}

object CollisionModelSuite {

  private def binomial(n: Int, k: Int): Double = (1 to k).map(i => (n - k + i).toDouble / i).product

  /** Measured collisions per tuple in the steady state, averaged over several hash functions. */
  private def simulate(random: Random, groups: Int, buckets: Int, tuples: Int, flowLength: Int): Double = {
    val tables = 20
    val flows = tuples / tables / flowLength
    val collisions = (1 to tables).map { _ =>
      val hash = Array.fill(groups)(random.nextInt(buckets))
      val table = Array.fill(buckets)(-1)
      var n = 0
      for (flow <- -8 * groups until flows) {
        val group = random.nextInt(groups)
        val held = table(hash(group))
        if (flow >= 0 && held != group) n += 1 // the table is warm by now
        table(hash(group)) = group // the rest of the flow hits
      }
      n
    }.sum
    collisions.toDouble / (flows * flowLength * tables)
  }
}
