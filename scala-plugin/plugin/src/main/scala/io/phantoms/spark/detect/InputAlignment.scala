package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftExistence}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, Join, LogicalPlan, Project, Union}
import org.apache.spark.sql.types.MetadataBuilder

/**
 * Makes one input of two copies of it.
 *
 * The branches of a union each read their own copy of the common input, with attribute ids of its own, and the optimizer
 * has pruned from each the columns that this branch does not need. Two copies are the same input when they are equal but
 * for the ids and for the columns that inner Projects, Aggregates and Unions let through; the merged input lets through
 * what either needs.
 */
object InputAlignment {

  /**
   * @param plan puts out everything the first copy did, under the same ids
   * @param second what the columns of the second copy are called in `plan`
   */
  final case class Merged(plan: LogicalPlan, second: AttributeMap[Attribute]) {
    def translate(e: Expression): Expression = e.transformUp { case a: Attribute => second.getOrElse(a, a) }

    /** With the nullability that the columns have in the plan's own output: above an outer join it is not the child's. */
    def asPutOut: Merged = {
      val byId = AttributeMap(plan.output.map(a => a -> a))
      copy(second = AttributeMap(second.toSeq.map { case (from, to) => from -> byId.getOrElse(to, to) }))
    }
  }

  /** Merges copies of one input; None when they are not. */
  def merge(first: LogicalPlan, second: LogicalPlan): Option[Merged] = merge(first, second, isDeferred = false)

  /** @param isDeferred whether Spark may compute columns of theirs for some rows only: those that something above keeps */
  private def merge(first: LogicalPlan, second: LogicalPlan, isDeferred: Boolean): Option[Merged] =
    align(first, second, isDeferred).map(_.asPutOut)

  private def align(first: LogicalPlan, second: LogicalPlan, isDeferred: Boolean): Option[Merged] =
    if (first.sameResult(second) && !EvaluationOrder.matters(first))
      Some(Merged(first, AttributeMap(second.output.zip(first.output))))
    else (first, second) match {
      case (a: Project, b: Project) =>
        merge(a.child, b.child, isDeferred).flatMap(project(a.projectList, _, b.projectList, isDeferred))
      case (a: Project, b) => merge(a.child, b, isDeferred).flatMap(project(a.projectList, _, b.output, isDeferred))
      case (a, b: Project) => merge(a, b.child, isDeferred).flatMap(project(a.output, _, b.projectList, isDeferred))
      case (a: Filter, b: Filter) =>
        merge(a.child, b.child, isDeferred = true).collect {
          case m if EvaluationOrder.isSame(a.condition, m.translate(b.condition)) =>
            Merged(a.withNewChildren(Seq(m.plan)), m.second)
        }
      case (a: Join, b: Join) => joins(a, b)
      case (a: Aggregate, b: Aggregate) => aggregates(a, b)
      case (a: Union, b: Union) => unions(a, b, isDeferred)
      case _ => None
    }

  private def project(
      first: Seq[NamedExpression],
      children: Merged,
      second: Seq[NamedExpression],
      isDeferred: Boolean
  ): Option[Merged] =
    // semanticEquals is false for what is not deterministic, so such columns would be computed twice.
    Option.when((first ++ second).forall(_.deterministic))(())
      .flatMap(_ => WidenedColumns(first, second, children.translate, isDeferred))
      .filter(widened => FailingParts.isCompiledAlike(first, widened.columns))
      .map { widened =>
        val handsOn = widened.columns.corresponds(children.plan.output) { (column, below) =>
          column.isInstanceOf[Attribute] && column.exprId == below.exprId
        }
        val plan = if (handsOn) children.plan else Project(widened.columns, children.plan)
        Merged(plan, AttributeMap(widened.second))
      }

