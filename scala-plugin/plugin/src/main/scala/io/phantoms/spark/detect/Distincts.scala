package io.phantoms.spark.detect

import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.functions.{ExpressionCost, SharedFunction}

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction, Average, Count, Sum}
import org.apache.spark.sql.catalyst.plans.logical.Aggregate

/**
 * Aggregates with DISTINCT functions, as Aggregates over groupBys without: each value of a group once, and what is not
 * DISTINCT beside it. [[DistinctGroups]] writes them.
 */
object Distincts {

  def isIn(aggregate: Aggregate): Boolean = calls(aggregate).exists(_.isDistinct)

  /** Whether floats are added up of distinct values, in another order than plain Spark's. */
  def addsFloats(aggregate: Aggregate): Boolean = calls(aggregate).exists { c =>
    c.isDistinct && SharedFunction.of(c.aggregateFunction).exists(_.addsFloats(c.aggregateFunction))
  }

  private[detect] def of(aggregate: Aggregate): Either[DeclineReason, Demand] = {
    val (distinct, ordinary) = calls(aggregate).partition(_.isDistinct)
    val reason = (distinct ++ ordinary).iterator.flatMap(refused).nextOption()
    reason.toLeft(new DistinctGroups(aggregate, Values.of(distinct), ordinary)).flatMap(_.demand)
  }

  private def calls(aggregate: Aggregate): Seq[AggregateExpression] =
    aggregate.aggregateExpressions.flatMap(_.collect { case c: AggregateExpression => c })

  private def refused(call: AggregateExpression): Option[DeclineReason] = {
    val name = call.aggregateFunction.prettyName
    // Plain Spark computes for every row what some functions read behind a FILTER clause: then it fails, or not.
    val fails = call.filter.exists { f =>
      ExpressionCost.canFail(f) || (!call.isDistinct && ExpressionCost.canFailOnInput(call.aggregateFunction))
    }
    Eligibility.call(call.copy(isDistinct = false)).left.toOption
      .orElse(Option.when(fails)(DistinctAggregate(s"beside a FILTER clause of $name that may fail")))
  }

  /**
   * A DISTINCT function.
   *
   * @param call as it stands in the plan
   * @param plain the same over the values of its group, under the condition that they have to satisfy, as `filter`
   */
  private[detect] final case class Call(call: AggregateExpression, plain: AggregateExpression)

  /**
   * DISTINCT functions of the same values.
   *
   * @param values what they read, once
   * @param conditions different ones, under which some of them take a value
   * @param groupings different values of plain Spark, which groups by each on its own
   */
  private[detect] final case class Values(
      values: Seq[Expression],
      calls: Seq[Call],
      conditions: Seq[Expression],
      groupings: Int
  )

  private[detect] object Values {

    def of(distinct: Seq[AggregateExpression]): Seq[Values] = {
      val groups = grouped(distinct.map(c => Call(c, conditioned(c))))
      // Values of which some do not count are more groups: that has to save another grouping.
      val own = groups.filter(_.groupings == 1).flatMap(_.calls.map(_.call.canonicalized)).toSet
      grouped(groups.flatMap(_.calls).map(c => if (own(c.call.canonicalized)) c.copy(plain = c.call) else c))
    }

    private def grouped(calls: Seq[Call]): Seq[Values] = {
      val keyed = calls.map(c => identity(c.plain) -> c)
      keyed.map(_._1).distinct.map { key =>
        val own = keyed.collect { case (`key`, c) => c }
        Values(
          valuesOf(own.head.plain),
          own,
          own.flatMap(_.plain.filter).distinctBy(_.canonicalized),
          own.map(c => identity(c.call)).distinct.size
        )
      }
    }

    private def identity(call: AggregateExpression): Set[Expression] = valuesOf(call).map(_.canonicalized).toSet

    /** Of constants only there is one value, where there is a row. */
    private def valuesOf(call: AggregateExpression): Seq[Expression] = {
      val read = call.aggregateFunction.children.filterNot(_.foldable).distinctBy(_.canonicalized)
      if (read.isEmpty) call.aggregateFunction.children.take(1) else read
    }

    /** Over what is NULL unless a condition holds, as over what it is then, under that condition. */
    private def conditioned(call: AggregateExpression): AggregateExpression = call.aggregateFunction match {
      case f @ (Count(Seq(_)) | _: Sum | _: Average) =>
        Masks.conditional(f.children.head) match {
          case Some((condition, value)) if !ExpressionCost.canFail(condition) && !ExpressionCost.canFail(value) =>
            val function = f.withNewChildren(Seq(value)).asInstanceOf[AggregateFunction]
            call.copy(aggregateFunction = function, filter = WorkloadBuilder.both(call.filter, Some(condition)))
          case _ => call
        }
      case _ => call
    }
  }
}
