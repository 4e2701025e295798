package io.phantoms.spark.stats.input

/** Where a number comes from, best first. */
sealed abstract class StatisticSource(val name: String) extends Product with Serializable

object StatisticSource {

  /** The user said so. */
  case object Supplied extends StatisticSource("supplied")

  /** Counted by earlier executions over the same input in the same state. */
  case object Observed extends StatisticSource("observed")

  /** ANALYZE TABLE, or the source's own metadata (file footers, a materialized cache). */
  case object Catalog extends StatisticSource("catalog")

  /** Counted by earlier executions over another state of the input, and scaled by the number of rows. */
  case object Scaled extends StatisticSource("scaled")

  /** Estimated from a bounded sample of the input. */
  case object Sample extends StatisticSource("sample")

  /** The most that minimum and maximum of columns allow, by file footers. */
  case object FooterBound extends StatisticSource("footer bound")

  /** The most that the plan below allows: groups of aggregates, limits, rows of joined tables, selective joins. */
  case object PlanBound extends StatisticSource("plan bound")

  /** Nothing is known; a rule of thumb. */
  case object Default extends StatisticSource("default")
}

/** A number and where it comes from. */
final case class Estimate(value: Double, source: StatisticSource) {
  def map(f: Double => Double): Estimate = copy(value = f(value))
}
