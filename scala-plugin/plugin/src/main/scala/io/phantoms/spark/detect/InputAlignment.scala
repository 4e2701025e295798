package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, LeftExistence}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}

/**
 * Makes one input of two copies of it.
 *
 * The branches of a union each read their own copy of the common input, with attribute ids of its own, and the optimizer
 * has pruned from each the columns that this branch does not need. Two copies are the same input when they are equal but
 * for the ids and for the columns that inner Projects let through; the merged input lets through what either needs.
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
  def merge(first: LogicalPlan, second: LogicalPlan): Option[Merged] = align(first, second).map(_.asPutOut)

  private def align(first: LogicalPlan, second: LogicalPlan): Option[Merged] =
    if (first.sameResult(second)) Some(Merged(first, AttributeMap(second.output.zip(first.output))))
    else (first, second) match {
      case (a: Project, b: Project) =>
        merge(a.child, b.child).flatMap(widen(a, _, b.projectList))
      case (a: Project, b) => merge(a.child, b).flatMap(widen(a, _, b.output))
      case (a, b: Project) =>
        merge(a, b.child).flatMap(m => widen(Project(a.output, m.plan), m, b.projectList))
      case (a: Filter, b: Filter) =>
        merge(a.child, b.child).collect {
          case m if m.translate(b.condition).semanticEquals(a.condition) =>
            Merged(a.withNewChildren(Seq(m.plan)), m.second)
        }
      case (a: Join, b: Join) => joins(a, b)
      case _ => None
    }

  /** `project` over the merged children, letting through the second copy's columns too. */
  private def widen(project: Project, children: Merged, second: Seq[NamedExpression]): Option[Merged] = {
    val added = scala.collection.mutable.Buffer.empty[NamedExpression]
    val pairs = second.map { column =>
      val wanted = children.translate(Inlining.withoutAlias(column))
      val present = (project.projectList ++ added).find(Inlining.withoutAlias(_).semanticEquals(wanted))
      val named = present.getOrElse {
        val fresh = wanted match {
          case a: Attribute => a
          case e => Alias(e, column.name)()
        }
        added += fresh
        fresh
      }
      column.toAttribute -> named.toAttribute
    }
    // semanticEquals is false for what is not deterministic, so such columns would be computed twice.
    Option.when((project.projectList ++ second).forall(_.deterministic)) {
      Merged(Project(project.projectList ++ added, children.plan), AttributeMap(pairs))
    }
  }

  private def joins(a: Join, b: Join): Option[Merged] = for {
    left <- merge(a.left, b.left)
    right <- merge(a.right, b.right)
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
    if a.hint == b.hint && (a.condition.map(_.canonicalized) == b.condition.map(inside.translate(_).canonicalized))
  } yield Merged(
    a.withNewChildren(Seq(left.plan, right.plan)),
    AttributeMap(pairs)
  )
}
