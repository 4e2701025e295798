package io.phantoms.spark.verify

import scala.collection.mutable

import org.apache.spark.util.AccumulatorV2

/**
 * Fingerprints of the partitions of a result, as tasks come to their ends. A task that runs again counts once, and one
 * whose rows are not all asked for not at all.
 *
 * @param partitions how many there are
 * @param whenComplete called on the driver, once, with the fingerprint of all rows when every partition was read
 */
final class PartitionFingerprints private (
    partitions: Int,
    floats: Int,
    @transient private val whenComplete: Fingerprint => Unit
) extends AccumulatorV2[(Int, Fingerprint), Int] {
  private val ofTask = mutable.Map.empty[Int, Fingerprint]

  // The driver keeps their sum only.
  @transient private lazy val seen = mutable.BitSet.empty
  @transient private lazy val all = new Fingerprint(floats)

  override def isZero: Boolean = ofTask.isEmpty && (whenComplete == null || seen.isEmpty)
  override def copy(): PartitionFingerprints = {
    val copied = new PartitionFingerprints(partitions, floats, null)
    copied.ofTask ++= ofTask
    copied
  }
  override def reset(): Unit = ofTask.clear()
  override def add(part: (Int, Fingerprint)): Unit = ofTask += part

  override def merge(other: AccumulatorV2[(Int, Fingerprint), Int]): Unit = other match {
    case task: PartitionFingerprints if whenComplete == null => ofTask ++= task.ofTask
    case task: PartitionFingerprints => task.ofTask.foreach { case (partition, rows) =>
        if (seen.add(partition)) {
          all.add(rows)
          if (seen.size == partitions) whenComplete(all)
        }
      }
    case _ => throw new UnsupportedOperationException(s"cannot merge ${other.getClass.getName}")
  }

  /** Partitions that were read to their ends. */
  override def value: Int = if (whenComplete == null) ofTask.size else seen.size
}

object PartitionFingerprints {
  def apply(partitions: Int, floats: Int)(whenComplete: Fingerprint => Unit): PartitionFingerprints = {
    if (partitions == 0) whenComplete(new Fingerprint(floats))
    new PartitionFingerprints(partitions, floats, whenComplete)
  }
}
