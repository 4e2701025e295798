package io.phantoms.spark.cost

import scala.util.Random

import io.phantoms.spark.lab.papers.TableSimulation
import io.phantoms.spark.model.TableStatistics

import org.scalatest.funsuite.AnyFunSuite

class CollisionRateSuite extends AnyFunSuite {

  test("the regression of the low part of eq 13 gives the constants of eq 16") {
    // Section 5.4: least squares over the curve while the rate is under 0.4.
    val points = (1 to 2000).map(_ / 1000.0).map(r => (r, CollisionModel.random(r * 1e6, 1e6))).filter(_._2 < 0.4)
    val (mr, mx) = (points.map(_._1).sum / points.size, points.map(_._2).sum / points.size)
    val slope =
      points.map { case (r, x) => (r - mr) * (x - mx) }.sum / points.map { case (r, _) => (r - mr) * (r - mr) }.sum
    assert(math.abs(slope / CollisionModel.Mu - 1) < 0.01, slope)
    assert(math.abs((mx - slope * mr) / CollisionModel.Alpha - 1) < 0.1, mx - slope * mr)
    val errors = points.map { case (r, x) => math.abs(CollisionModel.linear(r * 1e6, 1e6) - x) }
    assert(errors.sum < 0.05 * points.map(_._2).sum, "average error less than 5 %")
  }

  test("the precomputed curve within 1 % of eq 15") {
    val random = new Random(1)
    for (_ <- 1 to 2000) {
      val g = math.pow(10, 2 + 5 * random.nextDouble())
      val b = math.pow(10, 2 + 5 * random.nextDouble())
      val la = 1 + 20 * random.nextDouble()
      val exact = CollisionRate.Exact(g, b, la)
      assert(math.abs(CollisionRate.Precomputed(g, b, la) / exact - 1) < 0.012, s"g=$g b=$b")
    }
    for ((g, b) <- Seq((1e3, 1e9), (1e3, 1e10), (1e9, 100.0), (1e9, 1e3))) { // beyond both ends of the table
      assert(math.abs(CollisionRate.Precomputed(g, b, 1) / CollisionRate.Exact(g, b, 1) - 1) < 0.01, s"g=$g b=$b")
    }
    assert(CollisionRate.Precomputed(1, 10, 1) === 0.0)
    assert(CollisionRate.Precomputed(10, 0, 1) === 1.0)
  }

  test("of the measured collision rates of random data at least 95 % lie within 5 % of eq 13") {
    // Fig 7: 500, 1000 and 2000 groups, g/b up to 10; a point is the mean of some hash functions.
    val errors = for (g <- Seq(500, 1000, 2000); i <- 1 to 20) yield {
      val b = (g / (i * 0.5)).toInt
      val rates = (1 to 8).map { seed =>
        val random = new Random(seed * 1000 + i)
        val tree = ConfigurationTree(Seq(-1))
        val table = new TableSimulation(tree, Array(Array.tabulate(g)(identity)), Array(b), seed)
        table.run(Array.fill(10 * g)(random.nextInt(g)), 0, 10 * g)
        table.restart()
        table.run(Array.fill(20000)(random.nextInt(g)), 0, 20000).rates(0)
      }
      math.abs(rates.sum / rates.size / CollisionModel.random(g, b) - 1)
    }
    assert(errors.count(_ < 0.05) >= 0.95 * errors.size, errors.sorted.takeRight(5))
  }

  test("eq 15 divides by the flow length, eq 16 is the line of it") {
    assert(CollisionRate.Exact(100, 50, 4) === CollisionModel.random(100, 50) / 4)
    assert(CollisionRate.Linear(100, 200, 5) === (0.0267 + 0.177) / 5)
  }
}

class FlowLengthsSuite extends AnyFunSuite {

  test("the average over each depth, and the one above where nothing was measured") {
    // ABCD(AB BCD(BC BD CD)): 40 | 3, 5 | 1, 1.5, 0.5
    val tree = ConfigurationTree(Vector(-1, 0, 0, 2, 2, 2))
    assert(FlowLengths.averages(tree, Vector(40, 3, 5, 1, 1.5, 0.5)) === Vector(40, 4, 1))
    assert(FlowLengths.averages(tree, Vector(40, Double.NaN, Double.NaN, 1.5, 2.5, Double.NaN)) === Vector(40, 40, 2))
    val lengths = FlowLengths.ofDepths(Vector(40, 4, 1.5))
    assert((1 to 5).map(lengths(9, _)) === Seq(40, 4, 1.5, 1.5, 1.5))
    assertThrows[IllegalArgumentException](FlowLengths.ofDepths(Vector(0.5)))
  }

  test("statistics of a relation hold where it is raw, those of a depth further down") {
    val statistics = TableStatistics(1000, Map.empty, flowLength = 6, depthFlowLengths = Vector(3, 2))
    val lengths = FlowLengths.ofRelations(_ => 6.0, statistics.flowLengthAtDepth)
    assert((1 to 4).map(lengths(0, _)) === Seq(6, 3, 2, 2))
    assert(FlowLengths.ofRelations(_ => 6.0)(0, 2) === 1.0)
    assert(statistics.flowLengthAtDepth(1).isEmpty)
    assertThrows[IllegalArgumentException](TableStatistics(10, Map.empty, depthFlowLengths = Vector(0.9)))
  }
}
