package io.phantoms.spark.cost

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class RegressionSuite extends AnyFunSuite {

  private def ones(n: Int) = IndexedSeq.fill(n)(1.0)

  private def near(actual: Double, expected: Double, tolerance: Double): Unit = {
    assert(math.abs(actual - expected) <= tolerance * math.max(1.0, math.abs(expected)), s"$actual, not $expected")
    ()
  }

  test("exact data give the constants back, whatever the scale of the columns") {
    val random = new Random(1)
    val truth = IndexedSeq(12.0, 0.003, 4e6)
    val x =
      IndexedSeq.fill(9)(IndexedSeq(random.nextDouble() * 1e6, random.nextDouble() * 1e9, random.nextInt(9).toDouble))
    val y = x.map(_.zip(truth).map { case (a, b) => a * b }.sum)
    val fit = Regression.nonNegative(x, y, ones(9))
    fit.coefficients.zip(truth).foreach { case (b, t) => near(b / t, 1, 1e-9) }
    near(fit.r2, 1, 1e-12)
    near(fit.medianError, 0, 1e-9)
    fit.predicted.zip(y).foreach { case (p, v) => near(p / v, 1, 1e-9) }
  }

  test("noise of ten per cent moves constants by a few, when there are enough observations") {
    val random = new Random(2)
    val truth = IndexedSeq(10.0, 60.0, 150.0)
    val x = IndexedSeq.fill(300)(IndexedSeq.fill(3)(random.nextDouble() * 1e6))
    val y = x.map(_.zip(truth).map { case (a, b) => a * b }.sum * (1 + 0.1 * random.nextGaussian()))
    val fit = Regression.nonNegative(x, y, y.map(v => 1 / (v * v)))
    fit.coefficients.zip(truth).foreach { case (b, t) => near(b / t, 1, 0.12) }
    assert(fit.r2 > 0.8 && fit.r2 < 1 && fit.medianError > 0.03 && fit.medianError < 0.12)
  }

  test("no coefficient is negative, and none can be changed for the better") {
    val random = new Random(3)
    for (_ <- 1 to 50) {
      val x = IndexedSeq.fill(12)(IndexedSeq.fill(4)(random.nextGaussian()))
      val y = IndexedSeq.fill(12)(random.nextGaussian())
      val w = IndexedSeq.fill(12)(random.nextDouble())
      def error(b: IndexedSeq[Double]) = x.indices.map { i =>
        val d = x(i).indices.map(j => x(i)(j) * b(j)).sum - y(i)
        w(i) * d * d
      }.sum
      val b = Regression.nonNegative(x, y, w).coefficients
      assert(b.forall(_ >= 0))
      for (j <- b.indices; step <- Seq(-1e-3, 1e-3) if b(j) + step >= 0)
        assert(error(b.updated(j, b(j) + step)) >= error(b) - 1e-12)
    }
  }

  test("columns without data and columns that depend on each other") {
    val x = IndexedSeq(IndexedSeq(1.0, 2.0, 0.0), IndexedSeq(2.0, 4.0, 0.0), IndexedSeq(3.0, 6.0, 0.0))
    val fit = Regression.nonNegative(x, IndexedSeq(10.0, 20.0, 30.0), ones(3))
    near(fit.coefficients(0) + 2 * fit.coefficients(1), 10, 1e-9)
    assert(fit.coefficients(2) == 0)
    near(fit.r2, 1, 1e-9)
    assert(Regression.nonNegative(x, IndexedSeq(0.0, 0.0, 0.0), ones(3)).coefficients.forall(_ == 0))
  }

  test("a weight of 0 leaves an observation out") {
    val x = IndexedSeq(IndexedSeq(1.0), IndexedSeq(2.0), IndexedSeq(1.0))
    near(Regression.nonNegative(x, IndexedSeq(5.0, 10.0, 1000.0), IndexedSeq(1, 1, 0)).coefficients(0), 5, 1e-12)
  }

  test("what cannot be fitted is refused") {
    intercept[IllegalArgumentException](Regression.nonNegative(IndexedSeq.empty, IndexedSeq.empty, IndexedSeq.empty))
    intercept[IllegalArgumentException](Regression.nonNegative(IndexedSeq(ones(2)), ones(2), ones(1)))
    intercept[IllegalArgumentException](Regression.nonNegative(IndexedSeq(ones(11)), ones(1), ones(1)))
  }
}
