package io.phantoms.spark.lab.hierarchy

import io.phantoms.spark.cost.CollisionModel
import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.{SliceWidths, SlicedWindow}

/**
 * Tuples that nodes of a hierarchy send per tick for a set of windows (Shared hierarchical aggregation, Table 4).
 *
 * @param windows of the queries
 * @param common their common slices
 * @param groups groups expected among so many rows: an aggregate has a tuple for each. Always 1 for ungrouped queries,
 *   the case of Table 4, where a tuple is sent even for a slice without rows.
 */
final class CommunicationCost(
    val windows: Vector[PeriodicWindow],
    common: SliceWidths,
    groups: Double => Double = _ => 1.0
) {
  private val paired = windows.map(SlicedWindow.paired(_).widths)

  /** Raw rows: lambda shared (plan 4); once per query otherwise, n lambda (plan 1). */
  def raw(lambda: Double, shared: Boolean): Double = if (shared) lambda else windows.size * lambda

  /** Slices: beta of the common sliced window (plan 5), or each query's own, Sum 2/s_i (plan 2). */
  def slices(lambda: Double, shared: Boolean): Double =
    (if (shared) Vector(common) else paired).iterator.map(_.perTick(w => groups(lambda * w))).sum

  /** Results: Sum 1/s_i, shared or not (plans 3 and 6). */
  def results(lambda: Double): Double = windows.iterator.map(w => groups(lambda * w.range) / w.slide).sum

  /**
   * Tuples per tick that a node sends (Table 4).
   *
   * @param lambda rows per tick that it has read, or those below it have
   */
  def bandwidth(plan: HierarchyPlan, lambda: Double): Double = plan.pushDown match {
    case PushDown.None => raw(lambda, plan.shared)
    case PushDown.Partial => slices(lambda, plan.shared)
    case PushDown.Full => results(lambda)
  }

  /** Inequality 4: whether slices of all queries are fewer than their results, `beta < Sum 1/s_i`. */
  def slicesPay(lambda: Double): Boolean = slices(lambda, shared = true) < results(lambda)

  /** The plan that sends least; of equals the one that also shares computation, and of those the one pushed lower. */
  def cheapest(lambda: Double): HierarchyPlan =
    HierarchyPlan.all.reverse.minBy(p => (bandwidth(p, lambda), !p.shared))
}

object CommunicationCost {

  /** Of the windows' common sliced window, composed; ArithmeticException if its period does not fit a Long. */
  def apply(windows: Seq[PeriodicWindow], groups: Double => Double = _ => 1.0): CommunicationCost =
    new CommunicationCost(windows.toVector, SlicedWindow.common(windows).widths, groups)

  /**
   * Groups expected among n rows that each are of one of `count` groups with equal probability:
   * `count (1 - (1 - 1/count)^n)`, see [[CollisionModel.occupied]].
   */
  def uniformGroups(count: Double): Double => Double = {
    require(count >= 1, s"$count groups")
    n => CollisionModel.occupied(n, count)
  }
}
