package io.phantoms.spark.explain

import io.phantoms.spark.rewrite.PhantomsRule

import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.util.toPrettySQL

/**
 * A tree of texts, drawn as EXPLAIN draws plans.
 *
 * @param title of its root
 * @param notes further lines about it
 */
final case class Outline(title: String, notes: Seq[String] = Nil, children: Seq[Outline] = Nil) {
  def lines: Seq[String] = {
    val bar = if (children.isEmpty) " " else ":"
    val below = children.zipWithIndex.flatMap { case (child, i) =>
      val (first, others) = if (i == children.size - 1) ("+- ", "   ") else (":- ", ":  ")
      child.lines.zipWithIndex.map { case (line, l) => (if (l == 0) first else others) + line }
    }
    title +: (notes.map(n => s"$bar    $n") ++ below)
  }

  def text: String = lines.mkString("\n")
}

object Outline {
  private val MostCharacters = 160

  /**
   * Operators of a plan, each below the nearest of those that hold it.
   *
   * @param shown what is said of an operator, which is left out if that is nothing; asked from the root down
   */
  def of(plan: LogicalPlan)(shown: LogicalPlan => Option[Outline]): Seq[Outline] = {
    val own = shown(plan)
    val below = plan.children.flatMap(of(_)(shown))
    own.fold(below)(o => Seq(o.copy(children = below)))
  }

  /** One line about an operator, without the ids that change from plan to plan. */
  def title(operator: LogicalPlan): String = operator match {
    case a: Aggregate =>
      s"Aggregate ${list(a.groupingExpressions.map(sql))}, ${list(a.aggregateExpressions.map(column))}"
    case other => PhantomsRule.subject(other)
  }

  private def list(texts: Seq[String]): String = {
    val all = texts.mkString(", ")
    if (all.length > MostCharacters) s"[${all.take(MostCharacters)}...]" else s"[$all]"
  }

  private def column(c: NamedExpression): String = c match {
    case a: Alias =>
      val computed = sql(a.child)
      if (computed == a.name) computed else s"$computed AS ${a.name}"
    case other => other.name
  }

  // Subqueries, and names that Spark made up, hold ids.
  private def sql(e: Expression): String = toPrettySQL(e).replaceAll("#\\d+L?|(?<=_gen_alias)_\\d+", "")
}
