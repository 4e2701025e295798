package io.phantoms.spark.tpcds

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path, Paths}

import scala.collection.mutable

import io.phantoms.spark.decide.{Decision, Declined, Shared}

import org.apache.spark.sql.execution.{InputAdapter, SparkPlan, WholeStageCodegenExec}

/**
 * What became of queries, kept as text: what is shared by which configuration and where in the plan, or why nothing is.
 * A file for each edition of the queries, a block for each query.
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
  def read(edition: String): Map[String, Seq[String]] = {
    val lines =
      if (Files.notExists(file(edition))) Nil else Files.readAllLines(file(edition)).toArray(Array.empty[String]).toSeq
    val starts = lines.indices.filter(lines(_).startsWith(Title)) :+ lines.size
    starts.zip(starts.drop(1)).map { case (from, to) =>
      lines(from).stripPrefix(Title) -> lines.slice(from + 1, to).filter(_.nonEmpty)
    }.toMap
  }

  def write(edition: String, blocks: Seq[(String, Seq[String])]): Unit = {
    val text = blocks.map { case (name, lines) => (s"$Title$name" +: lines).mkString("", "\n", "\n") }.mkString("\n")
    Files.createDirectories(file(edition).getParent)
    val _ = Files.write(file(edition), text.getBytes(StandardCharsets.UTF_8))
  }

  private val Title = "== "

  private def file(edition: String): Path =
    Paths.get(s"scala-plugin/plugin/src/test/resources/golden/tpcds-$edition.txt")
}
