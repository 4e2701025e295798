package io.phantoms.spark.explain

import scala.collection.mutable

import io.phantoms.spark.decide.{Declined, Finding, Visited}
import io.phantoms.spark.detect.{DeclineReason, ScatteredAggregates}

import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Subquery}

/**
 * The aggregates of a plan as a tree, and below each what became of it.
 *
 * @param number of the workload that a finding is about
 */
private[explain] final class Verdicts(visit: Visited, number: Finding => Option[Int]) {
  // By finding: operators that stand elsewhere, and where in the plan the others do.
  private val (elsewhere, places): (Seq[(Finding, Seq[LogicalPlan])], Seq[(Finding, Seq[LogicalPlan])]) =
    visit.findings.map { f =>
      val (others, here) = f.operators.partitionMap(o => Place.of(visit.plan, o).toRight(o))
      (f -> others, f -> here)
    }.unzip

  // A reason is told in full where it is met first.
  private val told = mutable.Set.empty[(DeclineReason, Option[Int])]

  /** One, and one more for each operator that stands in a subquery, or in an input of shared aggregates in another form. */
  def trees: Seq[Outline] = {
    val own = Outline.of(visit.plan) {
      case p if isShown(p) => Some(Outline(Outline.title(p), notes(p)))
      case _ => None
    }
    val moved = for ((f, operators) <- elsewhere; o <- operators) yield Outline(Outline.title(o), verdict(f))
    own ++ moved
  }

  private def isShown(p: LogicalPlan): Boolean = p match {
    case _: Aggregate | _: Subquery => true
    case other => of(other).nonEmpty || other.children.count(_.exists(_.isInstanceOf[Aggregate])) > 1
  }

  private def of(p: LogicalPlan): Seq[Finding] = places.collect { case (f, found) if found.exists(_ eq p) => f }

  private def notes(p: LogicalPlan): Seq[String] = {
    val found = of(p)
    val refused = p match {
      // Nothing was decided of what cannot be shared with anything, if others were.
      case a: Aggregate if found.isEmpty && !isCovered(a) => ScatteredAggregates.refused(a).toSeq
      case _ => Nil
    }
    val said = found.flatMap(verdict) ++ refused.flatMap(r => declined(r, None))
    if (said.isEmpty && !isCovered(p) && p.isInstanceOf[Aggregate]) Seq("left alone: there is nothing to share it with")
    else said
  }

  /** Whether something was decided of what holds it. */
  private def isCovered(p: LogicalPlan): Boolean = places.exists(_._2.exists(_.exists(_ eq p)))

  private def verdict(f: Finding): Seq[String] = f.decision match {
    case Declined(_, reason) => declined(reason, number(f))
    case _ => Seq(s"shared${Verdicts.ofWorkload(number(f))}")
  }

  private def declined(reason: DeclineReason, workload: Option[Int]): Seq[String] =
    if (told.add((reason, workload))) Verdicts.declined(reason, workload)
    else Seq(s"declined ${reason.code}${Verdicts.ofWorkload(workload)}, as above")
}

private[explain] object Verdicts {
  def declined(reason: DeclineReason, workload: Option[Int]): Seq[String] = Seq(
    s"declined ${reason.code}${ofWorkload(workload)}: ${reason.message}",
    s"what would help: ${reason.advice}"
  )

  private def ofWorkload(number: Option[Int]): String = number.fold("")(n => s" (workload $n)")
}
