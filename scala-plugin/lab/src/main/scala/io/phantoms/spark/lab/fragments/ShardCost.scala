package io.phantoms.spark.lab.fragments

import io.phantoms.spark.fragments.Fragments
import io.phantoms.spark.lab.windows.{Slices, WindowCost}
import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.SliceWidths

/**
 * Aggregate operations of a workload of shards.
 *
 * @param partial rows accumulated
 * @param slices aggregates of shards merged into those of slices, one per query or predicate
 * @param windows aggregates of slices merged into results
 */
final case class ShardOperations(partial: Double, slices: Double, windows: Double) {

  /** The paper's final operations: both steps after the partial one. */
  def finals: Double = slices + windows
  def total: Double = partial + finals
}

/**
 * Costs of queries that differ in windows and predicates (On-the-fly sharing, section 5): as those of fragments, Table 5,
 * in every slice, followed by those of windows, Table 3.
 */
object ShardCost {

  /**
   * US, unshared sliced: a row is accumulated by every query it satisfies into its own paired window, `alpha |T|`, whose
   * slices are merged into results as in Table 2.
   */
  def unshared(shards: Shards): ShardOperations = {
    val w = shards.workload
    val partial = shards.fragments.iterator.flatMap(_.wanted)
      .map(f => f.frequency.toDouble * w.satisfied(f.signature)).sum
    val merges = w.windows.map(ownMerges(_, shards.slices.from, shards.slices.until))
    ShardOperations(partial, 0, w.queries.iterator.map(q => merges(q.window).toDouble).sum)
  }

  /**
   * SDS, shared data shards: `|T|`; the sum of `k beta` over the slices, every query of a signature receiving its
   * fragments; and the slices merged into results, counted exactly.
   */
  def shared(shards: Shards): ShardOperations = {
    val w = shards.workload
    val merges = w.windows.indices.map(shards.slices.merges)
    ShardOperations(
      shards.rows.toDouble,
      shards.fragments.iterator.flatMap(_.wanted).map(f => w.satisfied(f.signature).toDouble).sum,
      w.queries.iterator.map(q => merges(q.window).toDouble).sum
    )
  }

  /**
   * SDS with one slice aggregate per predicate instead of per query: queries that share a predicate have the same ones,
   * and those that share the window too the same results. Never more operations than [[shared]].
   */
  def sharedByPredicate(shards: Shards): ShardOperations = {
    val w = shards.workload
    val merges = w.windows.indices.map(shards.slices.merges)
    val asked = w.windowsOfPredicate
    ShardOperations(
      shards.rows.toDouble,
      shards.fragments.iterator.flatMap(_.wanted).map(_.signature.count(asked(_).nonEmpty).toDouble).sum,
      asked.iterator.flatMap(_.iterator.map(merges(_).toDouble)).sum
    )
  }

  /**
   * Expected operations per tick of [[unshared]], from a sample.
   *
   * @param lambda rows per tick
   * @param sample fragments of a uniform sample over the workload's predicates
   */
  def unsharedRate(workload: ShardWorkload, lambda: Double, sample: Fragments): ShardOperations = {
    val satisfied = sample.wanted.iterator.map(f => f.frequency.toDouble * workload.satisfied(f.signature)).sum
    val alpha = if (sample.rows == 0) 0.0 else satisfied / sample.rows
    val windows = workload.queries.map(q => WindowCost.paired(0, workload.windows(q.window)).finals)
    ShardOperations(alpha * lambda, 0, windows.sum)
  }

  /**
   * Expected operations per tick of [[shared]], from a sample: in each slice of the common sliced window as many merges
   * as [[FragmentEstimate.merges]] expects of its rows.
   *
   * @param common the common slices of the workload's windows
   */
  def sharedRate(
      workload: ShardWorkload,
      lambda: Double,
      sample: Fragments,
      common: SliceWidths
  ): ShardOperations = {
    val slices = common.perTick { width =>
      FragmentEstimate.merges(width * lambda, sample, f => workload.satisfied(f.signature).toDouble)
    }
    val windows = workload.queries.map(q => workload.windows(q.window))
    ShardOperations(lambda, slices, WindowCost.shared(0, common.rate, windows).finals)
  }

  /** Whether sharing is expected to cost less. */
  def share(workload: ShardWorkload, lambda: Double, sample: Fragments, common: SliceWidths): Boolean =
    sharedRate(workload, lambda, sample, common).total < unsharedRate(workload, lambda, sample).total

  private def ownMerges(window: PeriodicWindow, from: Long, until: Long): Long =
    Slices.over(Seq(window), from, until).merges(0)
}