  private def joins(a: Join, b: Join): Option[Merged] = for {
    left <- merge(a.left, b.left, isDeferred = true)
    right <- merge(a.right, b.right, isDeferred = true)
    existence = (a.joinType, b.joinType) match {
      case (ExistenceJoin(x), ExistenceJoin(y)) => Some(Seq(y -> x))
      case (x, y) => Option.when(x == y)(Nil)
    }
    marks <- existence
    pairs = left.second.toSeq ++ (a.joinType match {
      case LeftExistence(_) => Nil
      case _ => right.second.toSeq
    }) ++ marks
    inside = Merged(a, AttributeMap(left.second.toSeq ++ right.second.toSeq))
    if a.hint == b.hint && a.condition.size == b.condition.size
    if a.condition.zip(b.condition).forall { case (x, y) => EvaluationOrder.isSame(x, inside.translate(y)) }
  } yield Merged(
    a.withNewChildren(Seq(left.plan, right.plan)),
    AttributeMap(pairs)
  )

  /** One groupBy with the functions of both. */
  private def aggregates(a: Aggregate, b: Aggregate): Option[Merged] = {
    val all = a.aggregateExpressions ++ b.aggregateExpressions
    // Grouped pandas functions do not stand beside others.
    val mix = Predicates.arePlain(a.groupingExpressions ++ b.groupingExpressions ++ all)
    for {
      children <- if (mix && a.hint == b.hint) merge(a.child, b.child, isDeferred = true) else None
      if a.groupingExpressions.map(_.canonicalized) ==
        b.groupingExpressions.map(children.translate(_).canonicalized)
      // Spark plans what has several DISTINCT inputs over copies of its rows.
      if distinct(a.aggregateExpressions) == distinct(b.aggregateExpressions.map(children.translate))
      widened <- WidenedColumns(a.aggregateExpressions, b.aggregateExpressions, children.translate, isDeferred = false)
      merged = a.copy(aggregateExpressions = widened.columns, child = children.plan)
      if FailingParts.isCompiledAlike(merged, a, b)
    } yield Merged(merged, AttributeMap(widened.second))
  }

  private def distinct(columns: Seq[Expression]): Set[(Set[Expression], Option[Expression])] =
    columns.flatMap(_.collect {
      case call: AggregateExpression if call.isDistinct =>
        (call.aggregateFunction.children.map(_.canonicalized).toSet, call.filter.map(_.canonicalized))
    }).toSet

  // An alias that says nothing new Spark removes; but no child of a Union may put out one column twice.
  private[spark] val Copied = new MetadataBuilder().putBoolean("io.phantoms.copied", value = true).build()

  /** One more column of a child of a Union, with the values of another. */
  def copyOf(a: Attribute, name: String): Alias = Alias(a, name)(explicitMetadata = Some(Copied))

  /** Child by child: a column of the second copy is one of the first where it is so in every child. */
  private def unions(a: Union, b: Union, isDeferred: Boolean): Option[Merged] =
    if (a.children.size != b.children.size) None
    else {
      val merged = a.children.zip(b.children).map { case (x, y) => merge(x, y, isDeferred) }
      Option.when(merged.forall(_.isDefined)) {
        val children = merged.flatten
        // By column of the second copy: what it is in each child.
        val wanted = b.output.indices.map(j => b.children.zip(children).map { case (y, m) => m.second(y.output(j)) })
        val present = a.output.indices.map(i => a.children.map(_.output(i)))
        def same(x: Seq[Attribute], y: Seq[Attribute]): Boolean = x.corresponds(y)(_.exprId == _.exprId)
        val added = wanted.filterNot(w => present.exists(same(_, w))).distinctBy(_.map(_.exprId))
        val all = present ++ added
        val widened = a.children.indices.map { c =>
          val kept = a.children(c).output
          val more = added.map(w => copyOf(w(c), w.head.name))
          val columns = kept ++ more
          val plan = children(c).plan
          if (columns.corresponds(plan.output)(_.exprId == _.exprId)) plan else Project(columns, plan)
        }
        val plan = a.withNewChildren(widened)
        Merged(
          plan,
          AttributeMap(b.output.zip(wanted).map { case (column, w) =>
            column -> plan.output(all.indexWhere(same(_, w)))
          })
        )
      }
    }
}
