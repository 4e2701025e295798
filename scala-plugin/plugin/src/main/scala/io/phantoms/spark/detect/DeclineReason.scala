package io.phantoms.spark.detect

/**
 * Why a plan came out untouched: a stable code, and a sentence for the user.
 *
 * @param code UPPER_SNAKE, part of the public contract
 * @param message what was met, and what the user could do where something can be done
 */
sealed abstract class DeclineReason(val code: String, val message: String) extends Product with Serializable

object DeclineReason {
  final case class Disabled(conf: String) extends DeclineReason("DISABLED", s"$conf is false")
  final case object Streaming
      extends DeclineReason("STREAMING", "streaming plans are not shared yet")
  final case class Nondeterministic(what: String)
      extends DeclineReason("NONDETERMINISTIC", s"$what is not deterministic: evaluating it once would change rows")
  final case class UnsupportedFunction(name: String)
      extends DeclineReason("UNSUPPORTED_FUNCTION", s"the aggregate function $name is not shared yet")
  final case class OrderDependent(name: String)
      extends DeclineReason("ORDER_DEPENDENT", s"the result of $name depends on the order of rows")
  final case class DistinctAggregate(where: String)
      extends DeclineReason("DISTINCT_AGGREGATE", s"DISTINCT $where is not shared")
  final case class UnsupportedKeyType(key: String, dataType: String)
      extends DeclineReason(
        "UNSUPPORTED_KEY_TYPE",
        s"the grouping key $key of type $dataType cannot be hash-grouped by bytes"
      )
  final case class UnsupportedInputType(what: String, dataType: String)
      extends DeclineReason("UNSUPPORTED_INPUT_TYPE", s"$what over $dataType is not shared yet")
  final case object SessionWindow extends DeclineReason("SESSION_WINDOW", "session windows are not shared")
  final case class SlidingWindow(what: String)
      extends DeclineReason("SLIDING_WINDOW", s"a sliding window that $what is not shared")
  final case object Observed
      extends DeclineReason("OBSERVED", "observe() below the aggregates must count each row once per aggregate")
  final case class ProjectionSensitiveSource(format: String)
      extends DeclineReason(
        "PROJECTION_SENSITIVE_SOURCE",
        s"reading more or fewer columns of $format can change its rows"
      )
  final case class PythonUdf(name: String)
      extends DeclineReason("PYTHON_UDF", s"the Python UDF $name is an input of the aggregates")
  final case object Subquery
      extends DeclineReason("SUBQUERY", "a subquery is part of a key, a filter or an aggregate's input")
  final case object DifferentInputs
      extends DeclineReason("DIFFERENT_INPUTS", "the aggregates do not read the same input")
  final case object InputReadTwice
      extends DeclineReason(
        "INPUT_READ_TWICE",
        "several operators would get results of one shuffle, which Spark is not sure to run once: spark.sql.exchange.reuse is " +
          "false, or the input is a join or groupBy of a cached table under adaptive execution, or a connector that is not " +
          "Spark's own"
      )
  final case class UnsupportedShape(what: String)
      extends DeclineReason("UNSUPPORTED_SHAPE", what)
  final case object SingleAggregate
      extends DeclineReason("SINGLE_AGGREGATE", "only one groupBy reads this input: there is nothing to share")
  final case class TooManyQueries(found: Int, limit: Int)
      extends DeclineReason("TOO_MANY_QUERIES", s"$found groupBys, spark.phantoms.maxQueries is $limit")
  final case object ExactFloatingPoint
      extends DeclineReason(
        "EXACT_FLOATING_POINT",
        "spark.phantoms.exactFloatingPoint is true and floats (deviations and the like are sums of them) would be added in another order"
      )
  final case object SourcePushDown
      extends DeclineReason("SOURCE_PUSH_DOWN", "the source can compute the aggregates itself")
  final case class NoBenefit(cost: Double, costWithout: Double)
      extends DeclineReason(
        "NO_BENEFIT",
        f"sharing is expected to take ${cost / 1e6}%.1f ms, plain Spark ${costWithout / 1e6}%.1f ms; " +
          "give statistics (phantoms.stats) if this is wrong, or lower spark.phantoms.minSavings"
      )
  final case class WrongSpark(built: String, running: String)
      extends DeclineReason("WRONG_SPARK", s"this jar was built for Spark $built, the session runs $running")
  final case class InternalError(error: String)
      extends DeclineReason("INTERNAL_ERROR", s"a bug of spark-phantoms, please report it: $error")
}
