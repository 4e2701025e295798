package io.phantoms.spark.source

import io.phantoms.spark.conf.PhantomsConf
import io.phantoms.spark.source.stream.HasReaders

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.HashAggregateExec
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec

/**
 * Lets the readers of a stream do the first part of aggregations over it.
 *
 * Before:
 * {{{
 *   HashAggregate [window, srcip], [partial_sum(length)]
 *   +- Project [window, srcip, length]
 *      +- Filter isnotnull(time)
 *         +- EventTimeWatermark time
 *            +- MicroBatchScan lfta
 * }}}
 * After:
 * {{{
 *   HashAggregate [window, srcip], [merge_sum(length)]
 *   +- StreamedGroups [window, srcip, sum]
 *      +- Project ... +- Filter ... +- EventTimeWatermark ... +- MicroBatchScan lfta     (done by the readers)
 * }}}
 *
 * Spark pushes nothing into streams. What comes out is what the operator that is replaced would hand out, so the state
 * of a query is the same with and without: it may be switched on and off between its runs.
 *
 * Position: `preColumnarTransitions`, where plans of micro-batches come by after their state was assigned.
 */
private[spark] object StreamedGroups extends Rule[SparkPlan] with Logging {
  override def apply(plan: SparkPlan): SparkPlan =
    if (!conf.getConf(PhantomsConf.Enabled) || !plan.exists(isOurs)) plan
    else plan.transformDown { case a: HashAggregateExec if a.isStreaming && isFirst(a) => grouped(a) }

  private def isOurs(plan: SparkPlan): Boolean = plan match {
    case s: MicroBatchScanExec => s.stream.isInstanceOf[HasReaders]
    case _ => false
  }

  /** The one that reads rows, before groups are sent to where they are put together. */
  private def isFirst(a: HashAggregateExec): Boolean =
    a.requiredChildDistributionExpressions.isEmpty && a.initialInputBufferOffset == 0

  private def grouped(a: HashAggregateExec): SparkPlan =
    try
      StreamedGrouping.of(a) match {
        case Right(groups) => groups
        case Left(reason) =>
          logDebug(s"The readers of a stream do not aggregate: $reason")
          a
      }
    catch {
      case e: Exception if !conf.getConf(PhantomsConf.Strict) =>
        logWarning("The readers of a stream could not be told what to aggregate, so Spark does (please report this)", e)
        a
    }
}
