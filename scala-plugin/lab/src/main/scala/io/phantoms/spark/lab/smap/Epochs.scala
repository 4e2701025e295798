package io.phantoms.spark.lab.smap

import scala.collection.mutable

import io.phantoms.spark.search.smap.Turnover

/**
 * Queries of different epoch lengths (SMAP section 7): how often each table has to be evicted.
 *
 * @param lengths w_i of the queries that each node of the feeding graph answers; empty for a phantom
 * @param tuplesPerUnit tuples of the stream in one unit of time
 */
final case class Epochs(lengths: Int => Seq[Long], tuplesPerUnit: Double) extends Turnover {

  override def evictionsPerTuple(below: Set[Long]): Double = {
    val cycle = Epochs.lcm(below)
    (BigDecimal(Epochs.evictions(below, cycle)) / BigDecimal(cycle)).toDouble / tuplesPerUnit
  }
}

object Epochs {

  /** Length gamma of a cycle: the least common multiple of the epoch lengths. */
  def lcm(lengths: Iterable[Long]): BigInt = lengths.foldLeft(BigInt(1))((a, w) => a / a.gcd(w) * w)

  /**
   * Eq 24: hash table evictions n_R in a cycle of length `cycle`, one at every multiple of any of the epoch lengths.
   *
   * The paper's alternating sum has a term for each of 2^n subsets. Here the timestamps that are no multiple are counted,
   * one prime at a time: the exponent of the prime in a timestamp leaves only those lengths that can still divide it, and
   * lengths without a common factor are counted apart, because their remainders are independent.
   *
   * @throws IllegalArgumentException if a length is not positive, or does not divide the cycle
   */
  def evictions(lengths: Iterable[Long], cycle: BigInt): BigInt = {
    val distinct = lengths.toSet
    require(distinct.forall(_ > 0), s"epoch lengths must be positive: ${distinct.mkString(", ")}")
    val period = lcm(distinct)
    require(cycle > 0 && cycle % period == 0, s"a cycle of $cycle is no multiple of $period")
    cycle / period * (period - missed(distinct, mutable.HashMap.empty))
  }

  /** Timestamps 1 to lcm that no length divides. */
  private def missed(lengths: Set[Long], known: mutable.HashMap[Set[Long], BigInt]): BigInt =
    if (lengths.contains(1L)) BigInt(0)
    else {
      // A multiple of another length adds no timestamp, but may make the period longer.
      val needed = lengths.filterNot(w => lengths.exists(v => v != w && w % v == 0))
      components(needed).map(c => known.getOrElseUpdate(c, byPrime(c, known))).product * (lcm(lengths) / lcm(needed))
    }

  private def byPrime(lengths: Set[Long], known: mutable.HashMap[Set[Long], BigInt]): BigInt =
    if (lengths.size == 1) BigInt(lengths.head) - 1
    else {
      val p = lengths.toSeq.flatMap(primeFactors).groupBy(identity).maxBy { case (q, of) => (of.size, -q) }._1
      val split = lengths.toSeq.map { w =>
        val e = exponent(w, p)
        (e, w / BigInt(p).pow(e).toLong)
      }
      val highest = split.map(_._1).max
      val rest = lcm(split.map(_._2))
      (0 to highest).map { e =>
        // Remainders modulo p^highest in which p has exactly this exponent.
        val remainders =
          if (e == highest) BigInt(1) else BigInt(p).pow(highest - e) - BigInt(p).pow(highest - e - 1)
        val possible = split.filter(_._1 <= e).map(_._2).toSet
        remainders * missed(possible, known) * (rest / lcm(possible))
      }.sum
    }

  private def components(lengths: Set[Long]): Seq[Set[Long]] =
    lengths.foldLeft(Vector.empty[Set[Long]]) { (found, w) =>
      val (joined, apart) = found.partition(_.exists(v => BigInt(v).gcd(w) > 1))
      apart :+ (joined.foldLeft(Set.empty[Long])(_ ++ _) + w)
    }

  private def exponent(w: Long, p: Long): Int = if (w % p == 0) 1 + exponent(w / p, p) else 0

  private def primeFactors(w: Long): List[Long] = {
    var left = w
    var factors = List.empty[Long]
    var p = 2L
    while (p * p <= left) {
      if (left % p == 0) {
        factors ::= p
        while (left % p == 0) left /= p
      }
      p += 1
    }
    if (left > 1) left :: factors else factors
  }
}
