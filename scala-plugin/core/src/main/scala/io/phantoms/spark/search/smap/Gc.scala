package io.phantoms.spark.search.smap

import scala.collection.mutable

/**
 * Greedy by increasing collision rates (SMAP section 4.2, Fig 6): starting from the queries, adds the phantom that lowers
 * the cost most, as long as one does. The cost function allocates all the memory to whatever is maintained.
 */
object Gc {

  /**
   * @param candidates phantoms that may be added (S_C)
   * @param cost cost of the queries together with these phantoms
   * @param evaluations most calls of `cost`. Where the exact algorithm may need more, a candidate's benefit of an earlier
   *   round stands in until it comes first again.
   * @return the phantoms of the configuration, and its cost
   */
  def choose(candidates: Vector[Int], cost: Vector[Int] => Double, evaluations: Int): (Vector[Int], Double) = {
    val start = cost(Vector.empty)
    if (candidates.size.toLong * (candidates.size + 1) / 2 <= evaluations) exact(candidates, cost, start)
    else stale(candidates, cost, start, evaluations)
  }

  private def exact(all: Vector[Int], cost: Vector[Int] => Double, start: Double): (Vector[Int], Double) = {
    var chosen = Vector.empty[Int]
    var candidates = all
    var current = start
    var gaining = true
    while (gaining && candidates.nonEmpty) {
      val best = candidates.map(r => (cost(chosen :+ r), r)).minBy(_._1)
      gaining = best._1 < current
      if (gaining) {
        current = best._1
        chosen :+= best._2
        candidates = candidates.filter(_ != best._2)
      }
    }
    (chosen, current)
  }

  private def stale(
      candidates: Vector[Int],
      cost: Vector[Int] => Double,
      start: Double,
      evaluations: Int
  ): (Vector[Int], Double) = {
    var chosen = Vector.empty[Int]
    var current = start
    var left = evaluations
    // (benefit when last computed, relation, how many phantoms were chosen then); ties go to the earlier candidate.
    val position = candidates.zipWithIndex.toMap
    val queue = mutable.PriorityQueue.empty[(Double, Int, Int)](Ordering.by(e => (e._1, -position(e._2))))
    candidates.foreach(r => queue.enqueue((Double.PositiveInfinity, r, -1)))
    while (queue.nonEmpty && left > 0) {
      val (benefit, relation, at) = queue.dequeue()
      if (at == chosen.size) {
        if (benefit <= 0) queue.clear()
        else {
          chosen :+= relation
          current -= benefit
        }
      } else if (benefit > 0) {
        left -= 1
        queue.enqueue((current - cost(chosen :+ relation), relation, chosen.size))
      }
    }
    (chosen, current)
  }
}
