package io.phantoms.spark.detect

import java.time.ZoneId
import java.util.Locale

import io.phantoms.spark.functions.{ExpressionCost, SliceStart}

import org.apache.spark.sql.catalyst.expressions.{
  Add,
  Alias,
  Attribute,
  AttributeMap,
  AttributeReference,
  Expression,
  IsNotNull,
  KnownNullable,
  Literal,
  NamedExpression,
  PreciseTimestampConversion,
  TruncTimestamp
}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.types.{LongType, TimestampType}

/**
 * Groupings by time of which a row is in one group each, as windows that do not overlap: `window(ts, '1 minute')`, and
 * `date_trunc('HOUR', ts)` where a zone has one offset for all times. Alone each is an ordinary key, and better so; as
 * windows several of them have a slice in common, minutes feed hours and days, and windows that overlap are made up of
 * the same slices.
 */
private[spark] object TumblingWindows {
  import SlidingWindows.Windows

  /**
   * A column that is the begin of a window, or the window.
   *
   * @param value the column over where the window begins
   */
  private final case class Tumbling(windows: Windows, value: (Expression, Attribute) => Expression)

  /**
   * GroupBys of one input with windows instead of columns that a Project on top of it computes of time, over what is below
   * that; none if there is no such column, or if something else reads it.
   */
  def of(input: LogicalPlan, queries: Seq[WorkloadQuery]): Option[(LogicalPlan, Seq[WorkloadQuery])] = input match {
    case p: Project =>
      val found = p.projectList.collect { case a: Alias => tumbling(a, p.child).map(a.toAttribute -> _) }.flatten
      val windows = AttributeMap(found)
      def isRead(q: WorkloadQuery): Boolean =
        (q.functions.flatMap(_.inputs) ++ q.rows ++ q.everyRow).exists(_.references.exists(windows.contains)) ||
          q.keys.exists(k => !k.expression.isInstanceOf[Attribute] && k.expression.references.exists(windows.contains))
      // Everything else that the Project computes is then computed where it is read.
      val others = p.projectList.filterNot(e => windows.contains(e.toAttribute))
      val queried = queries.flatMap(_.keys.map(_.expression)).collect { case a: Attribute => a.exprId }.toSet
      val safe = found.nonEmpty && found.forall(f => queried(f._1.exprId)) && others.forall(isCheap) &&
        !queries.exists(isRead) && queries.forall(_.everyRow.isEmpty)
      Option.when(safe)((p.child, queries.map(under(_, p, windows))))
    case _ => None
  }

  private def isCheap(column: NamedExpression): Boolean = Inlining.isRename(column) ||
    (column.deterministic && !ExpressionCost.canFail(Inlining.withoutAlias(column)))

  private def under(query: WorkloadQuery, project: Project, windows: AttributeMap[Tumbling]): WorkloadQuery = {
    def of(k: KeySlot): Option[Tumbling] = k.expression match {
      case a: Attribute => windows.get(a)
      case _ => None
    }
    val columns = Inlining.columns(project)
    val below = query.copy(keys = query.keys.filter(of(_).isEmpty))
      .onSource(project.child, Inlining.substitute(_, columns))
    query.keys.flatMap(k => of(k).map(k -> _)) match {
      case Seq((key, t)) if query.window.isEmpty =>
        val w = t.windows
        val begin = AttributeReference("window", LongType, nullable = false)()
        val slice = SliceStart(w.micros, w.starts.head, w.ends.filterNot(_ == w.starts.head), 0)
        def over(e: Expression): Expression = t.value(
          e.transform { case a: Attribute if a.exprId == key.attribute.exprId => w.attribute },
          begin
        )
        below.copy(
          keys = below.keys :+ KeySlot(begin, slice),
          results = query.results.map(over),
          having = query.having.map(over),
          window = Some(WindowSlot(begin, w.range, w.slide, w.start))
        )
      case keys =>
        // A window beside another one is an ordinary key.
        below.copy(keys =
          below.keys ++ keys.map { case (k, _) => k.copy(expression = Inlining.substitute(k.expression, columns)) }
        )
    }
  }

  private def tumbling(column: Alias, child: LogicalPlan): Option[Tumbling] = {
    windows(column.toAttribute, column.child).filter(t => !t.windows.time.nullable || child.constraints.contains(IsNotNull(t.windows.time)))
  }

  private def windows(column: Attribute, value: Expression): Option[Tumbling] = value match {
    case t: TruncTimestamp => truncated(column, t)
    case e => SlidingWindows.tumbling(column, e).map(w => Tumbling(w, SlidingWindows.onValue(w, _, _)))
  }

  /** What an expression of a time is constant over: slices of so many microseconds, one of which begins at `start`. */
  final case class Slices(time: Expression, width: Long, start: Long)

  /** The slices of a window, of its begin or end, or of `date_trunc`; None of anything else. */
  def slices(e: Expression): Option[Slices] =
    windows(AttributeReference("window", e.dataType)(), e).map(_.windows).map(w => Slices(w.time, w.slide, w.start))

  /** Widths of what times are truncated to, microseconds. */
  private val Units: Map[String, Long] = {
    val second = 1000000L
    Map("SECOND" -> second, "MINUTE" -> 60 * second, "HOUR" -> 3600 * second) ++
      Seq("DAY", "DD").map(_ -> 86400 * second) ++ Seq("WEEK" -> 7 * 86400 * second)
  }

  private def truncated(column: Attribute, call: TruncTimestamp): Option[Tumbling] = call match {
    case TruncTimestamp(Literal(format, _), time, Some(_))
        if format != null && time.dataType == TimestampType && time.deterministic && isFixed(call.zoneId) =>
      Units.get(format.toString.toUpperCase(Locale.ROOT)).flatMap { width =>
        val micros = PreciseTimestampConversion(time, TimestampType, LongType)
        val truncated = call.copy(timestamp = PreciseTimestampConversion(micros, LongType, TimestampType))
        val begin = PreciseTimestampConversion(truncated, TimestampType, LongType)
        val epoch = begin.transformUp { case m if m == micros => Literal(0L) }
        val start = Math.floorMod(epoch.eval().asInstanceOf[Long], width)
        SlidingWindows.verified(column, time, Seq(begin), Seq(Add(begin, Literal(width))), width, start)
          .map(w => Tumbling(w.copy(ends = w.starts), instant(w, _, _)))
      }
    case _ => None
  }

  /** A zone whose clock was never changed: hours are as long as windows of an hour. */
  private def isFixed(zone: ZoneId): Boolean = zone.getRules.isFixedOffset

  private def instant(w: Windows, e: Expression, begin: Attribute): Expression = e.transform {
    case a: Attribute if a.exprId == w.attribute.exprId =>
      KnownNullable(PreciseTimestampConversion(begin, LongType, TimestampType))
  }
}
