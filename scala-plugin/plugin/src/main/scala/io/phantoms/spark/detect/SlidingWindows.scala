package io.phantoms.spark.detect

import scala.util.control.NonFatal

import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.functions.SliceStart

import org.apache.spark.sql.catalyst.expressions.{
  Add,
  And,
  Attribute,
  AttributeMap,
  AttributeReference,
  CreateNamedStruct,
  Expression,
  GetStructField,
  GreaterThan,
  GreaterThanOrEqual,
  IsNotNull,
  KnownNullable,
  LessThan,
  LessThanOrEqual,
  Literal,
  PreciseTimestampConversion,
  Remainder,
  Subtract
}
import org.apache.spark.sql.catalyst.plans.logical.{Expand, Filter, LogicalPlan}
import org.apache.spark.sql.types.{DataType, LongType, StructType, TimestampNTZType, TimestampType}

/**
 * `window(ts, range, slide, start)` where slide and range differ: `Aggregate > [Filter | Project]* > Expand`, where the
 * Expand makes a copy of each row for every window that it may be in, and a filter drops those that it is not in.
 *
 * Windows are found by the shape of what the Expand computes, not by names, and what it computes is then compared with what
 * windows are, on times around edges: whoever else writes such an Expand gets what he wrote.
 */
object SlidingWindows {

  /** What stands between an Aggregate and the Expand of its windows, and what that computes. */
  final case class Chain(below: GroupingSets.Chain, windows: Windows)

  /**
   * The windows of an Expand.
   *
   * @param attribute the Expand's column of windows
   * @param time the timestamp that they are of, over the Expand's input
   * @param starts where each of the windows begins that a row may be in, the last one first; microseconds
   * @param ends likewise
   */
  final case class Windows(
      attribute: Attribute,
      time: Expression,
      starts: Seq[Expression],
      ends: Seq[Expression],
      range: Long,
      slide: Long,
      start: Long
  ) {

    /** How long the first of two slices of a slide is; 0: there is one. */
    def first: Long = range % slide

    def micros: Expression = PreciseTimestampConversion(time, time.dataType, LongType)
  }

  /** Whether a plan ends in an Expand that may be one of windows, which takes longer to say. */
  def mayBeUnder(plan: LogicalPlan): Boolean = GroupingSets.chain(plan, mayBe).isDefined

  /** The chain below an Aggregate, if it ends in the Expand of windows. */
  def under(plan: LogicalPlan): Option[Chain] =
    GroupingSets.chain(plan, mayBe).flatMap(c => windows(c.expand).map(Chain(c, _)))

  private def mayBe(expand: Expand): Boolean =
    !GroupingSets.isGroupingSets(expand) && expand.projections.headOption.exists(_.exists(edgesOf(_).isDefined))

  /** The groupBy of an Aggregate over windows. */
  def query(parts: AggregateNormalizer.Parts, chain: Chain): Either[DeclineReason, WorkloadQuery] = {
    val Chain(below, w) = chain
    val expand = below.expand
    val copied = AttributeMap(expand.output.zip(expand.projections.head).filter(_._1.exprId != w.attribute.exprId))
    def overExpand(e: Expression): Expression = Inlining.substitute(Inlining.withoutAlias(e), below.columns)
    def ofWindow(e: Expression): Boolean = e.references.contains(w.attribute)
    val (windowKeys, otherKeys) = parts.keys.partition(k => ofWindow(overExpand(k)))
    val (onWindow, onRow) = below.conditions.filterNot(isNotNullOf(w, _)).partition(ofWindow)
    val (inside, onStart) = onWindow.partitionMap(c => membershipOf(w, copied, c).toLeft(c))
    val calls = parts.functions.flatMap(f => f.aggregateFunction +: f.filter.toSeq).map(overExpand)
    val key = AttributeReference("window", LongType, nullable = false)()
    val keyed = windowKeys.map(k => k.toAttribute -> valueOf(w, overExpand(k), key))
    if (windowKeys.isEmpty) refused("nothing is grouped by")
    else if (keyed.exists(_._2.isEmpty)) refused("rows are grouped by as part of something else")
    else if (w.first != 0 && inside.distinct.size != 2) refused("has rows of other times")
    else if (onStart.exists(_.references.exists(_.exprId != w.attribute.exprId)))
      refused("its rows are compared with")
    else if (calls.exists(ofWindow)) refused("an aggregate reads")
    else {
      val values = AttributeMap(keyed.map { case (a, v) => a -> v.get })
      val conditions = onRow.map(Inlining.substitute(_, copied)) ++
        Option.when(w.time.nullable)(IsNotNull(w.time)).filterNot(c => expand.child.constraints.contains(c))
      val source = conditions.reduceOption(And(_, _)).fold(expand.child)(Filter(_, expand.child))
      val inner = AggregateNormalizer.branch(
        parts.copy(keys = otherKeys),
        source,
        e => Inlining.substitute(overExpand(e), copied),
        rowOnEmptyInput = false,
        fromGroupingSets = true,
        conditions = Nil,
        everyRow = Nil
      )
      val edges = Seq(w.starts.last, w.ends.head).filterNot(_.semanticEquals(w.starts.head))
      val slice = SliceStart(w.micros, w.starts.head, edges, w.first)
      Right(inner.copy(
        keys = inner.keys :+ KeySlot(key, slice),
        results = inner.results.map(Inlining.substitute(_, values)),
        having = onStart.map(onValue(w, _, key)).reduceOption(And(_, _)),
        window = Some(WindowSlot(key, w.range, w.slide, w.start))
      ).inlineRenames)
    }
  }

