package io.phantoms.spark.stats

import scala.collection.mutable

private[stats] final case class SampleKey(identity: InputIdentity, keys: Set[String], rows: Int)

/**
 * Samples by input snapshot, the least recently used dropped first. Bounded by the hashes it holds (8 bytes each), so
 * that the second planning of a query reads nothing. What failed is not remembered: the next planning may have more luck.
 *
 * @param capacity most hashes held
 */
final class SampleCache(capacity: Long) {
  private val entries = mutable.LinkedHashMap.empty[SampleKey, Either[String, InputSample]]

  /**
   * A sample of this snapshot that has all keys wanted, taken by `make` when there is none yet.
   *
   * @param rows the sample's size limit, part of its identity
   */
  def getOrElse(identity: InputIdentity, keys: Set[String], rows: Int)(
      make: => Either[String, InputSample]
  ): Either[String, InputSample] = {
    find(identity, keys, rows).getOrElse {
      // Not under the lock: a job runs here. Two threads may both take it once.
      val made = make
      if (made.isRight) synchronized {
        entries.put(SampleKey(identity, keys, rows), made)
        while (entries.valuesIterator.map(weight).sum > capacity && entries.size > 1) entries.remove(entries.head._1)
      }
      made
    }
  }

  def clear(): Unit = synchronized(entries.clear())

  def size: Int = synchronized(entries.size)

  private def find(identity: InputIdentity, keys: Set[String], rows: Int): Option[Either[String, InputSample]] =
    synchronized {
      val hit = entries.find { case (k, sample) =>
        k.identity == identity && k.rows == rows && (k.keys == keys || (keys.subsetOf(k.keys) && sample.isRight))
      }
      hit.foreach { case (k, sample) => entries.remove(k); entries.put(k, sample) }
      hit.map(_._2)
    }

  private def weight(e: Either[String, InputSample]): Long = e.fold(_ => 16L, _.weight)
}

object SampleCache {

  /** Of this application: 32 MB. */
  val global = new SampleCache(4L << 20)
}
