package io.phantoms.spark.choose

import java.util.{LinkedHashMap, Map => JavaMap}

import scala.collection.immutable.BitSet

/**
 * Choices made before, so that a job planned again (each action plans its own) does not search again.
 *
 * Two problems count as one when everything but the statistics is equal, and the statistics agree on the rows and on the
 * groups and flow lengths of every query and every single attribute, and on their revision.
 *
 * @param capacity choices kept, the least recently used goes first
 */
final class ChoiceCache(capacity: Int) {
  import ChoiceCache.Key

  private val kept = new LinkedHashMap[Key, Choice](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[Key, Choice]): Boolean = size() > capacity
  }

  /** [[Chooser.choose]], or what it answered the last time. */
  def choose(problem: Problem, algorithm: String, minSavings: Double): Choice = {
    val key = Key(problem, algorithm, minSavings)
    val known = kept.synchronized(kept.get(key))
    if (known != null) known
    else {
      val choice = Chooser.choose(problem, algorithm, minSavings)
      kept.synchronized { val _ = kept.put(key, choice) }
      choice
    }
  }
}

private object ChoiceCache {
  final case class Key(
      attributes: IndexedSeq[KeyAttribute],
      queries: IndexedSeq[BitSet],
      bufferBits: Int,
      machine: Machine,
      memory: Long,
      maxShards: Int,
      secondTier: Boolean,
      statistics: IndexedSeq[Double],
      revision: Long,
      algorithm: String,
      minSavings: Double
  )

  // Flow lengths of deeper relations hardly differ from 1 (SMAP section 5.3).
  private val Deepest = 4

  object Key {
    def apply(p: Problem, algorithm: String, minSavings: Double): Key = {
      val s = p.statistics
      val sets = p.queries ++ p.attributes.indices.map(BitSet(_))
      Key(
        p.attributes,
        p.queries,
        p.bufferBits,
        p.machine,
        p.memory,
        p.maxShards,
        p.secondTier,
        s.rows +: (sets.map(s.groups) ++ sets.map(s.flowLength) ++
          (2 to Deepest).map(s.flowLengthAtDepth(_).getOrElse(0.0))),
        s.revision,
        algorithm,
        minSavings
      )
    }
  }
}
