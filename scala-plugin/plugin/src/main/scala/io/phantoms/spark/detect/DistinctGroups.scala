package io.phantoms.spark.detect

import io.phantoms.spark.detect.DeclineReason.UnsupportedShape
import io.phantoms.spark.functions.ObjectAggregate

import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  And,
  Attribute,
  AttributeReference,
  BitwiseAnd,
  BitwiseOr,
  Coalesce,
  EqualTo,
  Expression,
  If,
  Literal,
  NamedExpression,
  Not
}
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateExpression,
  AggregateFunction,
  BitOrAgg,
  First
}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.types.{IntegerType, LongType}

/**
 * Before:
 * {{{
 *   Aggregate [k], [k, count(DISTINCT x), sum(DISTINCT y) FILTER (WHERE p), avg(z)]
 *   +- child
 * }}}
 * After, with the groupBys of the union as one workload:
 * {{{
 *   Aggregate [k], [k, count(x) FILTER (WHERE gid = 1), sum(y) FILTER (WHERE gid = 2 AND holds & 1 <> 0),
 *                   first(total) FILTER (WHERE gid = 0)]
 *   +- Union
 *      :- Aggregate [k], [k, NULL x, NULL y, 0 gid, NULL holds, avg(z) total]
 *      :  +- child
 *      :- Aggregate [k, x], [k, x, NULL y, 1 gid, NULL holds, NULL total]
 *      :  +- child
 *      +- Aggregate [k, y], [k, NULL x, y, 2 gid, bit_or(if (p) 1 else 0) holds, NULL total]
 *         +- child
 * }}}
 *
 * As Spark's `RewriteDistinctAggregates` does it by an Expand of the input. What is not DISTINCT has one row in a group, so
 * it is the first. Grouping sets and windows below are read through as those of any Aggregate.
 *
 * @param ordinary the functions that are not DISTINCT
 */
