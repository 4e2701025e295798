package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}

/** A grouping expression over [[Branch.source]] and the attribute by which [[Branch.results]] refer to its value. */
final case class KeySlot(attribute: Attribute, expression: Expression)

/** An aggregate function over [[Branch.source]] and the attribute by which [[Branch.results]] refer to its result. */
final case class FunctionSlot(attribute: Attribute, function: AggregateFunction, filter: Option[Expression])

/**
 * One groupBy in a normal form, before its input is compared with others: what [[AggregateNormalizer]] makes of a plain
 * Aggregate and of each grouping set.
 *
 * @param source its input, below every Project that could be inlined
 * @param results its output columns, over the attributes of `keys` and `functions` only
 * @param having rows of the result that stay, over the same attributes
 * @param rowOnEmptyInput a global aggregate: one row even from no input
 * @param fromGroupingSets whether an Expand stood between the Aggregate and its source
 * @param rows rows of `source` that are aggregated, by a condition on the keys; groups of other rows are no result
 * @param everyRow columns of `source` that plain Spark computes for every row, whether or not anything reads them, and
 *   whose computation may fail
 */
final case class Branch(
    source: LogicalPlan,
    keys: Seq[KeySlot],
    functions: Seq[FunctionSlot],
    results: Seq[Expression],
    having: Option[Expression],
    rowOnEmptyInput: Boolean,
    fromGroupingSets: Boolean,
    rows: Option[Expression] = None,
    everyRow: Seq[Attribute] = Nil
) {

  /** Everything evaluated on a row of [[source]]. */
  def inputs: Seq[Expression] = keys.map(_.expression) ++ functions.flatMap(f => f.function +: f.filter.toSeq)

  /** The same groupBy over another source, after rewriting what it evaluates on the source's rows. */
  def onSource(newSource: LogicalPlan, rewrite: Expression => Expression): Branch = copy(
    source = newSource,
    keys = keys.map(k => k.copy(expression = rewrite(k.expression))),
    functions = functions.map(f =>
      f.copy(function = rewrite(f.function).asInstanceOf[AggregateFunction], filter = f.filter.map(rewrite))
    ),
    rows = rows.map(rewrite),
    everyRow = everyRow.map(rewrite).collect { case a: Attribute => a }
  )

  /**
   * Reads through Projects on top of the source that only choose and rename. One that computes stays: what it computes is
   * computed once a row, and for every row, whatever reads it under whichever condition.
   */
  def inlineRenames: Branch = source match {
    case p: Project if p.projectList.forall(Inlining.isRename) =>
      onSource(p.child, Inlining.substitute(_, Inlining.columns(p))).inlineRenames
    case _ => this
  }
}

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
