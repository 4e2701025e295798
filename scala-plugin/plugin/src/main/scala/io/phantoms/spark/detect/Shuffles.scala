package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreePattern

/** What plain Spark shuffles for groupBys: once for all that do alike down to the shuffle, wherever they stand. */
object Shuffles {

  /** What is computed before the shuffle. */
  def of(aggregate: Aggregate): LogicalPlan = aggregate match {
    case PhysicalAggregation(keys, functions, _, child) =>
      val calls = functions.distinctBy(_.canonicalized).map(f => Alias(f, "function")())
      Aggregate(keys, keys ++ calls, child).canonicalized
    case other => other.canonicalized
  }

  /**
   * Whether an input put together from copies is shuffled beside all of these: others read each of them, so that plain
   * Spark has them anyway.
   *
   * @param root all of the query
   * @param replaced operators of it that are to read `base`, each reading a copy of its own so far
   */
  def moreWith(root: LogicalPlan, replaced: Seq[LogicalPlan], base: LogicalPlan): Boolean =
    base.containsPattern(TreePattern.AGGREGATE) && {
      // What is written twice is replaced twice, by what Spark shuffles once.
      val elsewhere = in(root, p => replaced.exists(r => (r eq p) || (r.getClass == p.getClass && r.sameResult(p))))
      val copies = replaced.flatMap(inputs).flatMap(in(_)).toSet
      val (shared, plain) = (elsewhere ++ in(base), elsewhere ++ copies)
      // What stands for copies under different filters is more than each of them, and one that others read stays beside it.
      def isWider = replaced.flatMap(inputs).exists(Predicates.constants(_) != Predicates.constants(base))
      shared.size > plain.size || (copies.exists(elsewhere) && isWider && !shared.subsetOf(plain))
    }

  /** What the aggregates of an operator read that no other one stands above. */
  private def inputs(operator: LogicalPlan): Seq[LogicalPlan] = operator match {
    case a: Aggregate => Seq(a.child)
    case other => other.children.flatMap(inputs)
  }

  private def in(plan: LogicalPlan, stopsAt: LogicalPlan => Boolean = _ => false): Set[LogicalPlan] =
    if (!plan.containsPattern(TreePattern.AGGREGATE) || stopsAt(plan)) Set.empty
    else {
      val below = plan.children.flatMap(in(_, stopsAt)).toSet
      plan match {
        case a: Aggregate => below + of(a)
        case _ => below
      }
    }
}
