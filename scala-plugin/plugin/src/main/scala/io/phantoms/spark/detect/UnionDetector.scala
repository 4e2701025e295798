package io.phantoms.spark.detect

import scala.annotation.tailrec

import io.phantoms.spark.detect.DeclineReason._

import org.apache.spark.sql.catalyst.expressions.{AttributeMap, Expression, IntegerLiteral}
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Filter,
  LocalLimit,
  LocalRelation,
  LogicalPlan,
  Project,
  Union
}

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
    val normalised = aggregating.map { i =>
      (i, normalise(children(i), limitAbove).flatMap(withEligibleSource))
    }
    val reasons = normalised.collect { case (_, Left(reason)) => reason }
    val members = normalised.collect { case (i, Right(queries)) => Member(i, queries) }
    val empty = members.filter(m => m.queries.forall(isEmpty)).map(_.ordinal).toSet
    val live = members.filterNot(m => empty(m.ordinal))
    val (shared, single) = live.foldLeft(Vector.empty[Group])(add).partition(_.members.map(_.queries.size).sum > 1)
    val (several, alone) = {
      val (relaxed, rest) = underFilters(single)
      (shared.flatMap(manyWindows) ++ relaxed, rest)
    }
    // What is to be computed is the operator's whole output only if nothing else stays under the union.
    val whole = several.size == 1 && live.size + empty.size == children.size && alone.isEmpty
    val tried = several.map { g =>
      val output = if (whole) union.output else union.output.map(_.newInstance())
      val queries = g.members.flatMap(_.queries)
      for {
        _ <- SensitiveSources.readDifferently(g.members.map(m => children(m.ordinal)), g.base, queries).toLeft(())
        _ <- Option.when(
          g.originals.exists(b => !b.fromGroupingSets && SensitiveSources.computesAggregates(b.source))
        )(SourcePushDown).toLeft(())
        workload <-
          WorkloadBuilder.build(g.base, queries, IndexedSeq(Consumer(output, queries.indices)), oneAggregate = false)
      } yield (workload, g.members.map(_.ordinal).toSet)
    }
    val found = tried.collect { case Right(f) => f }
    val declined = tried.collect { case Left(r) => r } ++ reasons
    if (found.isEmpty) Left(declined.headOption.getOrElse(if (live.size > 1) DifferentInputs else SingleAggregate))
    else {
      val foreign = if (alone.nonEmpty) Seq(DifferentInputs) else Nil
      Right(UnionCandidate(union, found.map(_._1), found.map(_._2), empty, (declined ++ foreign).distinct))
    }
  }

  /** Puts a member into the group whose input it shares, if there is one. */
  private def add(groups: Vector[Group], member: Member): Vector[Group] = {
    val source = member.queries.head.source
    aligned(groups.map(_.base), source) match {
      case Some((i, m)) =>
        val moved = member.copy(queries = member.queries.map(_.onSource(m.plan, m.translate)))
        val old = groups(i)
        groups.updated(i, Group(m.plan, old.members :+ moved, old.originals ++ member.queries))
      case None => groups :+ Group(source, Vector(member), member.queries.toVector)
    }
  }

  /** The first of some inputs of which another one is a copy. */
  private def aligned(inputs: Vector[LogicalPlan], other: LogicalPlan): Option[(Int, InputAlignment.Merged)] =
    inputs.iterator.zipWithIndex.flatMap { case (input, i) => InputAlignment.merge(input, other).map((i, _)) }
      .nextOption()

  /**
   * Different windows or filters that one workload has at most; of more, several workloads read the input. Each is a key
   * of its own, and what can help so many of them takes the chooser long to weigh.
   */
  private val MostKeys = 16

  private def manyWindows(group: Group): Seq[Group] = {
    val windows = group.members.flatMap(_.queries).flatMap(_.window).distinctBy(w => (w.range, w.slide, w.start)).size
    if (windows <= MostKeys) Seq(group)
    else group.members.grouped(MostKeys).map(m => group.copy(members = m)).toSeq
  }

  /** GroupBys that are alone because of their filters: those that would share an input without them, and the rest. */
  private def underFilters(single: Vector[Group]): (Vector[Group], Vector[Group]) = {
    val found = single.map(g => g -> Predicates.filtered(g.base))
    val merged = found.foldLeft(Vector.empty[Unfiltered]) {
      case (made, (g, Some(f))) =>
        val query = g.members.head.queries.head
        aligned(made.map(_.input), f.input) match {
          case Some((i, m)) =>
            val entry = (g, query.onSource(m.plan, m.translate), f.condition.map(m.translate))
            made.updated(i, Unfiltered(m.plan, made(i).parts :+ entry))
          case None => made :+ Unfiltered(f.input, Vector((g, query.copy(source = f.input), f.condition)))
        }
      case (made, _) => made
    }.flatMap(u => u.parts.grouped(MostKeys).map(parts => u.copy(parts = parts))).filter(_.parts.size > 1)
    val taken = merged.flatMap(_.parts.map(_._1))
    (merged.map(_.group), single.filterNot(g => taken.exists(_ eq g)))
  }

  /** GroupBys over one input, each with the filter that it had. */
  private final case class Unfiltered(
      input: LogicalPlan,
      parts: Vector[(Group, WorkloadQuery, Option[Expression])]
  ) {
    def group: Group = {
      val base = Predicates.hull(input, parts.map(_._3))
      Group(
        base,
        parts.map { case (g, query, condition) =>
          val over = query.copy(source = base)
          Member(g.members.head.ordinal, Seq(condition.fold(over)(Predicates.under(over, _))))
        },
        parts.flatMap(_._1.originals)
      )
    }
  }

  /** A child of the union that aggregates; `queries` as many as it has grouping sets. */
  private final case class Member(ordinal: Int, queries: Seq[WorkloadQuery])

  /** Children that read one base. `originals` hold their inputs as they were before they were merged. */
  private final case class Group(base: LogicalPlan, members: Vector[Member], originals: Vector[WorkloadQuery])

  /** The Aggregate that computes a union's branch, if nothing else does. */
  @tailrec
  def aggregateOf(plan: LogicalPlan, limitAbove: Option[Int]): Option[Aggregate] = plan match {
    case a: Aggregate => Some(a)
    case p: Project => aggregateOf(p.child, limitAbove)
    case f: Filter => aggregateOf(f.child, limitAbove)
    case l: LocalLimit if isCovered(l, limitAbove) => aggregateOf(l.child, limitAbove)
    case _ => None
  }

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
            WorkloadBuilder.both(b.having, Some(Inlining.substitute(f.condition, columnsOf(f.child, b))))
          )
        })
      case l: LocalLimit => normalise(l.child, limitAbove)
      case _ => Left(UnsupportedShape("a branch of a union that does not end in an aggregate"))
    }

  /** Asked of each branch on its own: one bad input is no reason to leave the others alone. */
  private def withEligibleSource(queries: Seq[WorkloadQuery]): Either[DeclineReason, Seq[WorkloadQuery]] =
    queries.headOption.flatMap(b => Eligibility.source(b.source)).toLeft(queries)

  private def columnsOf(plan: LogicalPlan, branch: WorkloadQuery): AttributeMap[Expression] =
    AttributeMap(plan.output.zip(branch.results))

  /** No row ever: grouped, over an input that the optimizer found empty. */
  private def isEmpty(branch: WorkloadQuery): Boolean = !branch.rowOnEmptyInput && (branch.source match {
    case l: LocalRelation => l.data.isEmpty && !l.isStreaming
    case _ => false
  })
}
