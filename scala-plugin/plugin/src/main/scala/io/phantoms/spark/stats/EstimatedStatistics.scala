package io.phantoms.spark.stats

import scala.collection.immutable.BitSet
import scala.collection.mutable

import io.phantoms.spark.model.Statistics
import io.phantoms.spark.stats.input.Estimate
import io.phantoms.spark.stats.observed.ObservedInput

/**
 * Statistics of one workload, each number with its source.
 *
 * `groups` is monotone over all sets it was ever asked about: never below the groups of a subset, never above those of a
 * superset, or the rows. Known numbers come first; every further estimate is moved between those that enclose it.
 *
 * @param rowCount rows of the input
 * @param known groups that are known for a set of keys
 * @param caps upper bounds: a set has no more groups than any superset's cap
 * @param estimate groups of a set of which nothing is known
 * @param bound the most groups a set can have by what its values lie between
 * @param flow effective flow length of a set
 * @param first sets to be estimated before all others, so that the answers do not depend on who asks
 * @param notes what a reader of the numbers should know (a failed sample, numbers of an older snapshot)
 * @param depthFlowLengths l_a at depths 2, 3, ... of a feeding tree; the last one holds further down
 * @param observing what an execution has to know to keep what it finds out; None: it keeps nothing
 * @param revision of the observations that went in
 * @param signatures as in [[Statistics.signatures]]
 * @param shares by attribute, if it is a signature: the part of the rows that have each of its bits
 */
final class EstimatedStatistics(
    val rowCount: Estimate,
    known: Map[BitSet, Estimate],
    caps: Map[BitSet, Double],
    estimate: BitSet => Estimate,
    flow: BitSet => Estimate,
    first: Seq[BitSet],
    val notes: Seq[String],
    depthFlowLengths: IndexedSeq[Double] = Vector.empty,
    val observing: Option[ObservedInput] = None,
    override val revision: Long = 0L,
    bound: BitSet => Option[Estimate] = _ => None,
    override val signatures: Seq[(BitSet, Long)] = Nil,
    shares: Map[Int, IndexedSeq[Double]] = Map.empty
) extends Statistics {
  private val settled = mutable.HashMap.empty[BitSet, Estimate]
  private val flows = mutable.HashMap.empty[BitSet, Estimate]

  known.toSeq.sortBy { case (keys, _) => (keys.size, keys.mkString(",")) }.foreach { case (keys, e) => settle(keys, e) }
  (first.flatMap(_.iterator.map(BitSet(_))) ++ first).distinct.sortBy(_.size).foreach(groupsOf)

  override def subject: Option[String] = observing.map(_.key.digest)
  override def rows: Double = rowCount.value
  override def groups(keys: BitSet): Double = groupsOf(keys).value
  override def flowLength(keys: BitSet): Double = flowOf(keys).value
  override def flowLengthAtDepth(depth: Int): Option[Double] =
    if (depth < 2) None else depthFlowLengths.lift(math.min(depth - 2, depthFlowLengths.size - 1))

  override def share(attribute: Int, bit: Int): Option[Double] = shares.get(attribute).flatMap(_.lift(bit))

  def groupsOf(keys: BitSet): Estimate = synchronized {
    if (keys.isEmpty) Estimate(1.0, rowCount.source)
    else settled.getOrElse(keys, settle(keys, bounded(keys, estimate(keys))))
  }

  def flowOf(keys: BitSet): Estimate = synchronized {
    flows.getOrElseUpdate(keys, if (keys.isEmpty) Estimate(1.0, rowCount.source) else flow(keys).map(math.max(1.0, _)))
  }

  /** By the caps, by the groups of its single keys (no set has more than their product), and by what bounds it. */
  private def bounded(keys: BitSet, e: Estimate): Estimate = {
    val cap = caps.iterator.collect { case (of, n) if keys.subsetOf(of) => n }.minOption.getOrElse(Double.MaxValue)
    val product = if (keys.size < 2) Double.MaxValue else keys.iterator.map(k => groupsOf(BitSet(k)).value).product
    val capped = e.map(math.min(_, math.min(cap, product)))
    bound(keys).filter(_.value < capped.value).getOrElse(capped)
  }

  private def settle(keys: BitSet, e: Estimate): Estimate = {
    var low = 1.0
    var high = math.max(1.0, rows)
    settled.foreach { case (other, o) =>
      if (other.subsetOf(keys)) low = math.max(low, o.value)
      else if (keys.subsetOf(other)) high = math.min(high, o.value)
    }
    val result = e.map(v => math.max(low, math.min(v, math.max(low, high))))
    settled.put(keys, result)
    result
  }
}
