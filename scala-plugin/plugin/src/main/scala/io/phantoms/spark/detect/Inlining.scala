package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}

/** Replacing attributes by what computes them. */
object Inlining {

  // transformUp never visits what it put in, so a column computed from an attribute of the same id is safe.
  def substitute(expression: Expression, columns: AttributeMap[Expression]): Expression =
    expression.transformUp { case a: Attribute => columns.getOrElse(a, a) }

  def isRename(column: Expression): Boolean = withoutAlias(column) match {
    case _: Attribute | _: Literal => true
    case _ => false
  }

  /** An expression over a plan as one over what lies below the Projects on top of it. */
  @scala.annotation.tailrec
  def throughProjects(plan: LogicalPlan, expression: Expression): Expression = plan match {
    case p: Project if p.projectList.forall(_.deterministic) =>
      throughProjects(p.child, substitute(expression, columns(p)))
    case _ => expression
  }

  @scala.annotation.tailrec
  def belowProjects(plan: LogicalPlan): LogicalPlan = plan match {
    case p: Project if p.projectList.forall(_.deterministic) => belowProjects(p.child)
    case _ => plan
  }

  def columns(project: Project): AttributeMap[Expression] =
    AttributeMap(project.projectList.map(e => e.toAttribute -> withoutAlias(e)))

  def withoutAlias(expression: Expression): Expression = expression match {
    case a: Alias => withoutAlias(a.child)
    case other => other
  }
}
