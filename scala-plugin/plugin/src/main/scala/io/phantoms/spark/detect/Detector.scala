package io.phantoms.spark.detect

import io.phantoms.spark.detect.DeclineReason._

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Union}

/** What an operator has that may be shared; found by its shape alone. */
sealed trait Shape {
  def operator: LogicalPlan
}

object Shape {

  /** @param aggregating ordinals of its branches that aggregate, one at least; the others stay what they are */
  final case class UnionOf(union: Union, aggregating: IndexedSeq[Int]) extends Shape {
    def operator: LogicalPlan = union
  }

  /** One Aggregate by itself. */
  sealed trait OfOne extends Shape {
    def aggregate: Aggregate
    def operator: LogicalPlan = aggregate
  }

  /** DISTINCT functions, whatever the Aggregate is over. */
  final case class DistinctOf(aggregate: Aggregate) extends OfOne
  final case class GroupingSetsOf(aggregate: Aggregate) extends OfOne
  final case class SlidingWindowOf(aggregate: Aggregate) extends OfOne
  final case class ConditionalsOf(aggregate: Aggregate) extends OfOne

  /** @param limitAbove a limit on rows that stands directly above the operator */
  def of(operator: LogicalPlan, limitAbove: Option[Int]): Option[Shape] = operator match {
    case u: Union =>
      val aggregating = u.children.toIndexedSeq.zipWithIndex.collect {
        case (c, i) if UnionDetector.aggregateOf(c, limitAbove).exists(Demand.isPlain) => i
      }
      Option.when(aggregating.nonEmpty)(UnionOf(u, aggregating))
    case a: Aggregate if Distincts.isIn(a) => Some(DistinctOf(a))
    case a: Aggregate if GroupingSets.under(a.child).isDefined => Some(GroupingSetsOf(a))
    case a: Aggregate if SlidingWindows.mayBeUnder(a.child) => Some(SlidingWindowOf(a))
    case a: Aggregate if Masks.mayHelp(a) => Some(ConditionalsOf(a))
    case _ => None
  }
}

/**
 * Finds, in one operator of an optimised logical plan (before source push-down), groupBys that share an input. What it
 * refuses cannot be shared whatever the settings; the settings are for `decide`.
 */
object Detector {

  /**
   * @param operator the operator to look at; its parents are not needed
   * @param limitAbove a limit on rows that stands directly above the operator
   * @param filterAbove a filter that does
   * @return None where the operator is nothing to be shared at all
   */
  def detect(
      operator: LogicalPlan,
      limitAbove: Option[Int] = None,
      filterAbove: Option[Expression] = None
  ): Option[Either[DeclineReason, Candidate]] =
    Shape.of(operator, limitAbove).map(candidate(_, limitAbove, filterAbove))

  /** The same of an operator whose shape is known. */
  def candidate(
      shape: Shape,
      limitAbove: Option[Int],
      filterAbove: Option[Expression]
  ): Either[DeclineReason, Candidate] = shape match {
    case Shape.UnionOf(union, aggregating) => UnionDetector.detect(union, aggregating, limitAbove)
    case Shape.DistinctOf(aggregate) => ofOne(aggregate, filterAbove)
    case Shape.GroupingSetsOf(aggregate) => ofOne(aggregate, filterAbove)
    case Shape.SlidingWindowOf(aggregate) => ofOne(aggregate, filterAbove, Masks.orAsIs)
    case Shape.ConditionalsOf(aggregate) => ofOne(aggregate, filterAbove, Masks.orAsIs)
  }

  private def ofOne(
      aggregate: Aggregate,
      filterAbove: Option[Expression],
      rewrite: WorkloadQuery => WorkloadQuery = identity
  ): Either[DeclineReason, Candidate] =
    for {
      demand <- Demand.of(aggregate, filterAbove)
      branches = demand.queries.map(rewrite)
      // All sets of one Expand have one source; a filter may have emptied every set.
      base <- branches.headOption.map(_.source).toRight(SingleAggregate)
      _ <- SensitiveSources.readDifferently(Seq(aggregate), base, branches).toLeft(())
      _ <-
        Option.when(Distincts.isIn(aggregate) && SensitiveSources.computesAggregates(base))(SourcePushDown).toLeft(())
      workload <- WorkloadBuilder.build(
        base,
        branches,
        IndexedSeq(Consumer(demand.output, branches.indices)),
        oneAggregate = true
      )
    } yield AggregateCandidate(aggregate, workload, demand.finish)
}
