package io.phantoms.spark.detect

import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.functions.FilterOrder

import org.apache.spark.sql.catalyst.expressions.{
  And,
  Attribute,
  AttributeMap,
  Expression,
  NamedExpression,
  SessionWindow => SessionWindowExpression
}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction}
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}

/** Brings an Aggregate, or an Aggregate over the Expand of grouping sets, into [[WorkloadQuery]]s. */
object AggregateNormalizer {

  /** An Aggregate taken apart as Spark's planner does it: functions deduplicated, results over slots. */
  final case class Parts(
      keys: Seq[NamedExpression],
      functions: Seq[AggregateExpression],
      results: Seq[NamedExpression],
      child: LogicalPlan
  )

  def branches(aggregate: Aggregate): Either[DeclineReason, Seq[WorkloadQuery]] =
    for {
      parts <- parts(aggregate)
      found <- GroupingSets.under(aggregate.child) match {
        case Some(chain) => GroupingSets.branches(parts, chain)
        case None => SlidingWindows.under(aggregate.child) match {
            case Some(chain) => SlidingWindows.query(parts, chain).map(Seq(_))
            case None => Right(Seq(plain(parts, aggregate.groupingExpressions.isEmpty)))
          }
      }
    } yield found

  private def parts(aggregate: Aggregate): Either[DeclineReason, Parts] = aggregate match {
    case PhysicalAggregation(keys, functions, results, child) =>
      if (keys.exists(isSessionWindow)) Left(SessionWindow)
      else functions.map(f => Eligibility.call(f, OrderFree(f.resultAttribute, results))).collectFirst {
        case Left(reason) => reason
      } match {
        case Some(reason) => Left(reason)
        case None => Right(Parts(keys, functions, results, child))
      }
    case _ => Left(UnsupportedShape("an aggregate that Spark's planner does not take apart"))
  }

  private def plain(parts: Parts, global: Boolean): WorkloadQuery =
    branch(
      parts,
      parts.child,
      identity,
      rowOnEmptyInput = global,
      fromGroupingSets = false,
      conditions = Nil,
      everyRow = Nil
    ).inlineRenames

  /**
   * One groupBy of an Aggregate; renames on top of its source are still to be read through.
   *
   * @param onSource rewrites an expression over the Aggregate's child to one over `source`
   * @param conditions over `source`: rows that are aggregated; they mention grouping keys only, so hold for whole groups
   * @param everyRow see [[WorkloadQuery.everyRow]]
   */
  private[detect] def branch(
      parts: Parts,
      source: LogicalPlan,
      onSource: Expression => Expression,
      rowOnEmptyInput: Boolean,
      fromGroupingSets: Boolean,
      conditions: Seq[Expression],
      everyRow: Seq[Attribute]
  ): WorkloadQuery = {
    val keys = parts.keys.map(k => KeySlot(k.toAttribute, onSource(Inlining.withoutAlias(k))))
    // A key that is one value for all rows groups nothing: NULL where the set leaves it out, or the set's grouping id.
    val (constant, grouping) = keys.partition(_.expression.foldable)
    val constants = AttributeMap(constant.map(k => k.attribute -> k.expression))
    val compiled = FilterOrder.isCompiled(
      parts.functions.map(_.aggregateFunction),
      parts.keys.map(Inlining.withoutAlias),
      parts.functions.flatMap(_.filter)
    )
    WorkloadQuery(
      source = source,
      keys = grouping,
      functions = parts.functions.map { call =>
        val over = call.aggregateFunction.transformUp { case a: Attribute => onSource(a) }
        FunctionSlot(
          call.resultAttribute,
          over.asInstanceOf[AggregateFunction],
          call.filter.map(onSource).map(f => if (compiled) FilterOrder.asExpression(f) else f)
        )
      },
      results = parts.results.map(r => Inlining.substitute(Inlining.withoutAlias(r), constants)),
      having = conditions.map(onKeys(grouping, _)).reduceOption(And(_, _)),
      rowOnEmptyInput = rowOnEmptyInput,
      fromGroupingSets = fromGroupingSets,
      rows = conditions.reduceOption(And(_, _)),
      everyRow = everyRow
    )
  }

  /** A condition over the source said in terms of the key slots. */
  private[detect] def onKeys(keys: Seq[KeySlot], condition: Expression): Expression =
    keys.find(_.expression.semanticEquals(condition)) match {
      case Some(key) => key.attribute
      case None => condition.mapChildren(onKeys(keys, _))
    }

  private def isSessionWindow(key: NamedExpression): Boolean = key.metadata.contains(SessionWindowExpression.marker)
}
