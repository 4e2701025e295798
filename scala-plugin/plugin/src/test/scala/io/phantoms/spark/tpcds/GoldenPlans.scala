package io.phantoms.spark.tpcds

import scala.collection.mutable

import io.phantoms.spark.decide.{Decision, Declined, Shared}

import org.apache.spark.sql.execution.{InputAdapter, SparkPlan, WholeStageCodegenExec}

/**
 * What became of queries, kept as text: what is shared by which configuration and where in the plan, or why nothing is.
 * A file for each edition of the queries, a block for each query; see [[GoldenFiles]] for other releases of Spark.
 */
object GoldenPlans {

  val LeftAlone = "left alone:"

  /** The lines of a query's block; numbers that differ from run to run are counted anew. */
  def describe(decisions: Seq[Decision], plan: SparkPlan): Seq[String] = {
    val shared = decisions.collect { case s: Shared => s }
    val lines =
      if (shared.isEmpty) Seq(s"$LeftAlone ${codes(decisions).mkString(", ")}")
      else
        shared.flatMap { s =>
          val letters = s.legend.map { case (letter, name) => s"$letter = $name" }
          Seq(s"shared: ${s.subject}", s"  ${s.notation}") ++
            Option.when(letters.nonEmpty)(s"  where ${letters.mkString(", ")}")
        } ++ ("plan:" +: tree(plan).map("  " + _))
    renumbered(lines)
  }

  private def codes(decisions: Seq[Decision]): Seq[String] =
    if (decisions.isEmpty) Seq("no groupBy")
    else decisions.collect { case Declined(_, reason) => reason.code }.distinct.sorted

  /** The plugin's operators, what feeds them, and what brings several of them together. */
  private def tree(plan: SparkPlan): Seq[String] = {
    def isOurs(p: SparkPlan): Boolean = p.nodeName.startsWith("Phantoms")
    def below(p: SparkPlan): Seq[SparkPlan] = p.children ++ p.subqueries
    def indented(ps: Seq[SparkPlan]): Seq[String] = ps.flatMap(tree).map("  " + _)
    plan match {
      case w: WholeStageCodegenExec => tree(w.child)
      case i: InputAdapter => tree(i.child)
      case p if isOurs(p) && !p.exists(d => (d ne p) && isOurs(d)) =>
        p.nodeName +: p.children.map(c => s"  ${input(c).nodeName}")
      case p if isOurs(p) => p.nodeName +: indented(below(p))
      case p =>
        val several = below(p).map(tree).filter(_.nonEmpty)
        if (several.size > 1) p.nodeName +: several.flatten.map("  " + _) else several.flatten
    }
  }

  private def input(plan: SparkPlan): SparkPlan = plan match {
    case w: WholeStageCodegenExec => input(w.child)
    case i: InputAdapter => input(i.child)
    case p => p
  }

  private def renumbered(lines: Seq[String]): Seq[String] = {
    val numbers = mutable.Map.empty[String, Int]
    val id = "#(\\d+)L?".r
    lines.map(id.replaceAllIn(_, m => s"#${numbers.getOrElseUpdate(m.group(1), numbers.size + 1)}"))
  }

  /** The blocks of an edition, by query. */
  def read(edition: String): Map[String, Seq[String]] = GoldenFiles.ofProject.read(s"tpcds-$edition")

  def write(edition: String, blocks: Seq[(String, Seq[String])]): Unit =
    GoldenFiles.ofProject.write(s"tpcds-$edition", blocks)
}
