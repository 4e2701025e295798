package io.phantoms.spark.stats.observed

import io.phantoms.spark.conf.OfApplication
import java.util.concurrent.atomic.AtomicLong

import scala.collection.immutable.BitSet

import io.phantoms.spark.conf.PlanningMemory
import io.phantoms.spark.cost.ObservedTables
import io.phantoms.spark.estimate.Observation
import io.phantoms.spark.keep.Kept

/**
 * Observations of one input.
 *
 * @param snapshot the state they hold for
 * @param leafRows rows of the relation in that state, as estimated when the plan was made
 * @param names what people call the keys, by canonical form
 */
final case class StoredObservation(
    key: ObservedKey,
    snapshot: String,
    leafRows: Double,
    names: Map[String, String],
    observation: Observation
) {

  /** With what was found out later; numbers of another state are dropped. */
  def updated(later: StoredObservation): StoredObservation =
    if (snapshot != later.snapshot) later
    else later.copy(names = names ++ later.names, observation = observation.updated(later.observation))
}

/**
 * Observations by input, those not used for the longest time dropped first. In memory, and in files where a session says
 * so ([[ObservationFiles]]). Safe for use by many threads; recording waits for no file.
 *
 * @param bound bytes of what is kept in memory
 */
final class ObservationStore(bound: Long) {
  import ObservationStore.Entry

  private val entries =
    new Kept[ObservedKey, Entry](bound - bound / 4, (k, e) => PlanningMemory.weigh((k, e.stored)))

  // Map sides that are done while the merge above them is not. Keys of their tables are ordinals into the input's.
  private val waiting = new Kept[ObservedInput, ObservedTables](bound / 4, (i, t) => PlanningMemory.weigh((i, t)))
  private val files = new ObservationFiles

  /** What is known of an input, of this state or of another one, and a number that changes with it. */
  def find(input: ObservedInput): Option[(StoredObservation, Long)] = {
    val read =
      if (input.directory.nonEmpty && input.key.isLasting) files.changed(input.directory, input.key) else None
    synchronized {
      // What another application saw of an older state does not replace what is known of this one.
      val known = entries.get(input.key).exists(_.stored.snapshot == input.snapshot)
      read.filter(_.snapshot == input.snapshot || !known).foreach(put)
      entries.get(input.key).map(e => (e.stored, e.revision))
    }
  }

  /** All partitions of an execution's map side are done. Counts when its groups do. */
  def mapSide(input: ObservedInput, tables: ObservedTables): Unit = synchronized {
    waiting.put(input, tables)
  }

  /**
   * All partitions of a merge are done.
   *
   * @param groups of every relation that was complete there
   */
  def merged(input: ObservedInput, groups: Map[BitSet, Double]): Unit = {
    val stored = synchronized {
      val tables = waiting.get(input)
      val before = entries.get(input.key).map(_.stored).filter(_.snapshot == input.snapshot)
        .map(_.observation.groups).getOrElse(Map.empty)
      def known(set: BitSet): Option[Double] = groups.get(set).orElse(before.get(texts(input, set)))
      put(
        input,
        Observation(
          tables.map(_.rows),
          byTexts(input, groups),
          tables.fold(Map.empty[Set[String], Double])(t => byTexts(input, t.flowLengths(known))),
          tables.fold(IndexedSeq.empty[Double])(_.depthFlowLengths(known))
        )
      )
    }
    write(input, stored)
  }

  /** Rows and groups of an input that was read to count them. */
  def counted(input: ObservedInput, rows: Double, groups: Map[BitSet, Double]): Unit = {
    val stored = synchronized(put(input, Observation(Some(rows), byTexts(input, groups))))
    write(input, stored)
  }

  private def texts(input: ObservedInput, set: BitSet): Set[String] = set.iterator.map(input.keys).toSet

  private def byTexts(input: ObservedInput, numbers: Map[BitSet, Double]): Map[Set[String], Double] =
    numbers.collect { case (set, n) if set.nonEmpty => texts(input, set) -> n }

  private def put(input: ObservedInput, observation: Observation): StoredObservation =
    put(StoredObservation(input.key, input.snapshot, input.leafRows, input.keys.zip(input.names).toMap, observation))

  private def write(input: ObservedInput, stored: StoredObservation): Unit =
    if (input.directory.nonEmpty && input.key.isLasting) files.write(input.directory, stored)

  /** Adds what was written before; of an input that has observations already, those of the same state stay as well. */
  def add(stored: StoredObservation): Unit = synchronized { val _ = put(stored) }

  private def put(later: StoredObservation): StoredObservation = {
    val before = entries.get(later.key)
    val stored = before.fold(later)(_.stored.updated(later))
    val revision = before.filter(_.stored == stored).fold(ObservationStore.revisions.incrementAndGet())(_.revision)
    entries.put(later.key, Entry(stored, revision))
    stored
  }

  /** Everything in memory, and in the files of a directory if one is given. */
  def all(directory: String): Seq[StoredObservation] = {
    if (directory.nonEmpty) files.readAll(directory).foreach(add)
    synchronized(entries.values.map(_.stored)).sortBy(s => (s.key.source, s.key.shape, s.key.reading))
  }

  /** Forgets everything, and deletes the files of a directory if one is given; files of others stay. */
  def clear(directory: String): Unit = {
    synchronized {
      entries.clear()
      waiting.clear()
    }
    files.clear(directory)
  }

  /** Bytes held in memory. */
  def held: Long = entries.held + waiting.held

  /** Waits until everything recorded so far is in its files. */
  def flush(): Unit = files.flush()
}

object ObservationStore {
  private final case class Entry(stored: StoredObservation, revision: Long)

  // Never given twice, so that no choice made with other numbers is taken for one made with these.
  private val revisions = new AtomicLong

  /** The application's. What is not in its files yet when it ends is written then. */
  val of =
    new OfApplication(() => new ObservationStore(PlanningMemory.ObservationBytes), (s: ObservationStore) => s.flush())
}
