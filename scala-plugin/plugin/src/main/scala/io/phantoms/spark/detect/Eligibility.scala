package io.phantoms.spark.detect

import io.phantoms.spark.detect.DeclineReason._

import org.apache.spark.sql.catalyst.expressions.{Expression, PlanExpression, PythonFuncExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, CollectMetrics, LogicalPlan, WithCTE}
import org.apache.spark.sql.catalyst.util.{CollationFactory, UnsafeRowUtils}
import org.apache.spark.sql.types._

/** What may be shared: functions, key types, expressions and inputs. */
object Eligibility {

  /** The first reason not to share, if any. */
  private def first(reasons: Option[DeclineReason]*): Option[DeclineReason] = reasons.flatten.headOption

  /** An aggregate call as it stands in the plan. */
  def call(call: AggregateExpression): Either[DeclineReason, Unit] = {
    val function = call.aggregateFunction
    val reason = first(
      orderDependent(function),
      pythonUdf(function),
      Option.when(!isShared(function) || call.mode != Complete)(UnsupportedFunction(name(function))),
      Option.when(call.isDistinct)(DistinctAggregate(name(function))),
      expression(function, s"the input of ${name(function)}"),
      call.filter.flatMap(expression(_, s"the filter of ${name(function)}")),
      inputType(function)
    )
    reason.toLeft(())
  }

  /** Addition of floats in another order, which `spark.phantoms.exactFloatingPoint` forbids. */
  def addsFloats(function: AggregateFunction): Boolean = function match {
    case s: Sum => isFloating(s.child.dataType)
    case a: Average => isFloating(a.child.dataType)
    case _ => false
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

  private def orderDependent(function: AggregateFunction): Option[DeclineReason] = function match {
    case _: First | _: Last | _: CollectList | _: CollectSet | _: ListAgg | _: MaxMinBy | _: AnyValue =>
      Some(OrderDependent(name(function)))
    case _ => None
  }

  private def isShared(function: AggregateFunction): Boolean = function match {
    case _: Count | _: Sum | _: Average | _: Min | _: Max => true
    case _ => false
  }

  private def inputType(function: AggregateFunction): Option[DeclineReason] = {
    def check(child: Expression)(accepted: DataType => Boolean): Option[DeclineReason] =
      Option.when(!accepted(child.dataType))(UnsupportedInputType(name(function), child.dataType.sql))
    function match {
      case s: Sum => check(s.child)(isSummable)
      case a: Average => check(a.child)(isSummable)
      case m: Min => check(m.child)(isComparable)
      case m: Max => check(m.child)(isComparable)
      case _ => None
    }
  }

  private def isFloating(t: DataType): Boolean = t == FloatType || t == DoubleType

  private def isSummable(t: DataType): Boolean = t match {
    case _: NumericType | _: YearMonthIntervalType | _: DayTimeIntervalType => true
    case _ => false
  }

  private def isComparable(t: DataType): Boolean = t match {
    case s: StringType => s.collationId == CollationFactory.UTF8_BINARY_COLLATION_ID
    case DateType | TimestampType | TimestampNTZType | BooleanType | _: TimeType => true
    case other => isSummable(other)
  }

  /** Types whose values are equal exactly when their bytes are (floats once normalised). */
  private def isGroupable(t: DataType): Boolean = UnsafeRowUtils.isBinaryStable(t) && hasBytes(t)

  private def hasBytes(t: DataType): Boolean = t match {
    case _: StringType | BinaryType => true
    case StructType(fields) => fields.forall(f => hasBytes(f.dataType))
    case ArrayType(element, _) => hasBytes(element)
    case other => isComparable(other)
  }

  private def pythonUdf(e: Expression): Option[DeclineReason] = e.collectFirst {
    case udf: PythonFuncExpression => PythonUdf(udf.name)
  }
}
