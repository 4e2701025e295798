package io.phantoms.spark.explain

import io.phantoms.spark.rewrite.PhantomsRule

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
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
      // Spark computes keys below the Aggregate, under names of its own.
      val computed = a.child match {
        case p: Project =>
          p.projectList.collect { case k: Alias if k.name.startsWith("_grouping") => k.exprId -> k.child }
        case _ => Nil
      }
      val keys = computed.toMap
      def asWritten(e: Expression): Expression = e.transform { case k: Attribute => keys.getOrElse(k.exprId, k) }
      val columns = a.aggregateExpressions.map {
        case c: Alias => column(asWritten(c.child), c.name)
        case c => column(asWritten(c), c.name)
      }
      s"Aggregate ${list(a.groupingExpressions.map(k => sql(asWritten(k))))}, ${list(columns)}"
    case other => PhantomsRule.subject(other)
  }

  private def list(texts: Seq[String]): String = {
    val all = texts.mkString(", ")
    if (all.length > MostCharacters) s"[${all.take(MostCharacters)}...]" else s"[$all]"
  }

  private def column(value: Expression, name: String): String = {
    val text = sql(value)
    if (text == name) name else s"$text AS $name"
  }

  // Subqueries, and names that Spark made up, hold ids.
  private def sql(e: Expression): String = toPrettySQL(e).replaceAll("#\\d+L?|(?<=_gen_alias)_\\d+", "")
}