private[detect] final class DistinctGroups(
    aggregate: Aggregate,
    distinct: Seq[Distincts.Values],
    ordinary: Seq[AggregateExpression]
) {
  import DistinctGroups._

  private val keys: Seq[(Expression, Attribute)] = aggregate.groupingExpressions.map {
    case n: NamedExpression => Inlining.withoutAlias(n) -> n.toAttribute
    case e => e -> AttributeReference("key", e.dataType, e.nullable)()
  }
  private val gid = AttributeReference("gid", IntegerType, nullable = false)()
  private val values = distinct.flatMap(_.values).distinctBy(_.canonicalized)
    .map(e => e -> AttributeReference("value", e.dataType)())
  private val valueOf = values.map { case (e, a) => e.canonicalized -> a }.toMap
  private val holds = Seq.fill(distinct.map(words(_).size).max)(AttributeReference("holds", LongType)())
  private val totals = ordinary.distinctBy(_.canonicalized).map(c => c -> AttributeReference("total", c.dataType)())

  /** Whether plain Spark copies each row for each of the groupBys: one grouping without conditions it does in passing. */
  private val isExpanded = distinct.map(_.groupings).sum > 1 || distinct.exists(_.calls.exists { c =>
    c.call.filter.isDefined || (keys.isEmpty && c.call.aggregateFunction.children.forall(_.foldable))
  })

  def demand: Either[DeclineReason, Demand] = {
    val ofTotals = Option.when(totals.nonEmpty)(
      (grouping(0, Nil, Nil, totals.map(_._1)), if (isExpanded) 1 else 0)
    )
    val ofValues = distinct.zipWithIndex.map { case (d, i) => (grouping(i + 1, d.values, words(d), Nil), d.groupings) }
    val found = (ofTotals ++ ofValues).toSeq.map { case (inner, times) =>
      AggregateNormalizer.branches(inner).map(_.map(_.copy(plainTimes = times)))
    }
    found.collectFirst { case Left(reason) => reason }.toLeft(found.flatMap(_.toOption).flatten).flatMap { queries =>
      val same = outer(aggregate.child).output.zip(aggregate.output).forall { case (made, wanted) =>
        made.exprId == wanted.exprId && made.dataType == wanted.dataType && (wanted.nullable || !made.nullable)
      }
      // Where Spark does not copy rows, there is a state of no row, and the user's program makes a result of that.
      def isOfNoRow = keys.isEmpty && !isExpanded && ordinary.exists(c => ObjectAggregate.isUsers(c.aggregateFunction))
      if (same && !isOfNoRow)
        Right(Demand(queries.take(1) ++ queries.drop(1).map(_.copy(reads = false)), output, outer))
      else Left(UnsupportedShape("a result that may be NULL only over DISTINCT values computed first"))
    }
  }

  private def output: Seq[Attribute] =
    keys.map(_._2) ++ values.map(_._2) ++ Seq(gid) ++ holds ++ totals.map(_._2)

  /** A groupBy, all of whose columns are there in all of them. */
  private def grouping(
      id: Int,
      own: Seq[Expression],
      conditions: Seq[AggregateExpression],
      functions: Seq[AggregateExpression]
  ): Aggregate = {
    val by = (keys.map(_._1) ++ own).distinctBy(_.canonicalized)
    val isOwn = own.map(_.canonicalized).toSet
    def orNull(column: Attribute, e: Option[Expression]): Expression =
      e.getOrElse(Literal.create(null, column.dataType))
    val columns = keys.map(_._1) ++
      values.map { case (e, a) => orNull(a, Some(e).filter(v => isOwn(v.canonicalized))) } ++
      Seq(Literal(id)) ++
      holds.zipWithIndex.map { case (a, i) => orNull(a, conditions.lift(i)) } ++
      totals.zipWithIndex.map { case ((_, a), i) => orNull(a, functions.lift(i)) }
    // By a constant it has no row of an empty input, as a global one would.
    Aggregate(
      if (by.isEmpty) Seq(Literal(id)) else by,
      columns.zip(output).map { case (e, a) => Alias(e, a.name)() },
      aggregate.child
    )
  }

  private def outer(groups: LogicalPlan): LogicalPlan = aggregate.copy(
    groupingExpressions = keys.map(_._2),
    aggregateExpressions = aggregate.aggregateExpressions.map(over(_).asInstanceOf[NamedExpression]),
    child = groups
  )

  private def over(e: Expression): Expression = e match {
    case call: AggregateExpression => if (call.isDistinct) ofValues(call) else ofTotals(call)
    case alias: Alias => alias.mapChildren(over)
    case other => keys.collectFirst { case (key, a) if !key.foldable && key.semanticEquals(other) => a }
        .getOrElse(other.mapChildren(over))
  }

  private def ofTotals(call: AggregateExpression): Expression = {
    val total = totals.collectFirst { case (c, a) if c.canonicalized == call.canonicalized => a }.get
    val one = First(total, ignoreNulls = true).toAggregateExpression(isDistinct = false, Some(isOf(0)))
    call.aggregateFunction.defaultResult.fold[Expression](one)(default => Coalesce(Seq(one, default)))
  }

  private def ofValues(call: AggregateExpression): Expression = {
    val (group, i) = distinct.zipWithIndex.find(_._1.calls.exists(_.call.canonicalized == call.canonicalized)).get
    val plain = group.calls.find(_.call.canonicalized == call.canonicalized).get.plain
    val function = plain.aggregateFunction
    val over = function.withNewChildren(function.children.map(c =>
      if (c.foldable) c else valueOf(c.canonicalized)
    ))
    val counts = plain.filter.map { f =>
      val bit = group.conditions.indexWhere(_.canonicalized == f.canonicalized)
      val mask = Literal(1L << (bit % BitsOfWord))
      Not(EqualTo(BitwiseAnd(holds(bit / BitsOfWord), mask), Literal(0L)))
    }
    val filter = (isOf(i + 1) +: counts.toSeq).reduce[Expression](And(_, _))
    over.asInstanceOf[AggregateFunction].toAggregateExpression(isDistinct = false, Some(filter))
  }

  private def isOf(id: Int): Expression = EqualTo(gid, Literal(id))
}

private object DistinctGroups {
  private val BitsOfWord = 64

  /** Which conditions hold for any row with a value, a bit each. */
  private def words(d: Distincts.Values): Seq[AggregateExpression] =
    d.conditions.grouped(BitsOfWord).toSeq.map { conditions =>
      val bits = conditions.zipWithIndex.map { case (c, i) => If(c, Literal(1L << i), Literal(0L)) }
      BitOrAgg(bits.reduce[Expression](BitwiseOr(_, _))).toAggregateExpression()
    }
}
