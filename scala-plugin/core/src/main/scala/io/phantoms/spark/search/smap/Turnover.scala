package io.phantoms.spark.search.smap

/** How often relations are evicted because the epochs of queries end, where these differ in length. */
trait Turnover {

  /** Epoch lengths of the queries that a node of the feeding graph answers; empty for a phantom. */
  def lengths: Int => Seq[Long]

  /** Evictions of a table per tuple (n_R / n_c) where queries of these epoch lengths are fed from it. */
  def evictionsPerTuple(below: Set[Long]): Double
}
