package io.phantoms.spark.search.trees

/**
 * What a tuple costs (aggregate trees, section 2.3), in nanoseconds. The defaults are the patent's measurements.
 *
 * @param hashPerAttribute what each grouping attribute adds to C_H
 * @param hashFixed what hashing takes besides: the modulo
 * @param rangeCheck what each range condition adds to C_F
 */
final case class TreeCosts(hashPerAttribute: Double = 50, hashFixed: Double = 15, rangeCheck: Double = 5) {
  require(hashPerAttribute >= 0 && hashFixed >= 0 && rangeCheck >= 0, s"$this")

  /** C_H(A): hashing a tuple on so many attributes. */
  def hash(attributes: Int): Double = hashFixed + hashPerAttribute * attributes

  /** C_F(F): checking a filter; the sum over its boxes (section 4.3). */
  def filter(filter: Filter): Double = rangeCheck * filter.boxes.iterator.map(_.conditions.size).sum
}

/** When an intermediate aggregate pays (section 3.1, claim 4). */
object BenefitTest {

  /**
   * N (X - Y) / X: the size below which an intermediate aggregate is beneficial. It adds N Y to the hashing and turns
   * N X of it into S X.
   *
   * @param input N, tuples of what the queries were computed from
   * @param queries X, cost of hashing a tuple for each of the queries; in the patent their grouping attributes together
   * @param intermediate Y, the same for the intermediate aggregate
   */
  def limit(input: Double, queries: Double, intermediate: Double): Double =
    if (queries <= 0) 0.0 else input * (queries - intermediate) / queries

  /** @param size S, result tuples of the intermediate aggregate */
  def pays(size: Double, input: Double, queries: Double, intermediate: Double): Boolean =
    size < limit(input, queries, intermediate)
}
