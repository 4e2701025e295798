package io.phantoms.spark.detect

import io.phantoms.spark.functions.ExpressionCost

import org.apache.spark.sql.catalyst.expressions.{
  AttributeReference,
  EqualNullSafe,
  Expression,
  If,
  Literal,
  Or
}
import org.apache.spark.sql.catalyst.optimizer.BooleanSimplification
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.types.BooleanType

/**
 * GroupBys over one input under different filters. Each reads rows that any of them wants, and whether a row satisfies
 * its own filter is one more key: its groups are those where that is true. So what two filters let through of a group is
 * kept apart by a relation with both keys, the fragments of On-the-fly sharing (section 4), where that pays.
 *
 * A filter guards what stands above it: expressions that may fail are evaluated behind it here, too.
 */
private[detect] object Predicates {

  /** An input less the filter on top of it. */
  final case class Filtered(input: LogicalPlan, condition: Option[Expression])

  /** None where the filter may fail: others may not be asked of rows that it is not asked of in plain Spark. */
  def filtered(source: LogicalPlan): Option[Filtered] = source match {
    case Filter(condition, child) =>
      if (ExpressionCost.canFail(condition) || !condition.deterministic) None
      else filtered(child).map(f => f.copy(condition = WorkloadBuilder.both(f.condition, Some(condition))))
    case other => Some(Filtered(other, None))
  }

  /** The rows that any of these filters lets through. */
  def hull(input: LogicalPlan, conditions: Seq[Option[Expression]]): LogicalPlan =
    if (conditions.exists(_.isEmpty)) input
    else {
      val different = conditions.flatten.distinctBy(_.canonicalized)
      // Two by two: a chain of hundreds would be as deep.
      def or(es: Seq[Expression]): Expression = if (es.size == 1) es.head
      else {
        val (a, b) = es.splitAt(es.size / 2)
        Or(or(a), or(b))
      }
      // As Spark writes it in the end: it simplifies once more, and takes a second look at that for an error of its own.
      val written: LogicalPlan = Filter(or(different), input)
      Iterator.iterate(written)(BooleanSimplification(_)).take(MostSimplified)
        .sliding(2).collectFirst { case Seq(a, b) if a.fastEquals(b) => a }.getOrElse(written)
    }

  private val MostSimplified = 20

  /** A groupBy of the rows that satisfy a condition, as one of rows of which some do not. */
  def under(query: WorkloadQuery, condition: Expression): WorkloadQuery =
    if (query.rowOnEmptyInput)
      // Its row is there even if no row satisfies the condition, so what it counts is left out row by row.
      query.copy(functions = query.functions.map(_.under(condition)))
    else {
      val holds = AttributeReference("holds", BooleanType, nullable = false)()
      def guarded(e: Expression): Expression =
        if (ExpressionCost.canFail(e)) If(condition, e, Literal(null, e.dataType)) else e
      query.guardedBy(condition).copy(
        keys = query.keys.map(k => k.copy(expression = guarded(k.expression))) :+
          KeySlot(holds, EqualNullSafe(condition, Literal.TrueLiteral)),
        having = WorkloadBuilder.both(Some(holds), query.having),
        predicate = Some(holds)
      )
    }
}
