package io.phantoms.spark.stats.sampled

import io.phantoms.spark.conf.OfApplication
import scala.collection.mutable

import io.phantoms.spark.conf.PlanningMemory
import io.phantoms.spark.stats.input.InputIdentity

private[sampled] final case class SampleKey(identity: InputIdentity, keys: Set[String], rows: Int)

/**
 * Samples by input snapshot, the least recently used dropped first, so that the second planning of a query reads nothing.
 * What failed is not remembered: the next planning may have more luck.
 *
 * @param capacity bytes of all samples and their keys. Samples grow with what they are asked: checked at each use
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
        shrink()
      }
      made
    }
  }

  def clear(): Unit = synchronized(entries.clear())

  def size: Int = synchronized(entries.size)

  /** Bytes of everything in it. */
  def held: Long = synchronized(entries.iterator.map { case (k, made) => weight(k, made) }.sum)

  private def shrink(): Unit = {
    var rest = held
    while (rest > capacity) {
      val (key, made) = entries.head
      entries.remove(key)
      rest -= weight(key, made)
    }
  }

  private def find(identity: InputIdentity, keys: Set[String], rows: Int): Option[Either[String, InputSample]] =
    synchronized {
      val hit = entries.find { case (k, sample) =>
        k.identity == identity && k.rows == rows && (k.keys == keys || (keys.subsetOf(k.keys) && sample.isRight))
      }
      hit.foreach { case (k, sample) => entries.remove(k); entries.put(k, sample) }
      shrink()
      hit.map(_._2)
    }

  // An entry of the map, its key with a set of keys, and what was made.
  private def weight(key: SampleKey, made: Either[String, InputSample]): Long = {
    val identity = Seq(key.identity.source, key.identity.shape, key.identity.snapshot).map(PlanningMemory.weigh).sum
    200 + identity + key.keys.iterator.map(40 + PlanningMemory.weigh(_)).sum +
      made.fold(PlanningMemory.weigh, _.weight)
  }
}

object SampleCache {

  /** The application's. */
  val of = new OfApplication(() => new SampleCache(PlanningMemory.SampleBytes))
}
