package io.phantoms.spark.explain

import io.phantoms.spark.decide.{Decision, Declined, Finding, Shared, Visited}
import io.phantoms.spark.detect.Workload
import io.phantoms.spark.stats.StatisticsProvider

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Subquery}

/**
 * A decision, and in words where it was made.
 *
 * @param tree the operators from the root of the plan down to those that it is about, which are marked
 * @param workload number and groupings of the aggregates that are shared, or would be; None if it did not come to them
 */
final case class Placed(decision: Decision, tree: String, workload: Option[String])

/**
 * All that was decided of a query.
 *
 * @param placed what is shared, then what is left alone
 * @param outlines see [[trees]]
 */
final class Explained(val placed: Seq[Placed], outlines: => Seq[Outline]) {

  /** The aggregates of the query and of its subqueries, with what became of each. */
  lazy val trees: Seq[Outline] = outlines

  def decisions: Seq[Decision] = placed.map(_.decision)
}

object Explained {
  private val MostGroupings = 12
  private val Here = "   <-- here"

  /** A reason that keeps any query from being looked at. */
  def unseen(d: Declined): Explained =
    new Explained(Seq(Placed(d, d.subject, None)), Seq(Outline(d.subject, Verdicts.declined(d.reason, None))))

  def apply(visits: Seq[Visited]): Explained = {
    val once = visits.foldLeft(Vector.empty[Visited])((kept, v) => if (isRepeated(kept, v)) kept else kept :+ v)
    val (ofSubqueries, ofQueries) = once.partition(_.plan.isInstanceOf[Subquery])
    val ordered = ofQueries ++ ofSubqueries.filterNot(isShared(ofQueries))
    val workloads = ordered.flatMap(_.findings).filter(_.workload.nonEmpty)
    def number(f: Finding): Option[Int] = Some(workloads.indexWhere(_ eq f) + 1).filter(_ > 0)
    val placed = for (visit <- ordered; f <- visit.findings)
      yield Placed(
        f.decision,
        path(visit.plan, f.operators),
        f.workload.map(w => s"${number(f).get}: ${groupings(w)}")
      )
    val (shared, declined) = placed.partition(_.decision.isInstanceOf[Shared])
    new Explained(shared ++ declined.distinctBy(_.decision), ordered.flatMap(new Verdicts(_, number).trees))
  }

  /** What a subquery has nothing to share by itself, and shares with the query, which is looked at later. */
  private def isShared(queries: Seq[Visited])(subquery: Visited): Boolean = {
    // By what it puts out: the rest of the optimizer has been there meanwhile.
    def ids(p: LogicalPlan): Seq[ExprId] = p.output.map(_.exprId)
    val shared = queries.flatMap(_.findings).filter(_.decision.isInstanceOf[Shared]).flatMap(_.operators).map(ids).toSet
    subquery.findings.nonEmpty && subquery.findings.forall { f =>
      f.decision.isInstanceOf[Declined] && f.operators.forall(o => shared(ids(o)))
    }
  }

  /** Spark may run a rule a second time to see that it changes nothing more: what was declined is declined again. */
  private def isRepeated(before: Seq[Visited], again: Visited): Boolean = {
    def shares(v: Visited): Boolean = v.findings.exists(_.decision.isInstanceOf[Shared])
    !shares(again) && before.exists(_.plan.sameResult(again.plan))
  }

  private def groupings(workload: Workload): String = {
    val names = StatisticsProvider.attributesOf(workload.keys).map(_.name)
    val sets = workload.queries.indices.map(workload.keysOf(_).map(names).mkString("(", ", ", ")"))
    val more = if (sets.size > MostGroupings) Seq(s"and ${sets.size - MostGroupings} more") else Nil
    (sets.take(MostGroupings) ++ more).mkString(" ")
  }

  private def path(plan: LogicalPlan, operators: Seq[LogicalPlan]): String = {
    // In a subquery, or in an input of shared aggregates in another form.
    val (moved, marked) = operators.partitionMap(o => Place.of(plan, o).toRight(o))
    def isMarked(p: LogicalPlan): Boolean = marked.exists(_ eq p)
    val outlines = Outline.of(plan) { p =>
      if (isMarked(p)) Some(Outline(s"${Outline.title(p)}$Here"))
      else Option.when(p.exists(isMarked))(Outline(Outline.title(p)))
    }
    (outlines ++ moved.map(o => Outline(s"${Outline.title(o)}$Here"))).map(_.text).mkString("\n")
  }
}
