package io.phantoms.spark.source

import io.phantoms.spark.detect.TumblingWindows
import io.phantoms.spark.functions.ExpressionCost
import io.phantoms.spark.source.read._
import io.phantoms.spark.source.stream.{GroupedRead, HasReaders, StreamReaders}

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate.{Partial, PartialMerge}
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.HashAggregateExec
import org.apache.spark.sql.types.{DataType, TimestampType}

/** What the readers of a stream are told of the first part of an aggregation; or why they are not. */
private[source] object StreamedGrouping {
  type Refusal = String

  def of(a: HashAggregateExec): Either[Refusal, SparkPlan] =
    for {
      steps <- Steps.below(a.child)
      readers = steps.scan.stream.asInstanceOf[HasReaders].readers
      _ <- told(readers.aggregate, "the option pushDownAggregate is off")
      _ <- told(
        a.aggregateExpressions.forall(e => e.mode == Partial && !e.isDistinct && e.filter.isEmpty),
        "an aggregate has a FILTER or DISTINCT"
      )
      _ <- told(
        a.resultExpressions.map(_.exprId) == (keysOf(a) ++ buffersOf(a)).map(_.exprId) &&
          a.resultExpressions.forall(_.isInstanceOf[Attribute]),
        "the results are other than groups and buffers"
      )
      columns = new Columns(readers, steps.scan.outputSet)
      below <- columns.conditions(steps.below)
      above <- columns.conditions(steps.above)
      time <- columns.eventTime(steps)
      keys = a.groupingExpressions.map(steps.over)
      by <- columns.groups(keys, steps.windows)
      parts <- each(a.aggregateExpressions)(e => StreamedAggregates.of(e.aggregateFunction, steps.over, columns))
      aggregates = parts.flatMap(_.parts)
      _ <- told(
        by.size <= RecordGroups.MAX_COLUMNS && aggregates.size <= RecordGroups.MAX_AGGREGATES &&
          by.size + aggregates.size > 0,
        "there are too many columns"
      )
    } yield {
      val read = GroupedRead(
        below,
        time,
        None,
        above,
        by.map(_._2).toArray,
        aggregates.map(_._1).toArray,
        a.groupingExpressions.isEmpty,
        columns.read
      )
      val groups = by.map(_._1) ++ aggregates.map(_._2)
      val results = named(a, keys ++ parts.flatMap(_.buffers))
      def done(output: Seq[Attribute], results: Seq[NamedExpression]): SparkPlan =
        StreamedGroupsExec(output, results, groups, readers, read, a, a.child)
      steps.windows match {
        case None if by.isEmpty => done(a.output, results)
        case None => merged(a, done(a.output, results))
        case Some(windows) => merged(a, ProjectExec(results, windows.of(done(groups, groups))))
      }
    }

  private def keysOf(a: HashAggregateExec): Seq[Attribute] = a.groupingExpressions.map(_.toAttribute)

  private def buffersOf(a: HashAggregateExec): Seq[Attribute] =
    a.aggregateExpressions.flatMap(_.aggregateFunction.inputAggBufferAttributes)

  private def named(a: HashAggregateExec, values: Seq[Expression]): Seq[NamedExpression] =
    (keysOf(a) ++ buffersOf(a)).zip(values).map { case (r, value) => Alias(value, r.name)(r.exprId) }

  /** Parts of a group that left the readers' tables are put together before they are shuffled. */
  private def merged(a: HashAggregateExec, parts: SparkPlan): SparkPlan = a.copy(
    groupingExpressions = keysOf(a),
    aggregateExpressions = a.aggregateExpressions.map(_.copy(mode = PartialMerge)),
    initialInputBufferOffset = a.groupingExpressions.size,
    child = parts
  )

  private[source] def told(holds: Boolean, otherwise: => Refusal): Either[Refusal, Unit] =
    Either.cond(holds, (), otherwise)

  private[source] def each[A, B](as: Seq[A])(f: A => Either[Refusal, B]): Either[Refusal, Seq[B]] =
    as.foldLeft[Either[Refusal, Vector[B]]](Right(Vector.empty))((done, a) => done.flatMap(bs => f(a).map(bs :+ _)))
}

