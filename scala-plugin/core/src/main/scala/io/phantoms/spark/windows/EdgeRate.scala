package io.phantoms.spark.windows

import io.phantoms.spark.model.PeriodicWindow

import scala.collection.mutable

/**
 * How many slices per tick the paired windows of several windows have in common: gamma = E/S of On-the-fly sharing,
 * beta of Shared hierarchical aggregation.
 */
object EdgeRate {

  /**
   * The rate by counting over the common period, or from the windows' cuts as residue classes where the period is too
   * long; None if both are too large, and then [[over]] a stretch of time is what can be known.
   *
   * @param limit most edges to look at; residue classes are sixteen times as dear
   */
  def exact(windows: Seq[PeriodicWindow], limit: Int = 1 << 16): Option[Double] =
    if (windows.isEmpty) Some(0.0)
    else composed(windows, limit).orElse(byClasses(windows, limit / 16))

  /** The rate over `[from, until)`: cuts in `(from, until]` per tick. */
  def over(windows: Seq[PeriodicWindow], from: Long, until: Long): Double = {
    val manager = SliceManager.of(windows.distinct, from)
    val cuts = Iterator.continually(manager.advance()).takeWhile(_.exists(_ <= until)).size
    cuts.toDouble / (until - from)
  }

  /** The exact rate if it is within reach, else that of a hundred times the longest slide. */
  def of(windows: Seq[PeriodicWindow]): Double =
    exact(windows).getOrElse(over(windows, 0, Math.multiplyExact(windows.map(_.slide).max, 100L)))

  /**
   * Bounds of the rate (Shared hierarchical aggregation, eq 1). All windows end together once in a common period S if
   * they have one phase, so n - 1 edges fall together: the upper bound is Sum_i m_i/s_i - (n - 1)/S, m_i = 2 in the
   * paper's worst case. The equation has n - 1 for (n - 1)/S, which is right if rates are per period.
   *
   * @param windows of one phase
   */
  def bounds(windows: Seq[PeriodicWindow]): (Double, Double) = {
    require(windows.map(_.phase).toSet.size == 1, "windows of different phases need not end together")
    val rates = windows.map(w => w.pairedSlices.toDouble / w.slide)
    (rates.max, rates.sum - (windows.size - 1).toDouble / SlicedWindow.commonPeriod(windows.map(_.slide)))
  }

  private def composed(windows: Seq[PeriodicWindow], limit: Int): Option[Double] =
    try {
      val period = SlicedWindow.commonPeriod(windows.map(_.slide))
      val edges = windows.distinct.map(w => w.pairedSlices * (period / w.slide).toDouble).sum
      if (edges <= limit) Some(SlicedWindow.common(windows).rate) else None
    } catch { case _: ArithmeticException => None }

  /** The times t with `t mod modulus = residue`. */
  private final case class Residues(residue: BigInt, modulus: BigInt) {

    def and(that: Residues): Option[Residues] = {
      val g = modulus.gcd(that.modulus)
      val gap = that.residue - residue
      if (gap % g != 0) None
      else {
        // Chinese remainders: residue + modulus * k = that.residue (mod that.modulus).
        val rest = that.modulus / g
        val k = if (rest == 1) BigInt(0) else (gap / g * (modulus / g).modInverse(rest)).mod(rest)
        val lcm = modulus * rest
        Some(Residues((residue + modulus * k).mod(lcm), lcm))
      }
    }
  }

  /**
   * Inclusion and exclusion over the residue classes of the cuts. Equal intersections are kept once with the sum of
   * their signs, and those that cancel not at all, so that classes within one another do not multiply.
   */
  private[windows] def byClasses(windows: Seq[PeriodicWindow], limit: Int): Option[Double] = {
    val classes = windows.flatMap { w =>
      Seq(w.phase, w.phase - w.range).map(t => Residues(BigInt(Math.floorMod(t, w.slide)), BigInt(w.slide)))
    }.distinct.sortBy(_.modulus)
    val terms = mutable.LinkedHashMap.empty[Residues, BigInt]
    val within = classes.iterator.takeWhile { c =>
      val added = mutable.LinkedHashMap(c -> BigInt(1))
      for ((r, sign) <- terms; both <- r.and(c)) added(both) = added.getOrElse(both, BigInt(0)) - sign
      for ((r, sign) <- added) {
        val sum = terms.getOrElse(r, BigInt(0)) + sign
        if (sum == 0) terms -= r else terms(r) = sum
      }
      terms.size <= limit
    }.size
    if (within < classes.size) None
    else {
      val common = terms.keysIterator.map(_.modulus).foldLeft(BigInt(1))((lcm, m) => lcm / lcm.gcd(m) * m)
      val count = terms.iterator.map { case (r, sign) => sign * (common / r.modulus) }.sum
      Some((BigDecimal(count) / BigDecimal(common)).toDouble)
    }
  }
}
