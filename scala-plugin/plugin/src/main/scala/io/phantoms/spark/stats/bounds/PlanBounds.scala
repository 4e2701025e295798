package io.phantoms.spark.stats.bounds

import io.phantoms.spark.stats.input.{Estimate, LinearInput, StatisticSource}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * Rows a plan puts out, and what its columns can hold.
 *
 * @param rows as many as are expected: never more than the plan allows, and fewer than that only where filters compare
 *   columns of known ranges with constants, where joins with what these leave drop rows, or where Spark's own statistics
 *   say so
 * @param largest rows of the largest relation or union below
 */
private[stats] final case class PlanBounds(
    rows: Double,
    largest: Double,
    columns: AttributeMap[ColumnBound]
) {

  /** Whether something between the relations and here takes rows away. */
  def reduced: Boolean = rows < largest

  /** The most groups that keys over this plan's output can have; None where nothing is known. */
  def groups(keys: Seq[Expression]): Option[Estimate] = {
    val single = keys.map(ColumnBound.of(_, columns))
    val product = single.map(_.most).product
    val (together, source) = ColumnBound.combinations(keys, columns)
    val bound =
      if (together <= product) Estimate(together, source)
      else {
        val footers = single.exists(_.source == StatisticSource.FooterBound)
        Estimate(product, if (footers) StatisticSource.FooterBound else StatisticSource.PlanBound)
      }
    Some(bound).filterNot(_.value.isInfinite).map(_.map(math.max(1.0, _)))
  }

}

private[stats] object PlanBounds {

  /** Of any plan. Reads footers of its files, of as many as row counts are read from. */
  def of(session: SparkSession, plan: LogicalPlan): PlanBounds = new PlanBounder(session).bounds(plan)
}

/** Walks a plan from its relations up. Asks only relations other than sources of version 2 for statistics. */
private final class PlanBounder(session: SparkSession) {

  def bounds(plan: LogicalPlan): PlanBounds = {
    val found = LinearInput.of(plan) match {
      case Some(input) => chain(plan, input)
      case None => operator(plan)
    }
    val most = Seq(plan.maxRows.map(_.toDouble), expectedBySpark(plan)).flatten
    most.foldLeft(found) { (b, n) => if (n < b.rows) b.copy(rows = math.max(1.0, n)) else b }
  }

  private def chain(plan: LogicalPlan, input: LinearInput): PlanBounds = {
    val rows = InputSize.leafRows(session, input, None)
    val whole = LeafBounds.of(session, input, rows)
    val narrow = FilterBounds.narrowed(whole, input.filters)
    val passing = math.max(InputSize.LeastSelectivity, FilterBounds.selectivity(whole, input.filters))
    val columns = AttributeMap(plan.output.map(a => a -> outputOf(input.overLeaf(a), narrow)))
    PlanBounds(math.max(1.0, rows.value * passing), math.max(1.0, rows.value), columns)
  }

  private def outputOf(e: Expression, columns: AttributeMap[ColumnBound]): ColumnBound = e match {
    case a: Attribute => columns.getOrElse(a, ColumnBound.Unknown)
    case Alias(child, _) => outputOf(child, columns)
    case computed => ColumnBound.of(computed, columns)
  }

  private def operator(plan: LogicalPlan): PlanBounds = plan match {
    case p: Project =>
      val below = bounds(p.child)
      below.copy(columns = AttributeMap(p.projectList.map(e => e.toAttribute -> outputOf(e, below.columns))))
    case f: Filter =>
      val below = bounds(f.child)
      // A condition on what an aggregate computed is no reason to expect fewer rows: nothing says how many.
      below.copy(columns = FilterBounds.narrowed(below.columns, conjuncts(f.condition)))
    case a: Aggregate => aggregate(a)
    case j: Join => join(j)
    case u: Union => union(u)
    case e: Expand => expand(e)
    case w: Window =>
      val below = bounds(w.child)
      // What the window adds is unknown, as columns without a bound are.
      below
    case s: Sample =>
      val below = bounds(s.child)
      // With replacement it may draw a row again.
      if (s.withReplacement) below
      else below.copy(rows = math.max(1.0, below.rows * (s.upperBound - s.lowerBound)))
    case _: SubqueryAlias | _: View | _: Sort | _: GlobalLimit | _: LocalLimit | _: Offset | _: Distinct |
        _: RepartitionOperation | _: ResolvedHint =>
      val below = bounds(plan.children.head)
      // A view may name what it reads anew.
      if (plan.output == plan.children.head.output) below else below.copy(columns = AttributeMap.empty)
    case other =>
      val below = other.children.map(bounds)
      val rows = below.map(_.rows).maxOption.getOrElse(InputSize.UnknownRows)
      val largest = below.map(_.largest).maxOption.getOrElse(rows)
      PlanBounds(rows, largest, AttributeMap.empty)
  }

  private def aggregate(a: Aggregate): PlanBounds = {
    val below = bounds(a.child)
    val groups = if (a.groupingExpressions.isEmpty) 1.0
    else below.groups(a.groupingExpressions).fold(below.rows)(b => math.min(b.value, below.rows))
    val most = if (a.groupingExpressions.isEmpty) 1.0 else below.groups(a.groupingExpressions).fold(Infinite)(_.value)
    val columns = a.aggregateExpressions.map { e =>
      val ofKeys = !e.exists(_.isInstanceOf[AggregateExpression])
      val bound = if (ofKeys) outputOf(e, below.columns) else ColumnBound.Unknown
      e.toAttribute -> bound.atMost(most, StatisticSource.PlanBound)
    }
    PlanBounds(math.max(1.0, groups), below.largest, AttributeMap(columns))
  }

