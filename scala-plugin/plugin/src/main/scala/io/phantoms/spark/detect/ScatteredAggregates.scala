package io.phantoms.spark.detect

import io.phantoms.spark.physical.Verified
import io.phantoms.spark.shims.MergedSubplans

import org.apache.spark.sql.catalyst.expressions.{Expression, IntegerLiteral}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LocalLimit, LogicalPlan, Union}
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.internal.SQLConf

/**
 * Aggregates in several places of a plan that read one input: sides of joins, common table expressions that are used
 * several times, subqueries, branches of a union below what the union is of. Each is a consumer; what stands above it
 * stays.
 *
 * {{{
 *   Join
 *   :- Aggregate [k], [k, count(1)]
 *   :  +- Relation t
 *   +- Project
 *      +- Aggregate [m], [m, sum(v)]
 *         +- Relation t
 * }}}
 *
 * What one union is of is not looked at here: its branches have one consumer together.
 *
 * @param aggregates what is to be replaced, one a consumer of the workload
 * @param finish by consumer: what puts out the Aggregate's output, of what the consumer puts out
 */
final case class ScatteredAggregates(
    aggregates: IndexedSeq[Aggregate],
    workload: Workload,
    finish: IndexedSeq[LogicalPlan => LogicalPlan]
)

object ScatteredAggregates {

  /**
   * @param isHeld whether it is what a union is of, with others
   * @param filterAbove a filter that stands directly above
   * @param branchOf the union that it would be a part of, but for a branch with results of its own
   * @param refused why it may not be looked at
   */
  private final case class Found(
      aggregate: Aggregate,
      isHeld: Boolean,
      filterAbove: Option[Expression],
      branchOf: Option[Union],
      refused: Option[DeclineReason]
  ) {
    def isOffered: Boolean = !isHeld && refused.isEmpty

    /** Whether nothing is said of it elsewhere. */
    def isByItself: Boolean = !isHeld && branchOf.isEmpty && Shape.of(aggregate, None).isEmpty

    /** What plain Spark computes before the shuffle. */
    lazy val shuffled: LogicalPlan = Shuffles.of(aggregate)
  }

  /**
   * Those of a plan, outermost first, and why others that read one input cannot be shared.
   *
   * @param refused why an Aggregate may not be looked at
   */
  def detect(
      plan: LogicalPlan,
      refused: Aggregate => Option[DeclineReason] = _ => None
  ): Seq[Either[LeftAlone, ScatteredAggregates]] = {
    val found = (plan +: Subqueries.in(plan)).flatMap(aggregates(_, None, refused)).toIndexedSeq
    val left =
      if (found.size < 2) Nil else found.flatMap(f => f.refused.filter(_ => f.isByItself).map(_ -> f.aggregate))
    val reasons = left.map(_._1).distinct.map(r => Left(LeftAlone(r, left.collect { case (`r`, a) => a })))
    if (found.count(_.isOffered) < 2) reasons
    else {
      val free = notHeld(found)
      val demands = free.indices.filter(free(_).isOffered)
        .flatMap(i => Demand.of(free(i).aggregate, free(i).filterAbove).toOption.map(i -> _)).toMap
      val members = demands.toSeq.sortBy(_._1).flatMap { case (i, demand) =>
        InputGroups.eligible(demand.queries).toOption
          .filter(_.nonEmpty).map(InputGroups.Member(i, _))
      }
      lazy val merged = mergedBySpark(plan, free)
      def shuffledBy(group: InputGroups.Group): Seq[LogicalPlan] = group.members.map(m => merged(m.ordinal))
      // Without the branch for whose sake they were looked at.
      def isOfOneUnion(group: InputGroups.Group): Boolean = {
        val unions =
          group.members.map(m => free(m.ordinal).branchOf.filter(_ => Demand.isPlain(free(m.ordinal).aggregate)))
        unions.forall(u => u.isDefined && u.exists(_ eq unions.head.get))
      }
      // What several do alike plain Spark does once, down to the shuffle: there is nothing to share if all do.
      def isOffered(group: InputGroups.Group): Boolean =
        shuffledBy(group).distinct.size > 1 && !isOfOneUnion(group) && !asksOneOf(group.base, found)
      val InputGroups.Made(made, declined, _) = InputGroups.made(members, isOffered) { group =>
        val replaced = group.members.map(m => free(m.ordinal).aggregate)
        val asked = group.members.map(m => demands(m.ordinal))
        val ends = group.members.scanLeft(0)(_ + _.queries.size)
        val shuffled = shuffledBy(group)
        val others = free.indices.filterNot(group.ordinals).map(merged(_)).toSet
        val consumers = replaced.indices.map { i =>
          val isRepeated = shuffled.indexOf(shuffled(i)) < i || others(shuffled(i))
          Consumer(asked(i).output, ends(i) until ends(i + 1), isRepeated)
        }
        group.workload(replaced, consumers).map(ScatteredAggregates(replaced, _, asked.map(_.finish)))
      }
      val leftAlone = declined.map { case (ordinals, reason) =>
        ordinals.min -> Left(LeftAlone(reason, ordinals.toSeq.sorted.map(free(_).aggregate)))
      }
      val shared = made.map { case (group, scattered) => group.members.head.ordinal -> Right(scattered) }
      (shared ++ leftAlone).sortBy(_._1).map(_._2) ++ reasons
    }
  }