  private def refused(what: String) = Left(SlidingWindow(what))

  /** What a window, or its begin or end, is over where it begins; None for anything else. */
  private def valueOf(w: Windows, e: Expression, begin: Attribute): Option[Expression] = {
    val types = w.attribute.dataType.asInstanceOf[StructType].fields.map(_.dataType)
    def time(micros: Expression, t: DataType) = KnownNullable(PreciseTimestampConversion(micros, LongType, t))
    val start = time(begin, types(0))
    val end = time(Add(begin, Literal(w.range)), types(1))
    e match {
      case a: Attribute if a.exprId == w.attribute.exprId =>
        val names = w.attribute.dataType.asInstanceOf[StructType].fieldNames
        Some(CreateNamedStruct(Seq(Literal(names(0)), start, Literal(names(1)), end)))
      case GetStructField(a: Attribute, 0, _) if a.exprId == w.attribute.exprId => Some(start)
      case GetStructField(a: Attribute, 1, _) if a.exprId == w.attribute.exprId => Some(end)
      case _ => None
    }
  }

  private[detect] def onValue(w: Windows, condition: Expression, begin: Attribute): Expression =
    valueOf(w, condition, begin).getOrElse(condition.mapChildren(onValue(w, _, begin)))

  private def isEdge(w: Windows, e: Expression, field: Int): Boolean = e match {
    case GetStructField(a: Attribute, `field`, _) => a.exprId == w.attribute.exprId
    case _ => false
  }

  private def isNotNullOf(w: Windows, condition: Expression): Boolean = condition match {
    case IsNotNull(a: Attribute) => a.exprId == w.attribute.exprId
    case IsNotNull(e) => isEdge(w, e, 0) || isEdge(w, e, 1)
    case _ => false
  }

  /** The edge of its window on whose right side a condition says that a row is: 0 its begin, 1 its end. */
  private def membershipOf(w: Windows, copied: AttributeMap[Expression], condition: Expression): Option[Int] = {
    def isTime(e: Expression) = Inlining.substitute(e, copied).semanticEquals(w.time)
    condition match {
      case GreaterThanOrEqual(t, e) if isTime(t) && isEdge(w, e, 0) => Some(0)
      case LessThanOrEqual(e, t) if isTime(t) && isEdge(w, e, 0) => Some(0)
      case LessThan(t, e) if isTime(t) && isEdge(w, e, 1) => Some(1)
      case GreaterThan(e, t) if isTime(t) && isEdge(w, e, 1) => Some(1)
      case _ => None
    }
  }

  /** Whether a condition says that a row is in its window, or a part of that. */
  def isMembership(w: Windows, copied: AttributeMap[Expression], condition: Expression): Boolean =
    membershipOf(w, copied, condition).isDefined

  /** The windows of an Expand, if that is what it computes. */
  def windows(expand: Expand): Option[Windows] = {
    val columns = expand.output.indices
    val structs = columns.filter(i => expand.projections.exists(_(i).isInstanceOf[CreateNamedStruct]))
    for {
      column <- Option.when(structs.size == 1)(structs.head)
      if columns.forall(i => i == column || expand.projections.forall(_(i).semanticEquals(expand.projections.head(i))))
      edges = expand.projections.map(p => edgesOf(p(column)))
      if edges.nonEmpty && edges.forall(_.isDefined)
      (starts, ends) = edges.flatten.unzip
      time <- timeOf(starts.head)
      (slide, start) <- periodOf(starts.head)
      found <- verified(expand.output(column), time, starts, ends, slide, start)
    } yield found
  }

