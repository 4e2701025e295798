package io.phantoms.spark.cost

/**
 * Expected collision rate of a direct-mapped table that evicts on every collision: evictions per probe, in [0, 1].
 *
 * Source: SMAP (Zhang et al., Streaming Multiple Aggregations Using Phantoms), section 5. `g` is the number of groups,
 * `b` the number of buckets, `la` the effective average flow length l_a.
 */
object CollisionModel {

  /** The constant of the linear fit of the low part of the curve (section 5.4). */
  val Alpha: Double = 0.0267

  /** The slope of the linear fit, and the mu of the space allocation analysis (section 6.1). */
  val Mu: Double = 0.354

  // Below this g/b the closed form loses digits to cancellation and three terms of the binomial series are exact.
  private val SeriesBelow = 1e-3

  /** Eq 13, x = 1 - b/g + b/g (1 - 1/b)^g: groups mixed at random. No bucket: every probe passes on. */
  def random(g: Double, b: Double): Double =
    if (g <= 1) 0.0
    else if (b < 1) 1.0
    else if (g / b < SeriesBelow) {
      val first = (g - 1) / (2 * b)
      val second = first * (g - 2) / (3 * b)
      val third = second * (g - 3) / (4 * b)
      clamp(first - second + third)
    } else clamp(1 + b / g * expMinusOne(g * logEmpty(b)))

  /** Eq 15: the rate of random data divided by the flow length. */
  def clustered(g: Double, b: Double, la: Double): Double = random(g, b) / math.max(1.0, la)

  /** Eq 16, the linear fit of eq 15: good within 5 % on average while the rate of random data is under 0.4. */
  def linear(g: Double, b: Double, la: Double = 1.0): Double =
    if (g <= 1) 0.0 else if (b <= 0) 1.0 else clamp((Alpha + Mu * g / b) / math.max(1.0, la))

  /**
   * Buckets that hold a group once all `g` groups have been seen: b (1 - (1 - 1/b)^g), what the end of an epoch evicts.
   * Likewise the groups, of `b` equally likely ones, that `g` rows are expected to show.
   */
  def occupied(g: Double, b: Double): Double =
    if (b < 1) 0.0
    else if (b == 1) clamp(g)
    else math.min(b, math.max(0.0, g) * (1 - random(g, b))) // rounding must not find more than there are

  // ln(1 - 1/b); the series is exact to the last digits for large b and much cheaper in the search's inner loop.
  private def logEmpty(b: Double): Double = {
    val e = 1 / b
    if (b >= 4096) -e * (1 + e * (0.5 + e * (1.0 / 3)))
    else if (b >= 128) {
      val low = 1.0 / 5 + e * (1.0 / 6 + e * (1.0 / 7 + e * (1.0 / 8)))
      -e * (1 + e * (0.5 + e * (1.0 / 3 + e * (0.25 + e * low))))
    } else Math.log1p(-e)
  }

  // exp(x) - 1: digits cancel only near 0, and exp is the cheaper function.
  private def expMinusOne(x: Double): Double = if (x < -1) math.exp(x) - 1 else Math.expm1(x)

  private def clamp(x: Double): Double = math.min(1.0, math.max(0.0, x))
}
