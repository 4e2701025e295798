package io.phantoms.spark.detect

import scala.annotation.tailrec

import io.phantoms.spark.detect.DeclineReason._

import org.apache.spark.sql.catalyst.expressions.{AttributeMap, Expression, IntegerLiteral, Literal}
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
    val (relaxed, kept) = underFilters(live.foldLeft(Vector.empty[Group])(add))
    val (alone, shared) = kept.partition(_.isSingle)
    val several = shared.map(composed) ++ relaxed
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
    val constants = filterConstants(source)
    // Of hundreds with a filter of their own, nearly all differ in that.
    aligned(groups.map(_.base), source, groups(_).constants == constants) match {
      case Some((i, m)) =>
        val moved = member.copy(queries = member.queries.map(_.onSource(m.plan, m.translate)))
        val old = groups(i)
        groups.updated(i, old.copy(m.plan, old.members :+ moved, old.originals ++ member.queries))
      case None => groups :+ Group(source, Vector(member), member.queries.toVector, constants)
    }
  }

  /** Something that filters of copies of one input have in common, whatever order they are written in. */
  private def filterConstants(plan: LogicalPlan): Int =
    plan.collect { case f: Filter => f.condition.collect { case l: Literal => l.hashCode }.sum }.sum

  /** The first of some inputs, of those that are likely to be, of which another one is a copy. */
  private def aligned(
      inputs: Vector[LogicalPlan],
      other: LogicalPlan,
      likely: Int => Boolean
  ): Option[(Int, InputAlignment.Merged)] =
    inputs.indices.iterator.filter(likely).flatMap(i => InputAlignment.merge(inputs(i), other).map((i, _))).nextOption()

  /** With the keys of its queries as few as they can be. */
  private def composed(group: Group): Group = {
    val queries = Shards.composed(group.members.flatMap(_.queries)).iterator
    group.copy(members = group.members.map(m => m.copy(queries = m.queries.map(_ => queries.next()))))
  }

  /**
   * Groups that would share an input without their filters, each as one of several queries under a filter: those of which
   * nobody else has the filter, and where there are many filters, all. And the groups that are none of these.
   */
  private def underFilters(groups: Vector[Group]): (Vector[Group], Vector[Group]) = {
    val found = groups.flatMap(g => Predicates.filtered(g.base).map(g -> _))
    val inputs = found.foldLeft(Vector.empty[Unfiltered]) { case (made, (g, f)) =>
      // What is computed behind filters is shared with those who compute the same there.
      aligned(made.map(_.input), f.input, made(_).guarded == f.guarded) match {
        case Some((i, m)) =>
          val part = Part(g.moved(m.plan, m.translate), f.condition.map(m.translate), g)
          made.updated(i, Unfiltered(m.plan, made(i).parts :+ part, f.guarded))
        case None => made :+ Unfiltered(f.input, Vector(Part(g.moved(f.input, identity), f.condition, g)), f.guarded)
      }
    }
    val merged = inputs.map(u => if (u.parts.size > MostKept) u else u.copy(parts = u.parts.filter(_.group.isSingle)))
      .filter(u => u.parts.size > 1 && u.isSafe)
    val taken = merged.flatMap(_.parts.map(_.original))
    (merged.flatMap(_.groups), groups.filterNot(g => taken.exists(_ eq g)))
  }

  /** Filters over one input of which those that several queries share are left to these. */
  private val MostKept = 2

  /** A group over an input without its filter, and the group as it was. */
  private final case class Part(group: Group, condition: Option[Expression], original: Group)

  /**
   * Groups over one input, each with the filter that it had.
   *
   * @param guarded what each of them computes behind its filter that may fail
   */
  private final case class Unfiltered(input: LogicalPlan, parts: Vector[Part], guarded: Int) {

    /** Whether all compute the same of what may fail, and can do so behind a filter. */
    def isSafe: Boolean = guarded == 0 || (guarded == Predicates.guarded(input) &&
      parts.flatMap(_.condition).forall(c => Predicates.guarded(placedOn(c)) == 0))

    private def placedOn(condition: Expression): LogicalPlan =
      Predicates.place(condition, input).collectFirst { case f: Filter => f.child }.get

    /** One group, or several where predicates are too many for keys of their own. */
    def groups: Vector[Group] = {
      val all = for { Part(g, condition, _) <- parts; m <- g.members } yield (m, g, condition)
      val slices = Shards.composed(all.flatMap(_._1.queries)).iterator
      val members = all.map { case (m, g, condition) =>
        Entry(m.ordinal, m.queries.map(_ => Shards.Filtered(slices.next(), condition)), g)
      }
      val keyed = Shards.keyed(members.flatMap(_.queries))
      val (apart, together) = members.partition(m => m.queries.exists(q => keyed.exists(_ eq q)))
      if (keyed.map(_.predicate.canonicalized).distinct.size <= Shards.MostKeys) Vector(group(members))
      else (together +: apart.grouped(Shards.MostKeys).toVector).filter(_.flatMap(_.queries).size > 1).map(group)
    }

    private def group(entries: Vector[Entry]): Group = {
      val filtered = entries.flatMap(_.queries)
      val (under, rows) = Shards.under(filtered)
      val base = rows.fold(input)(c => Predicates.simplified(Predicates.place(c, input)))
      val queries = under.map(_.copy(source = base)).iterator
      Group(
        base,
        entries.map(e => Member(e.ordinal, e.queries.map(_ => queries.next()))),
        entries.flatMap(_.group.originals).distinct
      )
    }
  }

  private final case class Entry(ordinal: Int, queries: Seq[Shards.Filtered], group: Group)

  /** A child of the union that aggregates; `queries` as many as it has grouping sets. */
  private final case class Member(ordinal: Int, queries: Seq[WorkloadQuery])

  /**
   * Children that read one base.
   *
   * @param originals hold their inputs as they were before they were merged
   * @param constants see [[filterConstants]]
   */
  private final case class Group(
      base: LogicalPlan,
      members: Vector[Member],
      originals: Vector[WorkloadQuery],
      constants: Int = 0
  ) {
    def isSingle: Boolean = members.map(_.queries.size).sum == 1

    /** Its queries over another input. */
    def moved(input: LogicalPlan, rewrite: Expression => Expression): Group =
      copy(base = input, members = members.map(m => m.copy(queries = m.queries.map(_.onSource(input, rewrite)))))
  }

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