  /** Begin and end of a window as microseconds. */
  private def edgesOf(e: Expression): Option[(Expression, Expression)] = e match {
    case CreateNamedStruct(Seq(_: Literal, start, _: Literal, end)) =>
      for { s <- microsOf(start); t <- microsOf(end) } yield (s, t)
    case _ => None
  }

  private def microsOf(e: Expression): Option[Expression] = e match {
    case KnownNullable(child) => microsOf(child)
    case PreciseTimestampConversion(micros, LongType, TimestampType | TimestampNTZType) => Some(micros)
    case _ => None
  }

  private def timeOf(start: Expression): Option[Expression] = {
    val times = start.collect { case PreciseTimestampConversion(t, TimestampType | TimestampNTZType, LongType) => t }
    times.headOption.filter(t => t.deterministic && times.forall(_.semanticEquals(t)))
  }

  /** Slide and offset: `(time - offset) % slide`. */
  private def periodOf(start: Expression): Option[(Long, Long)] = {
    val found = start.collect { case Remainder(Subtract(_, Literal(o: Long, _), _), Literal(s: Long, _), _) => (s, o) }
    found.headOption.filter { case (slide, _) => slide > 0 && found.forall(_ == found.head) }
  }

  /** An expression and the constant that is added to it. */
  private def shifted(e: Expression): Option[(Expression, Long)] = e match {
    case Subtract(of, Literal(n: Long, LongType), _) => Some((of, -n))
    case Add(of, Literal(n: Long, LongType), _) => Some((of, n))
    case _ => None
  }

  /** The windows of a column that is the one window that a row is in. */
  private[detect] def tumbling(column: Attribute, value: Expression): Option[Windows] =
    for {
      (begin, end) <- edgesOf(value)
      time <- timeOf(begin)
      (slide, start) <- periodOf(begin)
      found <- verified(column, time, Seq(begin), Seq(end), slide, start)
      if found.range == found.slide
    } yield found

  /** The windows of a column that is the begin of the one window that a row is in. */
  private[detect] def begin(column: Attribute, value: Expression): Option[Windows] =
    for {
      begin <- microsOf(value)
      time <- timeOf(begin)
      (slide, start) <- periodOf(begin)
      found <- verified(column, time, Seq(begin), Seq(Add(begin, Literal(slide))), slide, start)
    } yield found

  /** Windows of which it is known what they look like, if they do. */
  private[detect] def verified(
      attribute: Attribute,
      time: Expression,
      starts: Seq[Expression],
      ends: Seq[Expression],
      slide: Long,
      start: Long
  ): Option[Windows] = {
    def at(e: Expression, t: Long): Option[Long] =
      try e.transformDown {
          case c @ PreciseTimestampConversion(child, _, LongType) if child.semanticEquals(time) =>
            Literal(t, c.dataType)
        } match {
          case closed if closed.references.isEmpty => Option(closed.eval().asInstanceOf[Long])
          case _ => None
        }
      catch { case NonFatal(_) => None }
    val range = for { s <- at(starts.head, 0); e <- at(ends.head, 0) } yield e - s
    range.filter(_ > 0).filter { r =>
      val count = ((r - 1) / slide + 1).toInt
      val edges = Seq(0L, start, start - slide, start + slide, start + r, start + r % slide, 1234567890123456L)
      val times = edges.flatMap(e => Seq(e - 1, e, e + 1)) ++ edges.map(_ - 7 * slide - 1)
      def right(i: Int): Boolean = times.forall { t =>
        val begin = t - Math.floorMod(t - start, slide) - i * slide
        at(starts(i), t).contains(begin) && at(ends(i), t).contains(begin + r)
      }
      // Hundreds of windows differ in a constant each.
      def likeFirst(i: Int): Boolean =
        (shifted(starts(0)), shifted(starts(i)), shifted(ends(0)), shifted(ends(i))) match {
          case (Some((s0, a)), Some((s, b)), Some((e0, c)), Some((e, d))) =>
            s == s0 && b - a == -i * slide && c == d && e0 == starts(0) && e == starts(i)
          case _ => false
        }
      starts.size == count && right(0) && starts.indices.drop(1).forall(i => likeFirst(i) || right(i))
    }.map(Windows(attribute, time, starts, ends, _, slide, start))
  }
}
