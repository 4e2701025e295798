package io.phantoms.spark.cost

/** Which estimate of a table's collision rate a cost is computed with. */
trait CollisionRate {

  /**
   * @param g groups
   * @param b buckets
   * @param la effective flow length
   * @return collisions per probe, in [0, 1]
   */
  def apply(g: Double, b: Double, la: Double): Double
}

object CollisionRate {

  /** Eq 15, over the exact eq 13. */
  object Exact extends CollisionRate {
    override def apply(g: Double, b: Double, la: Double): Double = CollisionModel.clustered(g, b, la)
  }

  /** Eq 16, a straight line: what the analysis of space allocation assumes. */
  object Linear extends CollisionRate {
    override def apply(g: Double, b: Double, la: Double): Double = CollisionModel.linear(g, b, la)
  }

  /**
   * Eq 15 read from a table over g/b, on which alone the rate depends unless a table has few buckets: the limit of eq 13
   * for large b, 1 - (1 - e^-r) / r with r = g/b, linear between the points. Within 0.1 % of the limit, and so within
   * 1 % of eq 13 from 100 groups and 100 buckets up.
   */
  object Precomputed extends CollisionRate {
    private val PerDoubling = 16
    private val Lowest = -20 // powers of two of g/b; below, the curve is r / 2
    private val Highest = 20 // above, it is 1 - 1 / r

    private val points: Array[Double] = Array.tabulate((Highest - Lowest) * PerDoubling + 2) { i =>
      limit(math.pow(2.0, Lowest + i.toDouble / PerDoubling))
    }

    override def apply(g: Double, b: Double, la: Double): Double =
      if (g <= 1) 0.0 else if (b < 1) 1.0 else lookUp(g / b) / math.max(1.0, la)

    private def lookUp(r: Double): Double = {
      val at = (math.log(r) / math.log(2.0) - Lowest) * PerDoubling
      if (at < 0) r / 2
      else if (at >= points.length - 1) 1 - 1 / r
      else {
        val i = at.toInt
        points(i) + (at - i) * (points(i + 1) - points(i))
      }
    }

    private def limit(r: Double): Double = if (r < 1e-4) r / 2 - r * r / 6 else 1 + Math.expm1(-r) / r
  }
}
