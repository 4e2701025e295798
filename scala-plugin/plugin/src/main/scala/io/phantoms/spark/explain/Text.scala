package io.phantoms.spark.explain

import java.util.Locale

import scala.collection.immutable.BitSet

import io.phantoms.spark.conf.VerifyOptions
import io.phantoms.spark.decide.{Decision, Declined, Shared}
import io.phantoms.spark.model.{Choice, Notation, RunnerUp}
import io.phantoms.spark.stats.StatisticsProvider
import io.phantoms.spark.verify.Verifiable

/**
 * Decisions for people: the configuration in its notation first, then what its letters mean, then the relations by their
 * letters, so that a table of wide groupings stays narrow.
 */
object Text {

  /** Lines of statistics shown; the JSON has all. */
  private val MostNumbers = 24

  /** Different windows shown. */
  private val MostWindows = 6

  def render(decisions: Seq[Decision]): String =
    if (decisions.isEmpty) "no groupBy in this query"
    else
      decisions.map {
        case s: Shared => shared(s)
        case d: Declined => declined(d)
      }.mkString("\n\n")

  /** The aggregates of a query, and what became of each, if anything was left alone. */
  def whyNot(found: Explained): String =
    if (!found.decisions.exists(_.isInstanceOf[Declined])) "nothing was left alone"
    else found.trees.map(_.text).mkString("\n\n")

  private[explain] def savings(s: Shared): String = String.format(
    Locale.ROOT,
    "expected to take %s instead of %s (%.0f %% less)",
    duration(s.choice.cost),
    duration(s.choice.costWithout),
    Double.box(100 * s.choice.savings)
  )

  private def declined(d: Declined): String = s"left alone: ${d.subject}\n  ${d.reason.code}: ${d.reason.message}"

  private def shared(s: Shared): String = {
    val legend = s.legend.map { case (letter, name) => s"$letter = $name" }
    val head = Seq(
      s.notation,
      s"shared: ${s.subject}",
      s"  ${s.problem.queries.size} groupBys over ${count(s.problem.statistics.rows)} rows, " +
        s"${savings(s)}, chosen by ${s.choice.algorithm}" +
        (if (consumers(s) > 1) s", read in ${consumers(s)} places" else "")
    ) ++ s.choice.runnerUp.map(nextBest(
      _,
      s.choice
    )) ++ Option.when(legend.nonEmpty)(s"  where ${legend.mkString(", ")}") ++ windows(s) ++
      Option.when(predicates(s) > 0)(s"  predicates: ${predicates(s)} different ones") ++ s.verifiable.map(verified)
    val notation = new Notation(s.problem.attributes)
    val relations = RelationView.of(s)
    val rows = relations.zipWithIndex.map { case (r, i) =>
      Seq(
        i.toString,
        notation.render(r.bits),
        if (r.isPhantom) "phantom" else r.queries.mkString(" "),
        if (r.parent < 0) "input" else r.parent.toString,
        r.placement,
        if (r.buckets == 0) "-" else r.buckets.toString,
        groups(r),
        if (r.shards == 0) "-" else s"${r.shards} by ${notation.render(r.shardBits)}"
      )
    }
    val title = Seq("#", "relation", "answers", "fed by", "placement", "buckets", "groups", "shards")
    (head ++ table(title +: rows).map("  " + _) ++ statistics(s)).mkString("\n")
  }

  private def verified(v: Verifiable): String = v.impossible match {
    case None if v.mode == VerifyOptions.Sample => "  verified: some runs, with plain Spark's rows"
    case None => "  verified: with plain Spark's rows, which are returned"
    case Some(why) => s"  not verified: $why"
  }

  private def groups(r: RelationView): String = {
    val told = r.slices.map(n => s"${count(n)} slices") ++ r.fragments.map(n => s"${count(n)} fragments")
    if (told.isEmpty) count(r.groups) else s"${count(r.groups)} (${told.mkString(", ")})"
  }

  /** Different predicates of the queries; none is not one. */
  private[explain] def predicates(s: Shared): Int = {
    val queries = s.workload.queries.indices
    val bits = queries.flatMap(s.workload.fragmentOf) ++ queries.flatMap(s.workload.masksOf).flatMap(_._2)
    bits.distinct.size + s.workload.predicates.size
  }

  /** Operators of the plan that get results. */
  private[explain] def consumers(s: Shared): Int = s.workload.consumers.size

  private def windows(s: Shared): Option[String] = {
    val found = s.workload.queries.flatMap(_.window).map(w => (w.range, w.slide)).distinct
    val shown = found.take(MostWindows).map { case (range, slide) => s"${seconds(range)} every ${seconds(slide)}" }
    val more = if (found.size > shown.size) Seq(s"${found.size - shown.size} more") else Nil
    Option.when(found.nonEmpty)(s"  windows: ${(shown ++ more).mkString(", ")}")
  }

  private def seconds(micros: Long): String =
    java.math.BigDecimal.valueOf(micros, 6).stripTrailingZeros.toPlainString + " s"

  private def nextBest(r: RunnerUp, choice: Choice): String = {
    val margin = 100 * choice.margin.getOrElse(0.0)
    def percent(x: Double): String = String.format(Locale.ROOT, "%.0f %%", Double.box(x))
    val (title, comparison) =
      if (margin < 0) ("not taken", s"${percent(-margin)} less: too little to leave the plan in use")
      else ("next best", s"${percent(margin)} more")
    s"  $title: ${r.description}, ${duration(r.cost)} ($comparison)"
  }

  /** What it was decided with, and where each number comes from. */
  private def statistics(s: Shared): Seq[String] = {
    val lines = StatisticsProvider.describe(s.problem, new Notation(s.problem.attributes).render(_: BitSet))
    val shown =
      if (lines.size <= MostNumbers) lines else lines.take(MostNumbers) :+ s"... ${lines.size - MostNumbers} more"
    "  decided with:" +: shown.map("    " + _)
  }

  private def table(rows: Seq[Seq[String]]): Seq[String] = {
    val widths = rows.transpose.map(_.map(_.length).max)
    rows.map(_.zip(widths).map { case (cell, width) => cell.padTo(width, ' ') }.mkString("  ").stripTrailing)
  }

  private def count(n: Double): String = String.format(Locale.ROOT, "%,.0f", Double.box(n))

  private def duration(nanos: Double): String =
    if (nanos >= 1e9) String.format(Locale.ROOT, "%.1f s", Double.box(nanos / 1e9))
    else String.format(Locale.ROOT, "%.1f ms", Double.box(nanos / 1e6))
}
