package io.phantoms.spark.stats

import scala.collection.immutable.BitSet

import io.phantoms.spark.estimate.{Observation, QueryClosure}
import io.phantoms.spark.stats.input.{Estimate, StatisticSource}
import io.phantoms.spark.stats.observed.{ObservationStore, ObservedInput}
import io.phantoms.spark.stats.sampled.SampleCache
import io.phantoms.spark.stats.supplied.StatsRegistry

import org.apache.spark.SparkContext

/** Everything statistics of an input may come from but the input itself. */
final case class KnownStatistics(supplied: StatsRegistry, samples: SampleCache, observed: ObservationStore)

object KnownStatistics {

  /** Those of an application. */
  def of(context: SparkContext): KnownStatistics =
    KnownStatistics(StatsRegistry.of(context), SampleCache.of(context), ObservationStore.of(context))
}

/**
 * What was observed of an input, in terms of the keys of a workload.
 *
 * @param source [[StatisticSource.Observed]], or [[StatisticSource.Scaled]] where the numbers are of another state
 * @param revision of the observations; 0 if there are none
 * @param note for people
 */
private[stats] final class ObservedNumbers(
    val input: ObservedInput,
    observation: Observation,
    source: StatisticSource,
    val revision: Long,
    val note: Option[String]
) {
  private val ordinals = input.keys.zipWithIndex.toMap

  private def sets(numbers: Map[Set[String], Double]): Map[BitSet, Double] = numbers.collect {
    case (keys, n) if keys.forall(ordinals.contains) => BitSet.fromSpecific(keys.iterator.map(ordinals)) -> n
  }

  def rows: Option[Estimate] = observation.rows.map(Estimate(_, source))

  val groups: Map[BitSet, Estimate] =
    sets(observation.groups).map { case (set, n) => set -> Estimate(math.max(1.0, n), source) }

  /** Groups of observed sets of more keys than the workload has: bounds for those of its keys that are among them. */
  val caps: Seq[(BitSet, Double)] = observation.groups.toSeq.collect {
    case (keys, n) if !keys.forall(ordinals.contains) && keys.exists(ordinals.contains) =>
      BitSet.fromSpecific(keys.iterator.collect(ordinals)) -> math.max(1.0, n)
  }

  private val flows: Map[BitSet, Double] = sets(observation.flowLengths)

  def depthFlowLengths: IndexedSeq[Double] = observation.depthFlowLengths

  /**
   * Flow length of a set. One that was not observed lies between those that were: what are runs of a finer grouping are
   * runs of a coarser one.
   */
  def flowLength(set: BitSet, estimate: BitSet => Estimate): Estimate = flows.get(set) match {
    case Some(l) => Estimate(l, source)
    case None =>
      val least = flows.iterator.collect { case (finer, l) if set.subsetOf(finer) => l }.maxOption.getOrElse(1.0)
      val most = flows.iterator.collect { case (coarser, l) if coarser.subsetOf(set) => l }.minOption
      estimate(set).map(l => math.max(least, math.min(l, most.getOrElse(Double.MaxValue))))
  }

  /** Whether nothing is left that a sample could say for a choice over these queries. */
  def sayAll(queries: Seq[BitSet]): Boolean = source == StatisticSource.Observed && rows.nonEmpty &&
    queries.filter(_.nonEmpty).forall(q => flows.keysIterator.exists(q.subsetOf(_))) &&
    QueryClosure.isKnown(queries, groups.contains)
}

private[stats] object ObservedNumbers {

  /** What the store has of an input: as it is, scaled where the input has changed a little, or nothing. */
  def apply(input: ObservedInput, store: ObservationStore): ObservedNumbers = store.find(input) match {
    case Some((stored, revision)) if stored.snapshot == input.snapshot =>
      new ObservedNumbers(input, stored.observation, StatisticSource.Observed, revision, None)
    case Some((stored, revision)) =>
      val growth = input.leafRows / math.max(1.0, stored.leafRows)
      stored.observation.scaled(growth) match {
        case Some(scaled) =>
          val note = f"observed in another state of the input, scaled by $growth%.2f"
          new ObservedNumbers(input, scaled, StatisticSource.Scaled, revision, Some(note))
        case None => nothing(input, Some("the input has changed too much for what was observed of it"))
      }
    case None => nothing(input, None)
  }

  private def nothing(input: ObservedInput, note: Option[String]): ObservedNumbers =
    new ObservedNumbers(input, Observation(), StatisticSource.Observed, 0L, note)
}
