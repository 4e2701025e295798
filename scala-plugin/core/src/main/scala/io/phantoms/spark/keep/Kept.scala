package io.phantoms.spark.keep

import java.util.LinkedHashMap

import scala.jdk.CollectionConverters._

/**
 * Values by key, kept while there is room: those not used for the longest time go first. Safe for use by many threads.
 *
 * @param bound bytes of everything kept; what alone is more is not kept at all
 * @param weigh bytes that a key and its value hold, as long as they are kept
 */
final class Kept[K, V](val bound: Long, weigh: (K, V) => Long) {
  import Kept.Weighed

  private val entries = new LinkedHashMap[K, Weighed[V]](16, 0.75f, true)
  private var sum = 0L

  def get(key: K): Option[V] = synchronized(Option(entries.get(key)).map(_.value))

  def put(key: K, value: V): Unit = {
    val bytes = weigh(key, value) + Kept.EntryBytes
    synchronized {
      val _ = remove(key)
      if (bytes <= bound) {
        entries.put(key, new Weighed(value, bytes))
        sum += bytes
        while (sum > bound) { val _ = remove(entries.keySet.iterator.next()) }
      }
    }
  }

  def remove(key: K): Option[V] = synchronized {
    Option(entries.remove(key)).map { e =>
      sum -= e.bytes
      e.value
    }
  }

  /** Those used last come last. */
  def values: Seq[V] = synchronized(entries.values.asScala.map(_.value).toSeq)

  def size: Int = synchronized(entries.size)

  /** Bytes of everything kept. */
  def held: Long = synchronized(sum)

  def clear(): Unit = synchronized {
    entries.clear()
    sum = 0
  }
}

private object Kept {

  /** The map's own part of an entry, and [[Weighed]]. */
  val EntryBytes = 80L

  final class Weighed[V](val value: V, val bytes: Long)
}