  /** Whether an input asks a subquery that is to read what is shared itself, of that input or of another. */
  private def asksOneOf(base: LogicalPlan, found: Seq[Found]): Boolean =
    Subqueries.in(base).exists(_.exists(p => found.exists(f => f.refused.isEmpty && (f.aggregate eq p))))

  /** By ordinal what plain Spark shuffles; those without keys that it computes as one shuffle what the first of them does. */
  private def mergedBySpark(plan: LogicalPlan, all: IndexedSeq[Found]): IndexedSeq[LogicalPlan] = {
    val global = all.indices.filter { i =>
      all(i).aggregate.groupingExpressions.isEmpty && !all(i).aggregate.eq(plan)
    }
    val numbers = MergedSubplans.of(plan, global.map(all(_).aggregate), SQLConf.get)
    val first = global.zip(numbers).map { case (i, number) => i -> global(numbers.indexOf(number)) }.toMap
    all.indices.map(i => all(first.getOrElse(i, i)).shuffled)
  }

  /** What keeps an Aggregate from being shared with any other, whatever they read. */
  def refused(aggregate: Aggregate): Option[DeclineReason] =
    Demand.of(aggregate, None).flatMap(d => InputGroups.eligible(d.queries)).left.toOption

  /** Those that no union holds, nor what plain Spark shuffles once for one that does: it would be computed once more for that. */
  private def notHeld(found: IndexedSeq[Found]): IndexedSeq[Found] = {
    val held = found.filter(_.isHeld).map(_.shuffled).toSet
    found.filterNot(f => f.isHeld || (held.nonEmpty && held(f.shuffled)))
  }

  /**
   * From the root down, as those are to be replaced that hold others in their input.
   *
   * @param limitAbove a limit that stands directly above
   */
  private def aggregates(
      plan: LogicalPlan,
      limitAbove: Option[Int],
      refused: Aggregate => Option[DeclineReason]
  ): Seq[Found] = {
    def of(
        aggregate: Aggregate,
        isHeld: Boolean = false,
        filterAbove: Option[Expression] = None,
        branchOf: Option[Union] = None
    ): Seq[Found] =
      if (UnionDetector.isEmpty(aggregate.child)) Nil
      else
        Found(aggregate, isHeld, filterAbove, branchOf, refused(aggregate)) +:
          aggregates(aggregate.child, None, refused)

    if (!plan.containsPattern(TreePattern.AGGREGATE)) Nil
    else plan match {
      case u: Union =>
        val own = u.children.map(UnionDetector.aggregateOf(_, limitAbove))
        val live = own.flatten.filterNot(a => UnionDetector.isEmpty(a.child))
        // What has results of its own is no part of a union's; the others join it.
        val together = live.size > 1 && !live.exists(a => refused(a).isEmpty && !Demand.isPlain(a))
        u.children.zip(own).flatMap {
          case (_, Some(aggregate)) if together => of(aggregate, isHeld = true)
          case (child, Some(aggregate)) =>
            val filter = Option(child).collect { case Filter(condition, below) if below eq aggregate => condition }
            of(aggregate, filterAbove = filter, branchOf = Some(u))
          case (child, _) => aggregates(child, None, refused)
        }
      case _: Verified => Nil
      case a: Aggregate => of(a)
      case Filter(condition, a: Aggregate) => of(a, filterAbove = Some(condition))
      case LocalLimit(IntegerLiteral(n), child) => aggregates(child, Some(n), refused)
      case other => other.children.flatMap(aggregates(_, None, refused))
    }
  }
}
