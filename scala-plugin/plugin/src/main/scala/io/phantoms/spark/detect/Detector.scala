package io.phantoms.spark.detect

import io.phantoms.spark.detect.DeclineReason._

import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Union}

/** Finds, in one operator of an optimised logical plan (before source push-down), groupBys that share an input. */
final class Detector(options: DetectionOptions) {

  private val unions = new UnionDetector(options)

  /**
   * @param operator the operator to look at; its parents are not needed
   * @param limitAbove a limit on rows that stands directly above the operator
   * @return None where the operator is nothing to be shared at all
   */
  def detect(operator: LogicalPlan, limitAbove: Option[Int] = None): Option[Either[DeclineReason, Candidate]] =
    operator match {
      case u: Union if u.isStreaming =>
        Option.when(u.children.exists(_.exists(_.isInstanceOf[Aggregate])))(Left(Streaming))
      case u: Union if options.multiAggregate => unions.detect(u, limitAbove)
      case u: Union =>
        Option.when(u.children.count(UnionDetector.aggregateOf(_, limitAbove).isDefined) > 1)(
          Left(Disabled("spark.phantoms.multiAggregate.enabled"))
        )
      case a: Aggregate if GroupingSets.under(a.child).isDefined =>
        Some(
          if (!options.groupingSets) Left(Disabled("spark.phantoms.groupingSets.enabled"))
          else if (a.isStreaming) Left(Streaming)
          else groupingSets(a)
        )
      case a: Aggregate if GroupingSets.isSlidingWindow(a.child) => Some(Left(SlidingWindow))
      case _ => None
    }

  private def groupingSets(aggregate: Aggregate): Either[DeclineReason, Candidate] =
    for {
      branches <- AggregateNormalizer.branches(aggregate)
      // All sets of one Expand have one source; a filter may have emptied every set.
      base <- branches.headOption.map(_.source).toRight(SingleAggregate)
      _ <- SensitiveSources.readDifferently(Seq(aggregate), base, branches).toLeft(())
      workload <- WorkloadBuilder.build(base, branches, aggregate.output, options, oneAggregate = true)
    } yield GroupingSetsCandidate(aggregate, workload)
}
