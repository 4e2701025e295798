package io.phantoms.spark.lab.smap

import io.phantoms.spark.search.smap.{MultipleAggregation, SmapConfiguration}

/**
 * Keeps the end-of-epoch cost E_e within the peak load E_p (SMAP sections 3.2.3 and 8.5.2) by changing an allocation.
 * `load` is E_e of an allocation ([[SmapCost.endOfEpoch]]), in the unit of `limit`; an allocation already within the limit
 * is returned as it is.
 */
object PeakLoad {
  private val Steps = 256
  private val Bisections = 40

  /** Shrinks all tables by one factor, the largest that meets the limit. */
  def shrink(space: Array[Double], load: Array[Double] => Double, limit: Double): Array[Double] = {
    require(limit >= 0, s"peak load: $limit")
    val kept = 1 - least(f => load(scaled(space, 1 - f)) <= limit).getOrElse(1.0)
    scaled(space, kept)
  }

  /**
   * Shifts the least part of the queries' tables to the phantoms', in proportion to what they have: the evictions of
   * queries cost c2, those of phantoms c1.
   *
   * @return None if no shift meets the limit, as where there is no phantom
   */
  def shift(
      space: Array[Double],
      isQuery: Int => Boolean,
      load: Array[Double] => Double,
      limit: Double
  ): Option[Array[Double]] = {
    require(limit >= 0, s"peak load: $limit")
    val queries = space.indices.iterator.filter(isQuery).map(space(_)).sum
    val phantoms = space.sum - queries
    def shifted(f: Double): Array[Double] =
      if (f == 0) space
      else space.indices.map(r => space(r) * (if (isQuery(r)) 1 - f else 1 + f * queries / phantoms)).toArray
    if (load(space) <= limit) Some(space)
    else if (phantoms <= 0) None
    else least(f => load(shifted(f)) <= limit).map(shifted)
  }

  /** The cheaper of the two by `cost`. */
  def meet(
      space: Array[Double],
      isQuery: Int => Boolean,
      load: Array[Double] => Double,
      cost: Array[Double] => Double,
      limit: Double
  ): Array[Double] =
    (shrink(space, load, limit) +: shift(space, isQuery, load, limit).toSeq).minBy(cost)

  /** A configuration changed so that the end of an epoch costs at most `limit` (E_p). */
  def within(problem: MultipleAggregation, configuration: SmapConfiguration, limit: Double): SmapConfiguration = {
    val feeding = configuration.feeding
    val (load, cost) = (problem.endOfEpoch(feeding, _), problem.cost(feeding, _: Array[Double]))
    val space = meet(configuration.space, problem.external(feeding), load, cost, limit)
    new SmapConfiguration(feeding, space, cost(space))
  }

  private def scaled(space: Array[Double], factor: Double): Array[Double] =
    if (factor == 1) space else space.map(_ * factor)

  // The load need not fall steadily as tables change: first the coarse step that meets the limit, then halving.
  private def least(met: Double => Boolean): Option[Double] =
    (0 to Steps).find(i => met(i.toDouble / Steps)).map { i =>
      var no = math.max(0, i - 1).toDouble / Steps
      var yes = i.toDouble / Steps
      if (i > 0)
        for (_ <- 1 to Bisections) {
          val middle = (no + yes) / 2
          if (met(middle)) yes = middle else no = middle
        }
      yes
    }
}
