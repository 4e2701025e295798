package io.phantoms.spark.cost

/**
 * A linear model without negative coefficients.
 *
 * @param coefficients one per column; 0 for a column that explains nothing
 * @param predicted what it says of each observation
 * @param r2 part of the variance of the observed values that the model explains; 1 is all
 * @param medianError median over the observations of |predicted - observed| / observed
 */
final case class Fit(
    coefficients: IndexedSeq[Double],
    predicted: IndexedSeq[Double],
    r2: Double,
    medianError: Double
)

/**
 * Weighted least squares with non-negative coefficients, for the few columns that calibration has.
 *
 * The optimum solves the unconstrained problem over the columns of its positive coefficients, so with few columns all
 * subsets can be tried: exact, and no iteration that may stop early.
 */
object Regression {

  /** Most columns: 2^n subsets are solved. */
  val MaxColumns: Int = 10

  /**
   * Minimises the sum of weight (x b - y)^2 over b >= 0.
   *
   * @param x one row per observation, of equal length
   * @param y what was observed
   * @param weights one per observation, not negative
   */
  def nonNegative(x: IndexedSeq[IndexedSeq[Double]], y: IndexedSeq[Double], weights: IndexedSeq[Double]): Fit = {
    require(
      x.nonEmpty && x.size == y.size && x.size == weights.size,
      "as many rows as values and weights, at least one"
    )
    val columns = x.head.size
    require(columns <= MaxColumns && x.forall(_.size == columns), s"rows of equal length, at most $MaxColumns")
    // Columns of very different scale (rows, tasks) would cost digits.
    val scale = Array.tabulate(columns)(j => math.sqrt(x.indices.map(i => weights(i) * x(i)(j) * x(i)(j)).sum))
    def normal(j: Int, k: Int): Double = x.indices.map(i => weights(i) * x(i)(j) * x(i)(k)).sum / scale(j) / scale(k)
    val usable = (0 until columns).filter(scale(_) > 0)
    val gram = Array.tabulate(columns, columns)((j, k) => if (scale(j) > 0 && scale(k) > 0) normal(j, k) else 0.0)
    val right =
      Array.tabulate(columns)(j =>
        if (scale(j) > 0) x.indices.map(i => weights(i) * x(i)(j) * y(i)).sum / scale(j) else 0
      )
    val solutions = usable.toSet.subsets().map(_.toArray.sorted).flatMap { chosen =>
      solve(chosen.map(j => chosen.map(gram(j)(_))), chosen.map(right(_))).filter(_.forall(_ >= 0)).map { b =>
        // At a solution of the normal equations the squared error is y'y - b'X'y.
        (-chosen.indices.map(i => b(i) * right(chosen(i))).sum, chosen.length, chosen.zip(b).toMap)
      }
    }
    val (_, _, best) = solutions.minBy { case (error, size, _) => (error, size) }
    describe(x, y, IndexedSeq.tabulate(columns)(j => best.get(j).fold(0.0)(_ / scale(j))))
  }

  private def describe(x: IndexedSeq[IndexedSeq[Double]], y: IndexedSeq[Double], b: IndexedSeq[Double]): Fit = {
    val predicted = x.map(row => row.indices.map(j => row(j) * b(j)).sum)
    val mean = y.sum / y.size
    val total = y.map(v => (v - mean) * (v - mean)).sum
    val left = y.indices.map(i => (y(i) - predicted(i)) * (y(i) - predicted(i))).sum
    val errors = y.indices.filter(y(_) > 0).map(i => math.abs(predicted(i) - y(i)) / y(i))
    Fit(
      b,
      predicted,
      if (total > 0) 1 - left / total else if (left > 0) 0.0 else 1.0,
      if (errors.isEmpty) 0.0 else median(errors)
    )
  }

  /** The value in the middle, or the mean of the two there; of at least one value. */
  def median(values: Seq[Double]): Double = {
    val sorted = values.sorted
    (sorted((sorted.size - 1) / 2) + sorted(sorted.size / 2)) / 2
  }

  /** Gaussian elimination with pivots; None where columns depend on each other. */
  private def solve(matrix: Array[Array[Double]], right: Array[Double]): Option[Array[Double]] = {
    val n = right.length
    val m = Array.tabulate(n)(i => matrix(i) :+ right(i))
    val regular = (0 until n).forall { c =>
      val pivot = (c until n).maxBy(r => math.abs(m(r)(c)))
      val swapped = m(c)
      m(c) = m(pivot)
      m(pivot) = swapped
      val usable = math.abs(m(c)(c)) > Singular
      if (usable)
        for (r <- 0 until n if r != c) {
          val f = m(r)(c) / m(c)(c)
          for (k <- c to n) m(r)(k) -= f * m(c)(k)
        }
      usable
    }
    Option.when(regular)(Array.tabulate(n)(i => m(i)(n) / m(i)(i)))
  }

  // Columns are scaled to length 1: what is left of one after taking out the others.
  private val Singular: Double = 1e-9
}
