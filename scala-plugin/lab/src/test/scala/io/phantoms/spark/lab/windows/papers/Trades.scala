package io.phantoms.spark.lab.windows.papers

import scala.collection.immutable.BitSet
import scala.collection.mutable
import scala.util.Random

/**
 * An hour of stock trades with the shape section 4.3.3 of On-the-fly sharing tells of its data: half of the volumes are
 * 100, the fifteen most common make up 90 %, fewer than 2000 occur. Symbols follow Zipf's law; the first thousand are in
 * R1000, the next two thousand in R2000, all of these in R3000.
 *
 * @param rows trades, in order of time
 */
final class Trades(seed: Long, val rows: Int) {
  import Trades._

  val seconds: Array[Int] = new Array[Int](rows)

  /** Per trade: 0 in no index, 1 in R1000, 2 in R2000. */
  val market: Array[Byte] = new Array[Byte](rows)

  /** Per quantity (volume, value, relative change since the close) and trade. */
  val quantities: Array[Array[Double]] = Array.fill(3)(new Array[Double](rows))

  locally {
    val rng = new Random(seed)
    val popular = Symbols.map(i => 1.0 / (i + 1)).scanLeft(0.0)(_ + _).toArray
    val close = Array.fill(Symbols.size)(math.round(100 * math.exp(3 + rng.nextGaussian() * 0.8)) / 100.0)
    val change = Array.fill(Symbols.size)(rng.nextGaussian() * 0.02)
    for (i <- 0 until rows) {
      seconds(i) = (i.toLong * Hour / rows).toInt
      val at = java.util.Arrays.binarySearch(popular, rng.nextDouble() * popular.last)
      val symbol = math.min(Symbols.size - 1, if (at >= 0) at else -at - 2)
      market(i) = (if (symbol < 1000) 1 else if (symbol < 3000) 2 else 0).toByte
      val price =
        math.max(1, math.round(100 * close(symbol) * (1 + change(symbol) + rng.nextGaussian() * 0.001))) / 100.0
      val u = rng.nextDouble()
      val volume =
        if (u < 0.5) 100
        else if (u < 0.9) 200 + 100 * math.min(rng.nextInt(14), rng.nextInt(14))
        else 10 * (1 + (1900 * math.pow(rng.nextDouble(), 3)).toInt)
      quantities(0)(i) = volume.toDouble
      quantities(1)(i) = math.round(volume * price * 100) / 100.0
      quantities(2)(i) = math.abs(price - close(symbol)) / close(symbol)
    }
  }

  /**
   * The signature of every trade, as a number, and what the numbers stand for.
   *
   * A trade's signature follows from its index and from where its three quantities lie among the constants of the
   * predicates, so predicates are evaluated once for each such place.
   */
  def signatures(predicates: IndexedSeq[Predicate]): (Array[Int], IndexedSeq[BitSet]) = {
    val constants =
      Array.tabulate(3)(q => predicates.iterator.filter(_.quantity == q).map(_.constant).toArray.distinct.sorted)
    val places = mutable.LongMap.empty[Int]
    val numbers = mutable.HashMap.empty[Vector[Long], Int]
    val found = mutable.ArrayBuffer.empty[BitSet]
    val ids = Array.tabulate(rows) { i =>
      var place = market(i).toLong
      for (q <- 0 until 3) {
        val at = java.util.Arrays.binarySearch(constants(q), quantities(q)(i))
        place = place << 12 | (if (at >= 0) 2 * at + 1 else 2 * (-at - 1))
      }
      places.getOrElseUpdate(
        place, {
          val b = BitSet.fromSpecific(predicates.indices.iterator.filter(predicates(_).holds(this, i)))
          numbers.getOrElseUpdate(b.toBitMask.toVector, { found += b; found.size - 1 })
        }
      )
    }
    (ids, found.toIndexedSeq)
  }

  /** Different predicates of workload (B), Table 8; constants are values of random trades. */
  def predicates(rng: Random, n: Int): Vector[Predicate] = Iterator.continually {
    val quantity = rng.nextInt(3)
    Predicate(rng.nextInt(3), rng.nextBoolean(), quantity, rng.nextBoolean(), quantities(quantity)(rng.nextInt(rows)))
  }.distinct.take(n).toVector
}

object Trades {
  val Hour = 3600
  private val Symbols = 0 until 6000

  /**
   * A Member and a Value conjunct of Table 8.
   *
   * @param index 0: R3000, 1: R1000, 2: R2000
   * @param member whether the stock has to be in it, or must not be
   * @param greater whether the quantity has to be above the constant, or below
   */
  final case class Predicate(index: Int, member: Boolean, quantity: Int, greater: Boolean, constant: Double) {
    def holds(trades: Trades, row: Int): Boolean = {
      val in = if (index == 0) trades.market(row) != 0 else trades.market(row) == index
      val x = trades.quantities(quantity)(row)
      in == member && (if (greater) x > constant else x < constant)
    }
  }
}
