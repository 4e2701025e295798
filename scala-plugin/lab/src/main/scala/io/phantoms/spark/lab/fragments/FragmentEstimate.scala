package io.phantoms.spark.lab.fragments

import io.phantoms.spark.estimate.DistinctEstimators
import io.phantoms.spark.fragments.{Fragment, Fragments}

/**
 * What is expected of the fragments of a set of rows.
 *
 * @param rows |T|
 * @param queries n
 * @param alpha queries a row satisfies, on average
 * @param beta queries a fragment is merged into, on average
 * @param k fragments
 * @param wanted rows that satisfy some predicate; the paper accumulates all |T|
 */
final case class FragmentEstimate(rows: Double, queries: Int, alpha: Double, beta: Double, k: Double, wanted: Double)

object FragmentEstimate {

  /** What is known when all rows have been seen. */
  def exact(f: Fragments): FragmentEstimate =
    FragmentEstimate(f.rows.toDouble, f.queries, f.alpha, f.beta, f.k.toDouble, (f.rows - f.unwanted).toDouble)

  /**
   * Estimates from a uniform sample.
   *
   * alpha and the share of rows that no query wants are means over the sample. k is GEE's estimate ([[DistinctEstimators.gee]]; Charikar, Chaudhuri,
   * Motwani, Narasayya, PODS 2000): a signature seen once stands for sqrt(N/r) of its kind, one seen more often for
   * itself; within a factor of sqrt(N/r), whatever the distribution. Their cardinalities carry the same weights in beta.
   *
   * k is at most the rows that are wanted, and the 2^n - 1 signatures there can be.
   *
   * @param rows N, at least the rows of the sample
   * @param sample fragments of the r rows drawn
   */
  def fromSample(rows: Double, sample: Fragments): FragmentEstimate = {
    require(rows >= sample.rows, s"a sample of ${sample.rows} rows of $rows")
    if (sample.rows == 0) FragmentEstimate(rows, sample.queries, 0, 0, 0, 0)
    else {
      val cardinality = merges(rows, sample, _.cardinality.toDouble)
      val k = merges(rows, sample, _ => 1.0)
      val wanted = rows * (1 - sample.unwanted.toDouble / sample.rows)
      val most = math.min(wanted, math.pow(2, sample.queries) - 1)
      FragmentEstimate(
        rows,
        sample.queries,
        sample.alpha,
        if (k == 0) 0.0 else cardinality / k,
        math.max(sample.k.toDouble, math.min(k, most)),
        wanted
      )
    }
  }

  /**
   * Expected sum of `weight` over the fragments of `rows` rows, more or fewer than were drawn.
   *
   * Of fewer rows than the sample's r, drawn from it without replacement, a fragment seen f times is missed with
   * probability (1 - rows/r) (1 - rows/(r - 1)) ..., f factors; to more rows GEE's weights extrapolate.
   *
   * @param weight 1 for each fragment: k; its cardinality: k beta
   */
  def merges(rows: Double, sample: Fragments, weight: Fragment => Double): Double =
    if (rows <= 0 || sample.rows == 0) 0.0
    else if (rows < 1) rows * merges(1, sample, weight)
    else if (rows <= sample.rows) sample.wanted.iterator.map(f => weight(f) * (1 - missed(rows, sample.rows, f))).sum
    else
      sample.wanted.iterator
        .map(f => weight(f) * DistinctEstimators.geeWeight(rows / sample.rows, f.frequency)).sum

  private def missed(rows: Double, sampled: Long, fragment: Fragment): Double = {
    var probability = 1.0
    var j = 0L
    while (j < fragment.frequency && probability > Negligible) {
      probability *= math.max(0.0, 1 - rows / (sampled - j))
      j += 1
    }
    probability
  }

  private val Negligible = 1e-12
}