  /** Rows of all children, up to what a union of relations has as many as those together. */
  private def union(u: Union): PlanBounds = {
    val parts = u.children.map(c => c -> bounds(c))
    val columns = u.output.zipWithIndex.map { case (a, i) =>
      val of = parts.map { case (c, b) => b.columns.getOrElse(c.output(i), ColumnBound.Unknown) }
      val scales = of.flatMap(_.range).map(_.scale).distinct
      val hull =
        if (scales.size == 1 && of.forall(_.range.nonEmpty)) of.flatMap(_.range).reduceOption(_.hull(_)) else None
      val sum = ColumnBound(of.map(_.most).sum, of.map(_.table).sum, StatisticSource.PlanBound, hull)
      a -> hull.fold(sum)(r => sum.atMost(math.max(1.0, r.domain), StatisticSource.FooterBound))
    }
    PlanBounds(
      parts.map(_._2.rows).sum,
      parts.map(_._2.largest).sum,
      AttributeMap(columns)
    )
  }

  private def expand(e: Expand): PlanBounds = {
    val below = bounds(e.child)
    val columns = e.output.zipWithIndex.map { case (a, i) =>
      val of = e.projections.map(_(i)).distinctBy(_.canonicalized).map(outputOf(_, below.columns))
      a -> ColumnBound(of.map(_.most).sum, of.map(_.table).sum, StatisticSource.PlanBound)
    }
    below.copy(
      rows = below.rows * e.projections.size,
      largest = below.largest * e.projections.size,
      columns = AttributeMap(columns)
    )
  }

  private def join(j: Join): PlanBounds = {
    val (left, right) = (bounds(j.left), bounds(j.right))
    val keys = j.condition.toSeq.flatMap(conjuncts).flatMap(equated(_, j.left, j.right))
    val largest = math.max(left.largest, right.largest)
    // How many values both sides' keys had before any filter: those are taken to meet. The fewer are the safer guess.
    def met(side: PlanBounds, of: Seq[Expression]): Double = {
      val tables = of.map(ColumnBound.of(_, side.columns).table).product
      math.max(1.0, math.min(tables, side.largest))
    }
    val values = math.min(met(left, keys.map(_._1)), met(right, keys.map(_._2)))
    val matched = if (keys.isEmpty) left.rows * right.rows else left.rows * right.rows / values
    // Rows may match several times, as nothing here can tell: not expected to make more than the larger relation has.
    val inner = math.max(1.0, math.min(matched, largest))
    val rows = j.joinType match {
      case LeftOuter => math.max(left.rows, inner)
      case RightOuter => math.max(right.rows, inner)
      case FullOuter => math.max(math.max(left.rows, right.rows), inner)
      case LeftSemi if keys.nonEmpty => math.min(left.rows, inner)
      case LeftSemi | LeftAnti | _: ExistenceJoin => left.rows
      case _ => inner
    }
    val columns = j.joinType match {
      case LeftSemi | LeftAnti => left.columns
      case _: ExistenceJoin => left.columns
      case LeftOuter => left.columns ++ right.columns.map { case (a, c) => a -> c.orNull }
      case RightOuter => right.columns ++ left.columns.map { case (a, c) => a -> c.orNull }
      case FullOuter => AttributeMap((left.columns ++ right.columns).toSeq.map { case (a, c) => a -> c.orNull })
      case _ => alike(left.columns ++ right.columns, keys)
    }
    val expected = math.max(1.0, rows)
    PlanBounds(expected, largest, AttributeMap(columns.toSeq))
  }

  /** Columns an inner join equates have the values of both. */
  private def alike(
      columns: AttributeMap[ColumnBound],
      keys: Seq[(Expression, Expression)]
  ): AttributeMap[ColumnBound] =
    keys.foldLeft(columns) {
      case (known, (a: Attribute, b: Attribute)) =>
        known.get(a).zip(known.get(b)).fold(known) { case (l, r) =>
          known + (a -> l.atMost(r.most, r.source)) + (b -> r.atMost(l.most, l.source))
        }
      case (known, _) => known
    }

  private def equated(e: Expression, left: LogicalPlan, right: LogicalPlan): Option[(Expression, Expression)] = {
    def sides(a: Expression, b: Expression): Option[(Expression, Expression)] =
      if (a.references.isEmpty || b.references.isEmpty) None
      else if (a.references.subsetOf(left.outputSet) && b.references.subsetOf(right.outputSet)) Some(a -> b)
      else if (b.references.subsetOf(left.outputSet) && a.references.subsetOf(right.outputSet)) Some(b -> a)
      else None
    e match {
      case equal: EqualTo => sides(equal.left, equal.right)
      case equal: EqualNullSafe => sides(equal.left, equal.right)
      case _ => None
    }
  }

  /** Rows by the cost-based optimizer, where that is on and every relation has been analyzed. */
  private def expectedBySpark(plan: LogicalPlan): Option[Double] = plan match {
    case _: Filter | _: Join | _: Aggregate if session.sessionState.conf.cboEnabled && analyzed(plan) =>
      plan.stats.rowCount.map(_.toDouble)
    case _ => None
  }

  private def analyzed(plan: LogicalPlan): Boolean = plan.collectLeaves().forall {
    case _: DataSourceV2Relation => false
    case leaf: LeafNode => InputSize.catalogStatistics(leaf).exists(_.rowCount.nonEmpty)
    case _ => false
  }

  private def conjuncts(e: Expression): Seq[Expression] = e match {
    case and: And => conjuncts(and.left) ++ conjuncts(and.right)
    case other => Seq(other)
  }

  private val Infinite = Double.PositiveInfinity
}
