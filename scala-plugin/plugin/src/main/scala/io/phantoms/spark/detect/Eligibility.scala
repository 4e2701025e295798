package io.phantoms.spark.detect

import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.functions.{ExpressionCost, SharedFunction}

import org.apache.spark.sql.catalyst.expressions.{Expression, PlanExpression, PythonFuncExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, CollectMetrics, LogicalPlan, WithCTE}
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.types._

/** What may be shared: functions, key types, expressions and inputs. */
object Eligibility {

  /** The first reason not to share, if any. */
  private def first(reasons: Option[DeclineReason]*): Option[DeclineReason] = reasons.flatten.headOption

  /**
   * An aggregate call as it stands in the plan.
   *
   * @param orderFree whether its result is used only in ways that do not depend on the order of elements
   */
  def call(call: AggregateExpression, orderFree: => Boolean = false): Either[DeclineReason, Unit] = {
    val function = call.aggregateFunction
    val ordered = SharedFunction.isOrderDependent(function) || (SharedFunction.isUnordered(function) && !orderFree)
    val known = SharedFunction.of(function)
    val reason = first(
      Option.when(ordered)(OrderDependent(name(function))),
      pythonUdf(function),
      Option.when(known.isEmpty || call.mode != Complete)(UnsupportedFunction(name(function))),
      Option.when(call.isDistinct)(DistinctAggregate(s"in ${name(function)}")),
      expression(function, s"the input of ${name(function)}"),
      call.filter.flatMap(expression(_, s"the filter of ${name(function)}")),
      known.flatMap(_.refused(function)).map(e => UnsupportedInputType(name(function), e.dataType.sql)),
      known.flatMap(_.unsuited(function)).map(UnsupportedShape(_)),
      known.flatMap(_.sometimesEvaluated(function)).filter(ExpressionCost.canFail).map(e =>
        UnsupportedShape(s"${name(function)} evaluates ${e.sql}, which may fail, for some rows only")
      )
    )
    reason.toLeft(())
  }

  /** Something evaluated on an input row or on a result row. */
  def expression(e: Expression, what: String): Option[DeclineReason] = first(
    pythonUdf(e),
    Option.when(e.exists(_.isInstanceOf[PlanExpression[_]]))(Subquery),
    Option.when(!e.deterministic)(Nondeterministic(what))
  )

  def key(e: Expression): Option[DeclineReason] = first(
    expression(e, s"the grouping key ${e.sql}"),
    Option.when(!isGroupable(e.dataType))(UnsupportedKeyType(e.sql, e.dataType.sql))
  )

  /** The shared input. */
  def source(plan: LogicalPlan): Option[DeclineReason] = first(
    Option.when(plan.isStreaming)(Streaming),
    Option.when(plan.exists(_.isInstanceOf[CollectMetrics]))(Observed),
    plan.collectFirst { case w: WithCTE => w }.map(_ => Nondeterministic("a common table expression of the input")),
    plan.collectFirst { case r: CTERelationRef => r }
      .map(_ => Nondeterministic("a common table expression of the input")),
    Option.when(!plan.deterministic)(Nondeterministic("the input"))
  )

  private def name(function: AggregateFunction): String = function.prettyName

  /** Types whose values are equal exactly when their bytes are (floats once normalised). */
  private def isGroupable(t: DataType): Boolean = UnsafeRowUtils.isBinaryStable(t) && hasBytes(t)

  private def hasBytes(t: DataType): Boolean = t match {
    case _: StringType | BinaryType => true
    case StructType(fields) => fields.forall(f => hasBytes(f.dataType))
    case ArrayType(element, _) => hasBytes(element)
    case DateType | TimestampType | TimestampNTZType | BooleanType | _: TimeType => true
    case _: NumericType | _: YearMonthIntervalType | _: DayTimeIntervalType => true
    case _ => false
  }

  private def pythonUdf(e: Expression): Option[DeclineReason] = e.collectFirst {
    case udf: PythonFuncExpression => PythonUdf(udf.name)
  }
}
