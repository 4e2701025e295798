package io.phantoms.spark.detect

import scala.annotation.tailrec

import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.functions.FilterOrder

import org.apache.spark.sql.catalyst.expressions.{AttributeMap, Expression, IntegerLiteral, Literal}
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Filter,
  Join,
  LocalLimit,
  LocalRelation,
  LogicalPlan,
  Project,
  Union
}
import org.apache.spark.sql.catalyst.trees.TreePattern

/**
 * Several groupBys under one union that read one input.
 *
 * A branch is `[Project | Filter | LocalLimit]* > Aggregate`, with or without grouping sets of its own. Branches whose
 * inputs are copies of each other (see [[InputAlignment]]) become one workload; others stay in the union.
 */
object UnionDetector {

  /**
   * @param aggregating ordinals of the children that aggregate
   * @param limitAbove a limit that stands directly above the union
   */
  def detect(
      union: Union,
      aggregating: IndexedSeq[Int],
      limitAbove: Option[Int]
  ): Either[DeclineReason, Candidate] = {
    val children = union.children.toIndexedSeq
    def aggregates(i: Int): LogicalPlan = UnionCandidate.aggregateIn(children(i))
    val normalised = aggregating.map { i =>
      (i, normalise(children(i), limitAbove).flatMap(InputGroups.eligible))
    }
    val reasons = normalised.collect { case (i, Left(reason)) => LeftAlone(reason, Seq(aggregates(i))) }
    val members = normalised.collect { case (i, Right(queries)) => InputGroups.Member(i, queries) }
    val empty = members.filter(m => m.queries.forall(isEmpty)).map(_.ordinal).toSet
    val live = members.filterNot(m => empty(m.ordinal))
    val InputGroups.Made(made, refused, alone) = InputGroups.made(live) { g =>
      // What is to be computed is the operator's whole output only if nothing else stays under the union.
      val whole = g.members.size + empty.size == children.size
      val output = if (whole) union.output else union.output.map(_.newInstance())
      g.workload(g.members.map(m => children(m.ordinal)), IndexedSeq(Consumer(output, g.queries.indices)))
    }
    val found = made.map { case (group, workload) => (workload, group.ordinals) }
    val declined =
      refused.map { case (ordinals, reason) => LeftAlone(reason, ordinals.toSeq.sorted.map(aggregates)) } ++ reasons
    if (found.isEmpty)
      Left(declined.headOption.map(_.reason).getOrElse(if (live.size > 1) DifferentInputs else SingleAggregate))
    else {
      val foreign =
        Option.when(alone.nonEmpty)(LeftAlone(
          DifferentInputs,
          alone.flatMap(_.members).map(m => aggregates(m.ordinal))
        ))
      Right(UnionCandidate(union, found.map(_._1), found.map(_._2), empty, byReason(declined ++ foreign)))
    }
  }

  private def byReason(all: Seq[LeftAlone]): Seq[LeftAlone] =
    all.map(_.reason).distinct.map(r => LeftAlone(r, all.filter(_.reason == r).flatMap(_.operators)))

  /** The Aggregate that computes a union's branch, if nothing else does. */
  @tailrec
  def aggregateOf(plan: LogicalPlan, limitAbove: Option[Int]): Option[Aggregate] = plan match {
    case a: Aggregate => Some(a)
    case p: Project if !p.projectList.exists(isPython) => aggregateOf(p.child, limitAbove)
    case f: Filter if !isPython(f.condition) => aggregateOf(f.child, limitAbove)
    case l: LocalLimit if isCovered(l, limitAbove) => aggregateOf(l.child, limitAbove)
    case _ => None
  }

  /** Above a branch's results others compute it, of rows of their own. */
  private def isPython(e: Expression): Boolean = e.containsPattern(TreePattern.PYTHON_UDF)

  /** A branch's limit that the one above the union repeats: it only saves work, rows are cut above. */
  private def isCovered(limit: LocalLimit, above: Option[Int]): Boolean = (limit.limitExpr, above) match {
    case (IntegerLiteral(n), Some(m)) => m <= n
    case _ => false
  }

  private def normalise(plan: LogicalPlan, limitAbove: Option[Int]): Either[DeclineReason, Seq[WorkloadQuery]] =
    plan match {
      case a: Aggregate => AggregateNormalizer.branches(a)
      case p: Project =>
        normalise(p.child, limitAbove).map(_.map { b =>
          val columns = columnsOf(p.child, b)
          b.copy(results = p.projectList.map(e => Inlining.substitute(Inlining.withoutAlias(e), columns)))
        })
      case f: Filter =>
        normalise(f.child, limitAbove).map(_.map { b =>
          b.copy(having =
            WorkloadBuilder.both(b.having, Some(Inlining.substitute(asked(f.condition), columnsOf(f.child, b))))
          )
        })
      case l: LocalLimit => normalise(l.child, limitAbove)
      case _ => Left(UnsupportedShape("a branch of a union that does not end in an aggregate"))
    }

  private def asked(condition: Expression): Expression =
    if (FilterOrder.compilesStages) FilterOrder.asExpression(condition) else condition

  private def columnsOf(plan: LogicalPlan, branch: WorkloadQuery): AttributeMap[Expression] =
    AttributeMap(plan.output.zip(branch.results))

  /** No row ever: grouped, over an input that the optimizer found empty. */
  private def isEmpty(branch: WorkloadQuery): Boolean = !branch.rowOnEmptyInput && isEmpty(branch.source)

  /** Whether the optimizer found that there is no row; what reads it is still in the plan. */
  private[detect] def isEmpty(plan: LogicalPlan): Boolean = plan match {
    case l: LocalRelation => l.data.isEmpty && !l.isStreaming
    case p: Project => isEmpty(p.child)
    case f: Filter => isEmpty(f.child) || f.condition == Literal.FalseLiteral
    case j: Join => j.joinType match {
        case _: InnerLike | LeftSemi => isEmpty(j.left) || isEmpty(j.right)
        case _ => false
      }
    case _ => false
  }
}
