package io.phantoms.spark.source

import io.phantoms.spark.detect.TumblingWindows
import io.phantoms.spark.functions.ExpressionCost
import io.phantoms.spark.source.read._
import io.phantoms.spark.source.stream.{GroupedRead, HasReaders, StreamReaders}

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate.{Partial, PartialMerge}
import org.apache.spark.sql.execution.{ExpandExec, FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.HashAggregateExec
import org.apache.spark.sql.types.{BooleanType, DataType, TimestampType}

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
      columns = new Columns(readers)
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
      val read =
        GroupedRead(below, time, None, above, by.map(_._2).toArray, aggregates.map(_._1).toArray, columns.read)
      val groups = by.map(_._1) ++ aggregates.map(_._2)
      val values = keys ++ parts.flatMap(_.buffers)
      def done(output: Seq[Attribute], results: Seq[NamedExpression]): SparkPlan =
        StreamedGroupsExec(output, results, groups, readers, read, a.child)
      steps.windows match {
        case None => done(a.output, named(a, values))
        case Some(windows) => merged(a, windows, values, done(groups, groups))
      }
    }

  private def keysOf(a: HashAggregateExec): Seq[Attribute] = a.groupingExpressions.map(_.toAttribute)

  private def buffersOf(a: HashAggregateExec): Seq[Attribute] =
    a.aggregateExpressions.flatMap(_.aggregateFunction.inputAggBufferAttributes)

  private def named(a: HashAggregateExec, values: Seq[Expression]): Seq[NamedExpression] =
    (keysOf(a) ++ buffersOf(a)).zip(values).map { case (r, value) => Alias(value, r.name)(r.exprId) }

  /** Slices are copied into their windows as rows would be, and put together there. */
  private def merged(
      a: HashAggregateExec,
      windows: CopiedRows,
      values: Seq[Expression],
      slices: SparkPlan
  ): SparkPlan = {
    val stays = AttributeReference("stays", BooleanType)()
    val condition = windows.conditions.reduceOption(And(_, _)).getOrElse(Literal.TrueLiteral)
    val copies = (values :+ condition).map(windows.each).transpose
    val results = keysOf(a) ++ buffersOf(a)
    val expand = ExpandExec(copies, results.map(_.withNullability(true)) :+ stays, slices)
    a.copy(
      groupingExpressions = keysOf(a),
      aggregateExpressions = a.aggregateExpressions.map(_.copy(mode = PartialMerge)),
      initialInputBufferOffset = a.groupingExpressions.size,
      child = ProjectExec(results, FilterExec(stays, expand))
    )
  }

  private[source] def told(holds: Boolean, otherwise: => Refusal): Either[Refusal, Unit] =
    Either.cond(holds, (), otherwise)

  private[source] def each[A, B](as: Seq[A])(f: A => Either[Refusal, B]): Either[Refusal, Seq[B]] =
    as.foldLeft[Either[Refusal, Vector[B]]](Right(Vector.empty))((done, a) => done.flatMap(bs => f(a).map(bs :+ _)))
}

/** Columns of a scan as records give them; remembers which were asked for. */
private[source] final class Columns(readers: StreamReaders) {
  import StreamedGrouping.{each, told, Refusal}
  private var asked = Set.empty[RecordColumn]

  def read: Set[RecordColumn] = asked

  def column(name: String): Option[(RecordColumn, DataType)] = {
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
      column(time.name).toRight(s"${time.name} is no column of records").map(c => Some(c._1))
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
      by <- each(columns)(c => of(c, if (asIs.contains(c)) Nil else times.getOrElse(c.exprId, Nil)))
    } yield columns.map(_.withNullability(true)).zip(by)
  }

  private def isTime(a: Attribute): Boolean = a.dataType == TimestampType

  private def of(c: Attribute, slices: Seq[TumblingWindows.Slices]): Either[Refusal, GroupColumn] =
    column(c.name).map(_._1).filter(r => RecordGroups.groupsBy(r.form))
      .toRight(s"the readers do not group by ${c.name}")
      .map { r =>
        // Slices that all of the windows are made of.
        val edges = slices.flatMap(s => Seq(s.width, s.start - slices.head.start))
        val width = edges.map(BigInt(_)).foldLeft(BigInt(0))(_ gcd _).toLong
        if (width == 0) GroupColumn.of(r) else new GroupColumn(r, width, Math.floorMod(slices.head.start, width))
      }
}
