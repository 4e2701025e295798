package io.phantoms.spark.run

import java.util.BitSet

import scala.collection.mutable

import org.apache.spark.util.AccumulatorV2

/**
 * Counts of one operator's partitions, each of which counts once: Spark adds an accumulator for every attempt that
 * succeeds, and a partition may be computed again by speculation, after a lost executor, or by another job over the same
 * plan. Attempts count the same, since they see the same input; the first one is taken, so that no more than sums has to be
 * kept on the driver.
 *
 * On executors it holds the parts computed there, by one task: usually one.
 *
 * @param partitions how many there are
 * @param whenComplete called once on the driver with the sums, when every partition was counted
 */
final class PartCounts(partitions: Int, @transient private val whenComplete: Array[Long] => Unit)
    extends AccumulatorV2[PartCounts.Part, Seq[PartCounts.Part]] {
  private var parts = mutable.ArrayBuffer.empty[PartCounts.Part]
  private val seen = new BitSet
  private var sums = Array.emptyLongArray

  override def isZero: Boolean = synchronized(parts.isEmpty && seen.isEmpty)

  /** Parts that are still to be told to the driver. */
  override def value: Seq[PartCounts.Part] = synchronized(parts.toSeq)

  override def add(part: PartCounts.Part): Unit = synchronized { val _ = parts += part }

  override def merge(other: AccumulatorV2[PartCounts.Part, Seq[PartCounts.Part]]): Unit = {
    val complete = synchronized {
      val before = seen.cardinality
      other.value.filter(p => p.partition >= 0 && p.partition < partitions && !seen.get(p.partition)).foreach { part =>
        seen.set(part.partition)
        if (sums.isEmpty) sums = new Array[Long](part.counts.length)
        sums.indices.foreach(i => sums(i) += part.counts(i))
      }
      before < partitions && seen.cardinality == partitions
    }
    if (complete && whenComplete != null) whenComplete(sums)
  }

  override def copy(): PartCounts = {
    val made = copyAndReset()
    synchronized {
      made.parts ++= parts
      made.seen.or(seen)
      made.sums = sums.clone()
    }
    made
  }

  // What goes to executors starts empty.
  override def copyAndReset(): PartCounts = new PartCounts(partitions, null)

  override def reset(): Unit = synchronized {
    parts = mutable.ArrayBuffer.empty
    seen.clear()
    sums = Array.emptyLongArray
  }
}

object PartCounts {

  /** What one attempt counted; the same counts in every part. */
  final case class Part(partition: Int, counts: Array[Long])
}
