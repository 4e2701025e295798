package io.phantoms.spark.conf

import org.apache.spark.util.SizeEstimator

/**
 * How many bytes of what is remembered between plans, of each kind at most: a driver plans for weeks, and its queries
 * may differ in every literal. Bounds count everything that can be reached from what is remembered.
 */
private[spark] object PlanningMemory {
  private val MiB = 1L << 20

  val SampleBytes: Long = 48 * MiB
  val ChoiceBytes: Long = 16 * MiB
  val ObservationBytes: Long = 16 * MiB

  /** Counts of footers, and states of files of observations: of each. */
  val FileBytes: Long = 2 * MiB

  /** Bytes of all objects that can be reached from this one. */
  def weigh(root: AnyRef): Long = SizeEstimator.estimate(root)

  /** Bytes of a text, were it alone to hold it: most are of one byte a character. */
  def weigh(text: String): Long = 56L + text.length
}