/** Columns of a scan as records give them; remembers which were asked for. */
private[source] final class Columns(readers: StreamReaders, scanned: AttributeSet) {
  import StreamedGrouping.{each, told, Refusal}
  private var asked = Set.empty[RecordColumn]

  def read: Set[RecordColumn] = asked

  def column(a: Attribute): Option[(RecordColumn, DataType)] = if (scanned.contains(a)) column(a.name) else None

  private def column(name: String): Option[(RecordColumn, DataType)] = {
    val found = readers.column(name)
    found.foreach(asked += _._1)
    found
  }

  def conditions(all: Seq[Expression]): Either[Refusal, Seq[Condition]] = {
    val known = new Conditions(column(_).map(_._1))
    each(all)(c => known.of(c).toRight(s"the readers do not know the condition ${c.sql}"))
  }

  def eventTime(steps: Steps): Either[Refusal, Option[RecordColumn]] = steps.watermark match {
    case None => Right(None)
    case Some(time: Attribute) if time.dataType == TimestampType =>
      column(time).toRight(s"${time.name} is no column of records").map(c => Some(c._1))
    case Some(other) => Left(s"the watermark is of ${other.sql}")
  }

  /**
   * The columns that keys are made of, as Spark sees them and as records give them.
   *
   * @param copied the windows that keys may be of
   */
  def groups(keys: Seq[Expression], copied: Option[CopiedRows]): Either[Refusal, Seq[(Attribute, GroupColumn)]] = {
    def ofWindows(e: Expression) = copied.exists(w => e.references.contains(w.attribute))
    val (windowed, others) = keys.partition(ofWindows)
    val sliced = others.map(TumblingWindows.slices)
    val plain = others.zip(sliced).collect { case (e, None) => e }
    val slices = sliced.flatten ++ copied.toSeq.flatMap { w =>
      Seq(w.windows.slide, w.windows.range).map(TumblingWindows.Slices(w.time, _, w.windows.start))
    }
    for {
      _ <- told(
        windowed.forall(e => copied.exists(w => e.references.forall(_.exprId == w.attribute.exprId))),
        "windows are grouped by together with something else"
      )
      _ <- each(plain)(e => told(e.isInstanceOf[Attribute] || !ExpressionCost.canFail(e), s"${e.sql} may fail"))
      _ <- each(slices)(s => told(s.time.isInstanceOf[Attribute], s"${s.time.sql} is no column"))
      times = slices.groupBy(_.time.asInstanceOf[Attribute].exprId)
      asIs = AttributeSet(plain.flatMap(_.references))
      _ <- told(
        asIs.forall(a => !isTime(a) || plain.contains(a)),
        "a time is grouped by in another way than windows and date_trunc"
      )
      columns = (asIs.toSeq ++ slices.flatMap(_.time.references)).distinctBy(_.exprId)
      by <- each(columns) { c =>
        val alone = copied.filter(w => w.time.exprId == c.exprId && !sliced.flatten.exists(_.time.semanticEquals(c)))
        if (asIs.contains(c)) of(c, GroupColumn.of(_))
        else of(c, r => alone.fold(common(times(c.exprId), r))(paired(_, r)))
      }
    } yield columns.map(_.withNullability(true)).zip(by)
  }

  private def isTime(a: Attribute): Boolean = a.dataType == TimestampType

  private def of(c: Attribute, by: RecordColumn => GroupColumn): Either[Refusal, GroupColumn] =
    column(c).map(_._1).filter(r => RecordGroups.groupsBy(r.form))
      .toRight(s"the readers do not group by ${c.name}").map(by)

  /** The slices of windows that overlap: two to a slide where a window is no multiple of it. */
  private def paired(copied: CopiedRows, c: RecordColumn): GroupColumn = {
    val w = copied.windows
    new GroupColumn(c, w.slide, Math.floorMod(w.start, w.slide), w.first)
  }

  /** Slices that all of several windows are made of. */
  private def common(slices: Seq[TumblingWindows.Slices], c: RecordColumn): GroupColumn = {
    val edges = slices.flatMap(s => Seq(s.width, s.start - slices.head.start))
    val width = edges.map(BigInt(_)).foldLeft(BigInt(0))(_ gcd _).toLong
    new GroupColumn(c, width, Math.floorMod(slices.head.start, width), 0)
  }
}
