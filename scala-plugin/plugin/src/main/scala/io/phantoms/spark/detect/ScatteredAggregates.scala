package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.expressions.{Expression, IntegerLiteral}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LocalLimit, LogicalPlan, Union}
import org.apache.spark.sql.catalyst.trees.TreePattern

/**
 * Aggregates in several places of a plan that read one input: sides of joins, common table expressions that are used
 * several times, subqueries that became joins, branches of a union below what the union is of. Each is a consumer; what
 * stands above it stays.
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
 */
final case class ScatteredAggregates(aggregates: IndexedSeq[Aggregate], workload: Workload)

object ScatteredAggregates {

  /**
   * @param isHeld whether it is what a union is of, with others
   * @param filterAbove a filter that stands directly above
   */
  private final case class Found(aggregate: Aggregate, isHeld: Boolean, filterAbove: Option[Expression]) {

    /** What plain Spark computes before the shuffle. */
    lazy val shuffled: LogicalPlan = Shuffles.of(aggregate)
  }

  /** Those of a plan, outermost first, and why others that read one input cannot be shared. */
  def detect(plan: LogicalPlan): Seq[Either[DeclineReason, ScatteredAggregates]] = {
    val found = aggregates(plan, None).toIndexedSeq
    if (found.count(!_.isHeld) < 2) Nil
    else {
      val free = notHeld(found)
      val members = free.indices.flatMap { i =>
        AggregateNormalizer.branches(free(i).aggregate)
          .map(_.map(_.keptBy(free(i).filterAbove, free(i).aggregate.output)))
          .flatMap(InputGroups.withEligibleSource).toOption
          .filter(_.nonEmpty).map(InputGroups.Member(i, _))
      }
      def shuffledBy(group: InputGroups.Group): Seq[LogicalPlan] = group.members.map(m => free(m.ordinal).shuffled)
      // What several do alike plain Spark does once, down to the shuffle: there is nothing to share if all do.
      val groups = InputGroups(members).several.filter(shuffledBy(_).distinct.size > 1)
      groups.sortBy(_.members.head.ordinal).map { group =>
        val replaced = group.members.map(m => free(m.ordinal).aggregate)
        val ends = group.members.scanLeft(0)(_ + _.queries.size)
        val shuffled = shuffledBy(group)
        val consumers = replaced.indices.map { i =>
          Consumer(replaced(i).output, ends(i) until ends(i + 1), shuffled.indexOf(shuffled(i)) < i)
        }
        group.workload(replaced, consumers).map(ScatteredAggregates(replaced, _))
      }
    }
  }

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
  private def aggregates(plan: LogicalPlan, limitAbove: Option[Int]): Seq[Found] =
    if (!plan.containsPattern(TreePattern.AGGREGATE)) Nil
    else plan match {
      case u: Union =>
        val own = u.children.map(UnionDetector.aggregateOf(_, limitAbove))
        val together = own.flatten.count(a => !UnionDetector.isEmpty(a.child)) > 1
        u.children.zip(own).flatMap {
          case (_, Some(aggregate)) if together => of(aggregate, isHeld = true)
          case (child, _) => aggregates(child, None)
        }
      case a: Aggregate => of(a, isHeld = false)
      case Filter(condition, a: Aggregate) => of(a, isHeld = false, Some(condition))
      case LocalLimit(IntegerLiteral(n), child) => aggregates(child, Some(n))
      case other => other.children.flatMap(aggregates(_, None))
    }

  private def of(aggregate: Aggregate, isHeld: Boolean, filterAbove: Option[Expression] = None): Seq[Found] =
    if (UnionDetector.isEmpty(aggregate.child)) Nil
    else Found(aggregate, isHeld, filterAbove) +: aggregates(aggregate.child, None)
}
