package io.phantoms.spark.source

import io.phantoms.spark.detect.{Inlining, SlidingWindows}
import io.phantoms.spark.source.stream.HasReaders

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans.logical.{Expand, LocalRelation}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeWatermarkExec

/**
 * What is done with the rows of a scan, over its columns.
 *
 * @param below conditions below the watermark, if there is one
 * @param watermark what it is made of
 * @param above conditions above it
 * @param windows into which rows are copied, if they are
 * @param columns what is computed
 */
private[source] final case class Steps(
    scan: MicroBatchScanExec,
    below: Seq[Expression],
    watermark: Option[Expression],
    above: Seq[Expression],
    windows: Option[CopiedRows],
    columns: AttributeMap[Expression]
) extends PredicateHelper {
  import StreamedGrouping.{each, Refusal}

  /** An expression over what is computed, over the columns of the scan and, where there are any, of windows. */
  def over(e: Expression): Expression = Inlining.substitute(Inlining.withoutAlias(e), columns)

  private def filtered(condition: Expression): Either[Refusal, Steps] = {
    val all = splitConjunctivePredicates(condition).map(over)
    val (ofWindows, ofRows) = all.partition(c => windows.exists(w => c.references.contains(w.attribute)))
    each(ofWindows)(c => windows.get.known(c)).map { known =>
      val copied = windows.map(w => w.copy(conditions = w.conditions ++ known))
      if (watermark.isEmpty) copy(below = below ++ ofRows, windows = copied)
      else copy(above = above ++ ofRows, windows = copied)
    }
  }
}

/**
 * Rows of which there is a copy for each window that they may be in.
 *
 * @param time the column of the scan that the windows are of
 * @param values by copy: its window
 * @param conditions of which copies stay: what they ask is the same within a slice
 */
private[source] final case class CopiedRows(
    windows: SlidingWindows.Windows,
    time: Attribute,
    values: Seq[Expression],
    conditions: Seq[Expression]
) {
  import StreamedGrouping.Refusal

  def attribute: Attribute = windows.attribute

  def known(condition: Expression): Either[Refusal, Expression] = {
    val alone = condition.references.forall(_.exprId == attribute.exprId)
    val atTime = windows.copy(time = time)
    Either.cond(
      alone || SlidingWindows.isMembership(atTime, AttributeMap.empty, condition),
      condition,
      s"the condition ${condition.sql} is of windows and something else"
    )
  }

  /** Slices copied into their windows, as rows would be. */
  def of(slices: SparkPlan): SparkPlan = {
    val copies = ExpandExec(values.map(_ +: slices.output), attribute +: slices.output, slices)
    conditions.reduceOption(And(_, _)).fold[SparkPlan](copies)(FilterExec(_, copies))
  }
}

private[source] object Steps {
  import StreamedGrouping.{told, Refusal}

  /** The steps of a plan that is nothing but projections, filters, a watermark and windows over the scan of a stream of ours. */
  def below(plan: SparkPlan): Either[Refusal, Steps] = plan match {
    case s: MicroBatchScanExec if s.stream.isInstanceOf[HasReaders] =>
      Right(Steps(s, Nil, None, Nil, None, AttributeMap.empty))
    case p: ProjectExec =>
      for {
        steps <- below(p.child)
        _ <- told(p.projectList.forall(isSafe), "a column that is computed is not the same each time")
      } yield steps.copy(columns = AttributeMap(p.projectList.map(e => e.toAttribute -> steps.over(e))))
    case f: FilterExec =>
      for {
        steps <- below(f.child)
        _ <- told(isSafe(f.condition), "a condition is not the same each time")
        filtered <- steps.filtered(f.condition)
      } yield filtered
    case w: EventTimeWatermarkExec =>
      for {
        steps <- below(w.child)
        _ <- told(steps.watermark.isEmpty && steps.windows.isEmpty, "there are two watermarks, or one above windows")
      } yield steps.copy(watermark = Some(steps.over(w.eventTime)))
    case x: ExpandExec => below(x.child).flatMap(copied(x, _))
    case other => Left(s"${other.nodeName} stands before it")
  }

  private def copied(x: ExpandExec, steps: Steps): Either[Refusal, Steps] =
    for {
      _ <- told(steps.windows.isEmpty, "rows are copied twice")
      windows <- SlidingWindows.windows(Expand(x.projections, x.output, LocalRelation(x.child.output)))
        .toRight("rows are copied, but not for windows")
      time <- steps.over(windows.time) match {
        case a: Attribute => Right(a)
        case other => Left(s"windows are of ${other.sql}")
      }
    } yield {
      val at = x.output.indexWhere(_.exprId == windows.attribute.exprId)
      val rows = x.output.zip(x.projections.head).filterNot(_._1.exprId == windows.attribute.exprId)
      steps.copy(
        windows = Some(CopiedRows(windows, time, x.projections.map(p => steps.over(p(at))), Nil)),
        columns = AttributeMap(rows.map { case (a, e) => a -> steps.over(e) })
      )
    }

  private def isSafe(e: Expression): Boolean = e.deterministic && !e.exists(_.isInstanceOf[PlanExpression[_]])
}
