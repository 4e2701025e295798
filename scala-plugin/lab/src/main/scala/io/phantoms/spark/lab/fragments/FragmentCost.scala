package io.phantoms.spark.lab.fragments

/**
 * What an operation costs. The paper counts aggregate operations: the defaults.
 *
 * @param accumulate accumulating one row into an aggregate
 * @param merge merging a fragment's aggregate into that of a query
 * @param lookup finding the aggregate of a row's signature, on top of accumulating
 * @param miss passing by an aggregate whose filter a row does not satisfy
 * @param skipsUnwanted whether rows of F_0 are dropped before they are looked up; the paper counts all of |T|
 */
final case class FragmentWeights(
    accumulate: Double = 1,
    merge: Double = 1,
    lookup: Double = 0,
    miss: Double = 0,
    skipsUnwanted: Boolean = false
)

/** How queries with different predicates are aggregated. */
sealed trait FragmentWay

object FragmentWay {

  /** Each row into the aggregate of every query it satisfies, found by their predicates' index. */
  case object Unshared extends FragmentWay

  /** One aggregation with a filter for each query: nothing to look up, but a row meets all n filters. */
  case object Conditional extends FragmentWay

  /** Shared data fragments. */
  case object Shared extends FragmentWay
}

/** The cheapest way, what it costs, and what the unshared way costs. */
final case class FragmentChoice(way: FragmentWay, cost: Double, costUnshared: Double)

/** Costs of aggregating one set of rows for n queries with different predicates (On-the-fly sharing, section 4.3.3). */
final class FragmentCost(weights: FragmentWeights = FragmentWeights()) {

  /** `alpha |T|` (Table 5). */
  def unshared(e: FragmentEstimate): Double = weights.accumulate * e.alpha * e.rows

  /** Partial step of sharing, `|T|` (Table 5): each row once. */
  def partial(e: FragmentEstimate): Double =
    (weights.accumulate + weights.lookup) * (if (weights.skipsUnwanted) e.wanted else e.rows)

  /** Final step of sharing, `k beta` (Table 5): each fragment into the queries of its signature. */
  def finals(e: FragmentEstimate): Double = weights.merge * e.k * e.beta

  def shared(e: FragmentEstimate): Double = partial(e) + finals(e)

  /** Conditional aggregates: a row is accumulated for the queries it satisfies, and passes by all others. */
  def conditional(e: FragmentEstimate): Double = unshared(e) + weights.miss * (e.queries - e.alpha) * e.rows

  /** The number of fragments below which sharing costs less than not; negative where it never does. */
  def threshold(e: FragmentEstimate): Double =
    if (e.beta == 0) Double.PositiveInfinity else (unshared(e) - partial(e)) / (weights.merge * e.beta)

  /** Whether sharing costs less than not sharing. */
  def share(e: FragmentEstimate): Boolean = shared(e) < unshared(e)

  /**
   * The cheapest way; of equals the simplest.
   *
   * @param indexed whether the unshared way is open: an index over the predicates that finds the queries of a row
   */
  def choose(e: FragmentEstimate, indexed: Boolean = false): FragmentChoice = {
    val ways = Seq(FragmentWay.Conditional -> conditional(e), FragmentWay.Shared -> shared(e))
    val open = if (indexed) (FragmentWay.Unshared -> unshared(e)) +: ways else ways
    val (way, cost) = open.minBy(_._2)
    FragmentChoice(way, cost, unshared(e))
  }
}
