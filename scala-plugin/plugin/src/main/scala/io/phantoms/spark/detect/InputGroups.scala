package io.phantoms.spark.detect

import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.functions.ExpressionCost

import org.apache.spark.sql.catalyst.expressions.{And, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Operators that aggregate, parted by what they read: those whose inputs are copies of each other (see [[InputAlignment]]),
 * or would be without their filters, are a group.
 *
 * @param several groups that have something to share
 * @param alone the others
 */
private[detect] final case class InputGroups(several: Vector[InputGroups.Group], alone: Vector[InputGroups.Group])

private[detect] object InputGroups {

  /**
   * An operator that aggregates; `queries` as many as it has grouping sets.
   *
   * @param ordinal says which one
   */
  final case class Member(ordinal: Int, queries: Seq[WorkloadQuery])

  /**
   * Operators that read one base.
   *
   * @param originals hold their inputs as they were before they were merged
   * @param constants see [[Predicates.constants]]
   * @param otherForms the same with windows or predicates told apart in another way, where there is one
   */
  final case class Group(
      base: LogicalPlan,
      members: Vector[Member],
      originals: Vector[WorkloadQuery],
      constants: Seq[Int] = Nil,
      otherForms: Vector[Group] = Vector.empty
  ) {
    def queries: Vector[WorkloadQuery] = members.flatMap(_.queries)
    def isSingle: Boolean = queries.size == 1

    /** Whether plain Spark shuffles it once, however many read that. */
    def isOneGroupBy: Boolean = queries.distinctBy { q =>
      (
        q.keys.map(_.expression.canonicalized),
        q.functions.map(f => WorkloadAggregate(f.function, f.filter).identity).toSet,
        q.rows.map(_.canonicalized),
        q.rowOnEmptyInput
      )
    }.size == 1

    /** Ordinals of those that keep it from being shared, each by itself or all of a kind together. */
    def hindering: Set[Int] = {
      def those(is: WorkloadQuery => Boolean) = members.filter(_.queries.exists(is)).map(_.ordinal).toSet
      val each = those(q => WorkloadBuilder.putTogether(q).orElse(WorkloadBuilder.tooWide(Seq(q))).isDefined)
      def together = WorkloadBuilder.tooWide(queries).map { case (is, _) =>
        those(_.functions.exists(f => is(f.function)))
      }
      if (each.nonEmpty) each else together.getOrElse(Set.empty)
    }

    /** Ordinals of its members. */
    def ordinals: Set[Int] = members.map(_.ordinal).toSet

    /** Its queries over another input. */
    def moved(input: LogicalPlan, rewrite: Expression => Expression): Group =
      copy(base = input, members = members.map(m => m.copy(queries = m.queries.map(_.onSource(input, rewrite)))))

    /**
     * What it is to compute.
     *
     * @param operators what plain Spark computes it by, each over its own copy of the input
     * @param consumers who gets which of the queries, in the order of the members
     */
    def workload(operators: Seq[LogicalPlan], consumers: IndexedSeq[Consumer]): Either[DeclineReason, Workload] =
      for {
        _ <- SensitiveSources.readDifferently(operators, base, queries).toLeft(())
        _ <- Option.when(
          originals.exists(b => !b.fromGroupingSets && SensitiveSources.computesAggregates(b.source))
        )(SourcePushDown).toLeft(())
        workload <- WorkloadBuilder.build(base, queries, consumers, oneAggregate = false)
      } yield {
        val others = otherForms.flatMap(_.workload(operators, consumers).toOption)
        workload.copy(alternatives = workload.alternatives ++ others)
      }
  }

  def apply(members: Seq[Member]): InputGroups = {
    val (relaxed, kept) = underFilters(members.foldLeft(Vector.empty[Group])(add))
    val (alone, shared) = kept.partition(_.isSingle)
    InputGroups(shared.map(composed) ++ relaxed, alone)
  }

  /** Asked of each member on its own: one bad input, or function, is no reason to leave the others alone. */
  def eligible(queries: Seq[WorkloadQuery]): Either[DeclineReason, Seq[WorkloadQuery]] =
    queries.headOption.flatMap(b => Eligibility.source(b.source))
      .orElse(queries.flatMap(WorkloadBuilder.putTogether).headOption).toLeft(queries)

  /**
   * What was made of groups.
   *
   * @param refused ordinals of members that nothing was made of
   */
  final case class Made[T](of: Vector[(Group, T)], refused: Vector[(Set[Int], DeclineReason)], alone: Vector[Group])

  /**
   * Something made of each group that has something to share; where a few of its members keep it from that, of the others.
   *
   * @param isOffered whether a group is to be looked at
   */
  def made[T](members: Seq[Member], isOffered: Group => Boolean = _ => true)(
      make: Group => Either[DeclineReason, T]
  ): Made[T] = {
    val InputGroups(several, alone) = InputGroups(members)
    val tried = several.filter(isOffered).map { group =>
      make(group) match {
        case Right(found) => Made(Vector(group -> found), Vector.empty, Vector.empty)
        case Left(reason) =>
          val hindering = group.hindering
          val others = group.ordinals -- hindering
          if (hindering.isEmpty || others.isEmpty) Made[T](Vector.empty, Vector(group.ordinals -> reason), Vector.empty)
          else {
            val rest = made(members.filter(m => others(m.ordinal)), isOffered)(make)
            val left = hindering ++ rest.alone.flatMap(_.ordinals)
            rest.copy(refused = (left -> reason) +: rest.refused, alone = Vector.empty)
          }
      }
    }
    Made(tried.flatMap(_.of), tried.flatMap(_.refused), alone)
  }

  /** Puts a member into the group whose input it shares, if there is one. */
  private def add(groups: Vector[Group], member: Member): Vector[Group] = {
    val source = member.queries.head.source
    val constants = Predicates.constants(source)
    // Of hundreds with a filter of their own, nearly all differ in that.
    aligned(groups.map(_.base), source, groups(_).constants == constants) match {
      case Some((i, m)) =>
        val moved = member.copy(queries = member.queries.map(_.onSource(m.plan, m.translate)))
        val old = groups(i)
        groups.updated(i, old.copy(m.plan, old.members :+ moved, old.originals ++ member.queries))
      case None => groups :+ Group(source, Vector(member), member.queries.toVector, constants)
    }
  }

  /** The first of some inputs, of those that are likely to be, of which another one is a copy. */
  private def aligned(
      inputs: Vector[LogicalPlan],
      other: LogicalPlan,
      likely: Int => Boolean
  ): Option[(Int, InputAlignment.Merged)] =
    inputs.indices.iterator.filter(likely).flatMap(i => InputAlignment.merge(inputs(i), other).map((i, _))).nextOption()

  /** With the slices of its windows as few as they can be. */
  private def composed(group: Group): Group = {
    def as(base: LogicalPlan, of: Seq[WorkloadQuery], form: Shards.Form): Group = {
      val queries = Shards.composed(of, form).iterator
      group.copy(
        base = base,
        members = group.members.map(m => m.copy(queries = m.queries.map(_ => queries.next())))
      )
    }
    val tumbling = TumblingWindows.of(group.base, group.queries)
      .filter(_._2.flatMap(_.window).distinctBy(_.shape).size > 1)
    withOthers(
      Shards.Form.of(group.queries, 0).map(as(group.base, group.queries, _)) ++
        tumbling.map { case (base, queries) => as(base, queries, Shards.Form.oneSlice) }
    )
  }

  /** The first of several forms of a group, with those of the others that differ. */
  private def withOthers(forms: Seq[Group]): Group =
    if (forms.size == 1) forms.head
    else {
      val distinct = forms.distinctBy(_.queries.map(_.keys.map(_.expression.canonicalized)))
      distinct.head.copy(otherForms = distinct.tail.toVector)
    }

  /**
   * Groups that would share an input without their filters, each as one of several queries under a filter: those of which
   * nobody else has the filter, and where there are many filters, all. And the groups that are none of these.
   */
  private def underFilters(groups: Vector[Group]): (Vector[Group], Vector[Group]) = {
    val found = groups.flatMap(g => Predicates.filtered(g.base).map(g -> _))
    val inputs = found.foldLeft(Vector.empty[Unfiltered]) { case (made, (g, f)) =>
      val own = Unfiltered(
        f.input,
        Vector(Part(g.moved(f.input, identity), f.asked, g)),
        f.guarded,
        FiltersBelow.failingBelow(f.input)
      )
      // What is computed behind filters is shared with those who compute the same there.
      aligned(made.map(_.input), f.input, made(_).computesAs(own)) match {
        case Some((i, m)) if made(i).isAsMuchIn(m.plan, own) =>
          val asked = f.asked.map(a => a.copy(condition = m.translate(a.condition)))
          made.updated(i, made(i).plus(m.plan, Part(g.moved(m.plan, m.translate), asked, g), f.guarded))
        case _ => made :+ own
      }
    }
    val merged =
      inputs.map(u => if (u.parts.size > MostKept) u else u.copy(parts = u.parts.filter(_.group.isOneGroupBy)))
        .filter(u => u.parts.size > 1 && u.isSafe)
    val taken = merged.flatMap(_.parts.map(_.original))
    (merged.flatMap(_.groups), groups.filterNot(g => taken.exists(_ eq g)))
  }

  /** Filters over one input of which those that several queries share are left to these. */
  private val MostKept = 2

  /** A group over an input without its filters, what these ask, and the group as it was. */
  private final case class Part(group: Group, asked: Seq[Predicates.Asked], original: Group) {
    def condition: Option[Expression] = asked.map(_.condition).reduceOption(And(_, _))
  }

  /**
   * Groups over one input, each with the filters that it had.
   *
   * @param guarded what each of them computes behind its filters that may fail
   * @param failing what each of them computes that may fail, if any of that is behind a filter
   */
  private final case class Unfiltered(input: LogicalPlan, parts: Vector[Part], guarded: Int, failing: Int) {

    def plus(merged: LogicalPlan, part: Part, guards: Int): Unfiltered =
      copy(input = merged, parts = parts :+ part, guarded = guarded.max(guards))

    /** Whether as much may fail of both, and as much of that behind a filter, unless one of them has none. */
    def computesAs(other: Unfiltered): Boolean =
      if (guarded == 0 && other.guarded == 0) true
      else failing == other.failing && (guarded == other.guarded || isUnfiltered || other.isUnfiltered)

    /** Whether what may fail of both is the same, which the input of both computes once. */
    def isAsMuchIn(merged: LogicalPlan, other: Unfiltered): Boolean =
      (guarded == 0 && other.guarded == 0) || FiltersBelow.failingBelow(merged) == failing

    private def isUnfiltered: Boolean = parts.forall(_.asked.isEmpty)

    /** Whether all compute the same of what may fail, and can do so behind a filter. */
    def isSafe: Boolean = isOneOrder && (guarded == 0 || (failing == FiltersBelow.failingBelow(input) &&
      parts.flatMap(guards).forall(a => FiltersBelow.unguarded(a.condition, input) <= failing - a.guards)))

    /** What has to be asked below what it guards: each filter, or what is known of a row by all of them at once. */
    private def guards(part: Part): Seq[Predicates.Asked] =
      if (predicates <= Shards.MostKeys && !parts.flatMap(_.condition).exists(ExpressionCost.canFail)) part.asked
      else part.condition.map(Predicates.Asked(_, guarded)).toSeq

    private def predicates: Int = parts.flatMap(_.condition).distinctBy(_.canonicalized).size

    /** Whether filters that are equal also fail alike, so that it does not matter which of them is asked. */
    private def isOneOrder: Boolean = parts.flatMap(_.condition).groupBy(_.canonicalized).values
      .forall(same => same.tail.forall(EvaluationOrder.isSame(same.head, _)))

    /** One group, or several where predicates are too many for keys of their own. */
    def groups: Vector[Group] = {
      // A slice in common is computed whichever of its windows are asked about a row: far from 1970 that may fail.
      val others = Shards.Form.of(parts.flatMap(_.group.queries), predicates).drop(1).filterNot(_.oneSlice)
      groups(Shards.Form.usual) match {
        case Vector(one) =>
          val same = others.map(groups(_)).collect { case Vector(other) if other.ordinals == one.ordinals => other }
          Vector(withOthers(one +: same))
        case several => several
      }
    }

    private def groups(form: Shards.Form): Vector[Group] = {
      val (common, own) = Predicates.common(parts.map(_.condition))
      val all = for { (Part(g, _, _), condition) <- parts.zip(own); m <- g.members } yield (m, g, condition)
      val slices = Shards.composed(all.flatMap(_._1.queries), form).iterator
      val members = all.map { case (m, g, condition) =>
        Entry(m.ordinal, m.queries.map(_ => Shards.Filtered(slices.next(), condition)), g)
      }
      val keyed = Shards.keyed(members.flatMap(_.queries), form)
      val (apart, together) = members.partition(m => m.queries.exists(q => keyed.exists(_ eq q)))
      if (keyed.map(_.predicate.canonicalized).distinct.size <= Shards.MostKeys)
        Vector(group(members, common, form))
      else {
        // Of about one size: what is left over would have nobody to share with.
        val parts = (apart.size + Shards.MostKeys - 1) / Shards.MostKeys
        (together +: apart.grouped((apart.size + parts - 1) / parts).toVector).filter(_.flatMap(_.queries).size > 1)
          .map(group(_, common, form))
      }
    }

    private def group(entries: Vector[Entry], common: Option[Expression], form: Shards.Form): Group = {
      val filtered = entries.flatMap(_.queries)
      val (under, rows) = Shards.under(filtered, form)
      val base = WorkloadBuilder.both(common, rows)
        .fold(input)(c => Predicates.simplified(FiltersBelow.placed(c, input)))
      val queries = under.map(_.copy(source = base)).iterator
      Group(
        base,
        entries.map(e => Member(e.ordinal, e.queries.map(_ => queries.next()))),
        entries.flatMap(_.group.originals).distinct
      )
    }
  }

  private final case class Entry(ordinal: Int, queries: Seq[Shards.Filtered], group: Group)
}
