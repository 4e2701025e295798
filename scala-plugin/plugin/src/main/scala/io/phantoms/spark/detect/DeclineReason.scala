package io.phantoms.spark.detect

import java.util.Locale

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Why a plan came out untouched: a code, a sentence for the user, and what would make it shareable.
 *
 * @param kind what all reasons of its code have in common
 * @param message what was met
 */
sealed abstract class DeclineReason(val kind: DeclineCode, val message: String) extends Product with Serializable {
  def code: String = kind.name

  /** What the user can do, or that nothing can be done. */
  def advice: String = kind.advice
}

object DeclineReason {
  final case class Disabled(conf: String) extends DeclineReason(DeclineCode.Disabled, s"$conf is false") {
    override def advice: String = s"set $conf to true"
  }
  final case object Streaming extends DeclineReason(DeclineCode.Streaming, "streaming plans are not shared yet")
  final case class Nondeterministic(what: String)
      extends DeclineReason(
        DeclineCode.Nondeterministic,
        s"$what is not deterministic: evaluating it once would change rows"
      )
  final case class UnsupportedFunction(name: String)
      extends DeclineReason(DeclineCode.UnsupportedFunction, s"the aggregate function $name is not shared yet")
  final case class OrderDependent(name: String)
      extends DeclineReason(DeclineCode.OrderDependent, s"the result of $name depends on the order of rows")
  final case class DistinctAggregate(where: String)
      extends DeclineReason(DeclineCode.DistinctAggregate, s"DISTINCT $where is not shared")
  final case class UnsupportedKeyType(key: String, dataType: String)
      extends DeclineReason(
        DeclineCode.UnsupportedKeyType,
        s"the grouping key $key of type $dataType cannot be hash-grouped by bytes"
      )
  final case class UnsupportedInputType(what: String, dataType: String)
      extends DeclineReason(DeclineCode.UnsupportedInputType, s"$what over $dataType is not shared yet")
  final case object SessionWindow extends DeclineReason(DeclineCode.SessionWindow, "session windows are not shared")
  final case class SlidingWindow(what: String)
      extends DeclineReason(DeclineCode.SlidingWindow, s"a sliding window that $what is not shared")
  final case object Observed
      extends DeclineReason(
        DeclineCode.Observed,
        "observe() below the aggregates must count each row once per aggregate"
      )
  final case class ProjectionSensitiveSource(format: String)
      extends DeclineReason(
        DeclineCode.ProjectionSensitiveSource,
        s"reading more or fewer columns of $format can change its rows"
      )
  final case class PythonUdf(name: String)
      extends DeclineReason(DeclineCode.PythonUdf, s"the Python UDF $name is an input of the aggregates")
  final case object Subquery
      extends DeclineReason(DeclineCode.Subquery, "a subquery is part of a key, a filter or an aggregate's input")
  final case object DifferentInputs
      extends DeclineReason(DeclineCode.DifferentInputs, "the aggregates do not read the same input")
  final case object InputReadTwice
      extends DeclineReason(
        DeclineCode.InputReadTwice,
        "several operators would get results of one shuffle, which Spark is not sure to run once: spark.sql.exchange.reuse is " +
          "false, or the input is a join or groupBy of a cached table under adaptive execution, or a connector that is not " +
          "Spark's own"
      )
  final case class UnsupportedShape(what: String) extends DeclineReason(DeclineCode.UnsupportedShape, what)
  final case object SingleAggregate
      extends DeclineReason(
        DeclineCode.SingleAggregate,
        "only one groupBy reads this input: there is nothing to share"
      )
  final case class TooManyQueries(found: Int, limit: Int)
      extends DeclineReason(DeclineCode.TooManyQueries, s"$found groupBys, spark.phantoms.maxQueries is $limit") {
    override def advice: String = s"raise spark.phantoms.maxQueries to $found or more"
  }
  final case object ExactFloatingPoint
      extends DeclineReason(
        DeclineCode.ExactFloatingPoint,
        "spark.phantoms.exactFloatingPoint is true and floats (deviations and the like are sums of them) would be added in another order"
      )
  final case object SourcePushDown
      extends DeclineReason(DeclineCode.SourcePushDown, "the source can compute the aggregates itself")
  final case class NoBenefit(cost: Double, costWithout: Double)
      extends DeclineReason(
        DeclineCode.NoBenefit,
        "sharing is expected to take %.1f ms, plain Spark %.1f ms".formatLocal(
          Locale.ROOT,
          cost / 1e6,
          costWithout / 1e6
        )
      )
  final case class WrongSpark(built: String, running: String)
      extends DeclineReason(
        DeclineCode.WrongSpark,
        s"this jar was built for Spark $built, the session runs $running"
      ) {
    override def advice: String = s"use the jar that is built for Spark $running"
  }
  final case class InternalError(error: String)
      extends DeclineReason(DeclineCode.InternalError, s"a bug of spark-phantoms, please report it: $error")
}

/** Operators of a plan that are left alone, and why. */
final case class LeftAlone(reason: DeclineReason, operators: Seq[LogicalPlan])
