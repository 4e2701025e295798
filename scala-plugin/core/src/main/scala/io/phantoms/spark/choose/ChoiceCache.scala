package io.phantoms.spark.choose

import java.util.{LinkedHashMap, Map => JavaMap}

import scala.collection.immutable.BitSet

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
 * @param capacity choices kept, the least recently used goes first
 */
final class ChoiceCache(capacity: Int) {
  import ChoiceCache.{Key, Workload}

  private final class Recent[K, V] {
    private val entries = new LinkedHashMap[K, V](16, 0.75f, true) {
      override def removeEldestEntry(eldest: JavaMap.Entry[K, V]): Boolean = size() > capacity
    }
    def get(key: K): Option[V] = synchronized(Option(entries.get(key)))
    def put(key: K, value: V): Unit = synchronized { val _ = entries.put(key, value) }
  }

  private val kept = new Recent[Key, Choice]
  private val inUse = new Recent[Workload, Configuration]

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
      kept.put(key, chosen)
      chosen
    }
    if (workload.subject.nonEmpty) choice.configuration.foreach(inUse.put(workload, _))
    choice
  }

  /** The configuration in use by the new numbers, unless the best one by these is ahead by enough. */
  private def steady(problem: Problem, best: Choice, workload: Workload, minGain: Double): Choice =
    workload.subject.flatMap(_ => inUse.get(workload))
      .filterNot(best.configuration.contains)
      .flatMap { configuration =>
        val cost = Chooser.estimate(problem, configuration).elapsed
        val newest = best.configuration.map(c => RunnerUp(s"a new plan ${Notation(problem).render(c)}", best.cost))
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
      queries: IndexedSeq[BitSet],
      bufferBits: Int,
      machine: Machine,
      memory: Long,
      maxShards: Int,
      secondTier: Boolean,
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
      p.machine,
      p.memory,
      p.maxShards,
      p.secondTier,
      p.statistics.subject,
      algorithm,
      minSavings
    )
  }

  object Key {
    def apply(p: Problem, workload: Workload, minGain: Double): Key = {
      val s = p.statistics
      val sets = p.queries ++ p.attributes.indices.map(BitSet(_))
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
