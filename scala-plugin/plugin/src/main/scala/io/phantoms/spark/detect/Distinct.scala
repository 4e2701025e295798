package io.phantoms.spark.detect

import scala.collection.mutable

/** Numbers distinct things in the order of their first appearance. */
private[detect] final class Distinct[T](identity: T => Any) {
  private val known = mutable.HashMap.empty[Any, Int]
  private val items = mutable.ArrayBuffer.empty[T]

  def of(item: T): Int = known.getOrElseUpdate(identity(item), { items += item; items.size - 1 })
  def all: IndexedSeq[T] = items.toIndexedSeq
}
