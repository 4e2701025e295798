package io.phantoms.spark.search

import scala.collection.immutable.BitSet

import io.phantoms.spark.keep.Kept
import io.phantoms.spark.model.{Choice, Configuration, KeyAttribute, Machine, Problem, Query, RunnerUp, Sketches}

/**
 * Choices made before, so that a job planned again (each action plans its own) does not search again.
 *
 * Two problems count as one when everything but the statistics is equal, and the statistics agree on the rows and on the
 * groups and flow lengths of every query and every single attribute, and on their revision.
 *
 * Numbers that executions find out change with each of them, and the best configuration by a little with the numbers. But
 * another configuration is other code, which has to be generated, compiled and to become hot: that costs as much as many
 * runs gain from it. So a workload keeps its configuration until another promises a clear gain.
 *
 * @param bound bytes of all choices and configurations in use; those not used for the longest time go first
 * @param weigh bytes of everything that can be reached from an object
 */
final class ChoiceCache(bound: Long, weigh: AnyRef => Long) {
  import ChoiceCache.{Key, Workload}

  private val kept = new Kept[Key, Choice](bound - bound / 4, (k, c) => weigh((k, c)))
  private val inUse = new Kept[Workload, Configuration](bound / 4, (w, c) => weigh((w, c)))

  /** Bytes that all of them hold. */
  def held: Long = kept.held + inUse.held

  def size: Int = kept.size

  def clear(): Unit = {
    kept.clear()
    inUse.clear()
  }

  /**
   * [[Chooser.choose]], or what it answered the last time, or the configuration in use.
   *
   * @param minGain another configuration than the one in use for the same workload over the same
   *   [[Statistics.subject]] has to take less time by at least this fraction; 0: the best one is taken
   */
  def choose(problem: Problem, algorithm: String, minSavings: Double, minGain: Double = 0.0): Choice = {
    val workload = Workload(problem, algorithm, minSavings)
    val key = Key(problem, workload, minGain)
    val choice = kept.get(key).getOrElse {
      val best = Chooser.choose(problem, algorithm, minSavings)
      val observed = problem.statistics.revision != 0
      val chosen = if (observed && minGain > 0) steady(problem, best, workload, minGain) else best
      chosen.configuration.foreach(_.complete)
      kept.put(key, chosen)
      chosen
    }
    if (workload.subject.nonEmpty) choice.configuration.foreach { c =>
      if (!inUse.get(workload).contains(c)) inUse.put(workload, c)
    }
    choice
  }

  /** The configuration in use by the new numbers, unless the best one by these is ahead by enough. */
  private def steady(problem: Problem, best: Choice, workload: Workload, minGain: Double): Choice =
    workload.subject.flatMap(_ => inUse.get(workload))
      .filterNot(best.configuration.contains)
      .flatMap { configuration =>
        val cost = Chooser.estimate(problem, configuration).elapsed
        val newest = best.configuration.map(RunnerUp("a new plan", best.cost, problem, _))
        val stayed = best.copy(configuration = Some(configuration), cost = cost, runnerUp = newest)
        Option.when(
          newest.nonEmpty && best.cost > cost * (1 - minGain) &&
            (workload.minSavings < 0 || stayed.savings >= workload.minSavings)
        )(stayed)
      }.getOrElse(best)
}

private object ChoiceCache {

  /** All of a problem but the numbers. */
  final case class Workload(
      attributes: IndexedSeq[KeyAttribute],
      queries: IndexedSeq[Query],
      bufferBits: Int,
      sketches: Sketches,
      machine: Machine,
      memory: Long,
      maxShards: Int,
      secondTier: Boolean,
      plainShuffles: Int,
      subject: Option[String],
      algorithm: String,
      minSavings: Double
  )

  final case class Key(workload: Workload, statistics: IndexedSeq[Double], revision: Long, minGain: Double)

  // Flow lengths of deeper relations hardly differ from 1 (SMAP section 5.3).
  private val Deepest = 4

  object Workload {
    def apply(p: Problem, algorithm: String, minSavings: Double): Workload = Workload(
      p.attributes,
      p.queries,
      p.bufferBits,
      p.sketches,
      p.machine,
      p.memory,
      p.maxShards,
      p.secondTier,
      p.plainShuffles,
      p.statistics.subject,
      algorithm,
      minSavings
    )
  }

  object Key {
    def apply(p: Problem, workload: Workload, minGain: Double): Key = {
      val s = p.statistics
      val sets = p.groupings ++ p.attributes.indices.map(BitSet(_))
      Key(
        workload,
        s.rows +: (sets.map(s.groups) ++ sets.map(s.flowLength) ++
          (2 to Deepest).map(s.flowLengthAtDepth(_).getOrElse(0.0))),
        s.revision,
        minGain
      )
    }
  }
}
