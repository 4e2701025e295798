package io.phantoms.spark.stats

import java.util.WeakHashMap

import scala.jdk.CollectionConverters._

import io.phantoms.spark.choose.ChoiceCache

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.apache.spark.util.SizeEstimator

/**
 * What one application remembers between plans, and how many bytes of each kind at most: a driver plans for weeks, and its
 * queries may differ in every literal. Bounds count everything that can be reached from what is remembered.
 *
 * It hangs on the SparkContext and goes with it: the next one in the same process starts with nothing.
 */
private[spark] final class PlanningMemory {
  import PlanningMemory._

  val choices = new ChoiceCache(ChoiceBytes, weigh)
  val supplied = new StatsRegistry
  val samples = new SampleCache(SampleBytes)
  val observations = new ObservationStore(ObservationBytes)
  private[stats] val footers = new FooterRows

  private[stats] def known: KnownStatistics = KnownStatistics(supplied, samples, observations)

  /** Forgets what planning found out by itself; observations are the [[ObservationStore]]'s, who has files of them. */
  def clear(): Unit = {
    choices.clear()
    samples.clear()
    footers.clear()
  }
}

private[spark] object PlanningMemory {
  private val MiB = 1L << 20

  val SampleBytes: Long = 48 * MiB
  val ChoiceBytes: Long = 16 * MiB
  val ObservationBytes: Long = 16 * MiB

  /** Counts of footers, and states of files of observations: of each. */
  val FileBytes: Long = 2 * MiB

  private val ofContexts = new WeakHashMap[SparkContext, PlanningMemory]

  /** The application's. */
  def of(context: SparkContext): PlanningMemory = ofContexts.synchronized {
    Option(ofContexts.get(context)).getOrElse {
      val made = new PlanningMemory
      ofContexts.put(context, made)
      context.addSparkListener(new Ends(made))
      made
    }
  }

  /** Known to the context, so it may not know the context in turn: that would keep it. */
  private final class Ends(memory: PlanningMemory) extends SparkListener {
    override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = {
      memory.observations.flush()
      val _ = ofContexts.synchronized(ofContexts.values.remove(memory))
    }
  }

  Runtime.getRuntime.addShutdownHook(new Thread(
    () => ofContexts.synchronized(ofContexts.values.asScala.toSeq).foreach(_.observations.flush()),
    "phantoms-observations"
  ))

  /** Bytes of all objects that can be reached from this one. */
  def weigh(root: AnyRef): Long = SizeEstimator.estimate(root)

  /** Bytes of a text, were it alone to hold it: most are of one byte a character. */
  def weigh(text: String): Long = 56L + text.length
}
