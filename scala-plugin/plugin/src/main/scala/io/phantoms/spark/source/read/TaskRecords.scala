package io.phantoms.spark.source.read

import io.phantoms.spark.source.wire.{WireCounters, WireRecord}

/** What a task reads. */
private[source] trait TaskRecords extends AutoCloseable {

  /** Goes to the next record: whether there is one. */
  def next(): Boolean

  /** The one that it is at, until the next one is gone to. */
  def record: WireRecord

  /** Another number where others begin than those before; 0 before the first. */
  def epoch: Int

  /** What was read so far. */
  def counters: WireCounters
}
