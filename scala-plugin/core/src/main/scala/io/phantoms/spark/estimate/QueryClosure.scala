package io.phantoms.spark.estimate

import scala.collection.immutable.BitSet
import scala.collection.mutable

/** The sets of keys a choice for some queries is made over: the queries and all unions of them. */
object QueryClosure {

  /** Whether a number is known for each of them. Stops at the first that has none. */
  def isKnown(queries: Iterable[BitSet], known: BitSet => Boolean): Boolean = {
    val asked = queries.filter(_.nonEmpty).toSeq.distinct
    val seen = mutable.HashSet.from(asked)
    val waiting = mutable.Queue.from(asked)
    var all = asked.forall(known)
    while (all && waiting.nonEmpty) {
      val set = waiting.dequeue()
      val unions = asked.iterator.map(set | _).filter(seen.add)
      while (all && unions.hasNext) {
        val union = unions.next()
        all = known(union)
        waiting.enqueue(union)
      }
    }
    all
  }
}
