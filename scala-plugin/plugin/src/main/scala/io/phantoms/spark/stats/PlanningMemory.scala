package io.phantoms.spark.stats

import org.apache.spark.util.SizeEstimator

import io.phantoms.spark.search.ChoiceCache

/**
 * What is remembered between plans, and how many bytes of each kind at most: a driver plans for weeks, and its queries
 * may differ in every literal. Bounds count everything that can be reached from what is remembered.
 */
private[spark] object PlanningMemory {
  private val MiB = 1L << 20

  val SampleBytes: Long = 48 * MiB
  val ChoiceBytes: Long = 16 * MiB
  val ObservationBytes: Long = 16 * MiB

  /** Counts of footers, and states of files of observations: of each. */
  val FileBytes: Long = 2 * MiB

  val choices = new ChoiceCache(ChoiceBytes, weigh)

  /** Bytes of all objects that can be reached from this one. */
  def weigh(root: AnyRef): Long = SizeEstimator.estimate(root)

  /** Bytes of a text, were it alone to hold it: most are of one byte a character. */
  def weigh(text: String): Long = 56L + text.length

  /** Forgets what planning found out by itself; observations are the [[ObservationStore]]'s, who has files of them. */
  def clear(): Unit = {
    choices.clear()
    SampleCache.global.clear()
    FooterRows.clear()
  }
}
