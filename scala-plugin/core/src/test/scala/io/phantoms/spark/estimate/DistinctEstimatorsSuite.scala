package io.phantoms.spark.estimate

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class DistinctEstimatorsSuite extends AnyFunSuite {

  private def profileOf(values: Array[Long]): FrequencyProfile =
    FrequencyProfile.of(values.map(v => scala.util.hashing.byteswap64(v)), values.length)

  test("a profile counts values by frequency, the zero hash included") {
    val p = FrequencyProfile.of(Array(0L, 0L, 7L, 8L, 8L, 8L, 99L), 7)
    assert(p.distinct == 4)
    assert((p.f(1), p.f(2), p.f(3)) == ((2, 1, 1)))
    assert(p.size == 7 && p.pairs == 2 + 6)
  }

  test("a profile lumps high frequencies together and loses no value") {
    val p = FrequencyProfile.of(Array.fill(1000)(5L) ++ Array.fill(50)(6L) :+ 7L, 1051)
    assert(p.distinct == 3)
    assert(p.f(FrequencyProfile.MaxFrequency) == 2 && p.f(1) == 1)
  }

  test("a table of hashes that fill every slot still finds each of them") {
    val n = 65537
    val p = FrequencyProfile.of(Array.tabulate(n)(i => i.toLong), n)
    assert(p.distinct == n && p.f(1) == n)
  }

  test("GEE is sqrt(N/r) f1 plus the values seen oftener") {
    // r = 100 of N = 10 000: f1 = 20, f2 = 10, f3 = 20.
    val f = Vector(0, 20, 10, 20) ++ Vector.fill(FrequencyProfile.MaxFrequency - 3)(0)
    val p = FrequencyProfile(50, f, 100, 20 + 120)
    assert(DistinctEstimators.gee(p, 10000) == 10.0 * 20 + 30)
  }

  test("a sample that is the whole input is exact, whatever the estimator") {
    val p = profileOf(Array.tabulate(5000)(i => (i * i % 701).toLong))
    val exact = (0 until 5000).map(i => i * i % 701).distinct.size.toDouble
    assert(DistinctEstimators.gee(p, 5000) == exact)
    assert(DistinctEstimators.adaptive(p, 5000) == exact)
  }

  test("estimates stay between the values seen and N") {
    val random = new Random(3)
    for (groups <- Seq(1, 2, 50, 5000, 1000000); r <- Seq(1, 10, 1000); rows <- Seq(1000.0, 1e5, 1e9)) {
      val p = profileOf(Array.fill(r)(random.nextInt(groups).toLong))
      for (e <- Seq(DistinctEstimators.gee(p, rows), DistinctEstimators.adaptive(p, rows)))
        assert(e >= p.distinct && e <= math.max(rows, p.distinct.toDouble), s"$groups groups, r=$r, N=$rows")
    }
  }

  test("all values unique: the adaptive estimator says N, GEE sqrt(N r)") {
    val p = profileOf(Array.tabulate(1000)(_.toLong))
    assert(DistinctEstimators.adaptive(p, 1e6) == 1e6)
    assert(math.abs(DistinctEstimators.gee(p, 1e6) - math.sqrt(1e6 * 1000)) < 1)
  }

  test("on random samples GEE keeps its guarantee, the hybrid is within a factor of 1.5") {
    val n = 1000000
    val r = 20000
    val random = new Random(11)
    val inputs = Seq(
      "uniform 100" -> Array.fill(n)(random.nextInt(100).toLong),
      "uniform 10 000" -> Array.fill(n)(random.nextInt(10000).toLong),
      "uniform 300 000" -> Array.fill(n)(random.nextInt(300000).toLong),
      "zipf 1" -> Zipf.sample(n, 50000, 1.0, random),
      "zipf 0.5" -> Zipf.sample(n, 100000, 0.5, random)
    )
    inputs.foreach { case (name, values) =>
      val truth = values.distinct.length.toDouble
      val p = profileOf(Array.fill(r)(values(random.nextInt(n))))
      val (gee, ae) = (DistinctEstimators.gee(p, n), DistinctEstimators.hybrid(p, n))
      val ratio = math.max(gee / truth, truth / gee)
      info(f"$name%s: truth $truth%.0f, GEE $gee%.0f, hybrid $ae%.0f")
      assert(ratio <= math.sqrt(n.toDouble / r) * 1.1, s"$name: GEE $gee of $truth")
      assert(math.max(ae / truth, truth / ae) <= 1.5, s"$name: hybrid $ae of $truth")
    }
  }

  test("frequent values above many equally rare ones are no skew of the rare ones: 52 thousand of 3 million, ports") {
    val n = 3000000
    val r = 65536
    val random = new Random(13)
    def port(): Long =
      if (random.nextBoolean()) Seq(22L, 25L, 53L, 80L, 443L)(random.nextInt(5)) else 1024L + random.nextInt(64512)
    def service(): Long =
      if (random.nextInt(5) < 4) random.nextInt(1000).toLong else 32768L + random.nextInt(28232)
    Seq(
      "uniform 52 000" -> Array.fill(n)(random.nextInt(52000).toLong),
      "ports, half well-known" -> Array.fill(n)(port()),
      "ports, four fifths services" -> Array.fill(n)(service())
    ).foreach { case (name, values) =>
      val truth = values.distinct.length.toDouble
      val p = profileOf(Array.fill(r)(values(random.nextInt(n))))
      val (gee, hybrid) = (DistinctEstimators.gee(p, n), DistinctEstimators.hybrid(p, n))
      info(f"$name%s: truth $truth%.0f, GEE $gee%.0f, hybrid $hybrid%.0f")
      assert(math.max(hybrid / truth, truth / hybrid) <= 1.25, s"$name: hybrid $hybrid of $truth")
    }
  }

  test("different hashes by window, and by chunk") {
    val random = new Random(5)
    // Few values, zero among them, of which many fall on one slot.
    val hashes = Array.fill(1000)(random.nextInt(40).toLong << 10)
    for (width <- Seq(1, 7, 256, 1000, 5000))
      assert(HashCounts.distinctByWindow(hashes, width) == hashes.grouped(width).map(_.toSet.size).sum)
    assert(HashCounts.distinctByWindow(Array.empty, 16) == 0)

    val counts = new HashCounts(40)
    hashes.grouped(100).foreach { chunk => chunk.foreach(counts.add); counts.nextChunk() }
    val (rows, chunks) = (hashes.groupBy(identity), hashes.grouped(100).toSeq)
    def frequencies(of: Long => Int) = rows.keys.toSeq.map(h => math.min(of(h), FrequencyProfile.MaxFrequency))
    def profiled(p: FrequencyProfile) = p.frequencies.zipWithIndex.flatMap { case (n, i) => Seq.fill(n)(i) }
    assert(profiled(counts.profile(1000)) == frequencies(rows(_).length).sorted)
    assert(profiled(counts.collapsed(1000)) == frequencies(h => chunks.count(_.contains(h))).sorted)
  }
}

/** Zipf-distributed values: value k with a weight of k^-exponent. */
object Zipf {
  def sample(n: Int, values: Int, exponent: Double, random: Random): Array[Long] = {
    val cumulative =
      (1 to values).iterator.map(k => math.pow(k.toDouble, -exponent)).scanLeft(0.0)(_ + _).drop(1).toArray
    Array.fill(n) {
      val at = java.util.Arrays.binarySearch(cumulative, random.nextDouble() * cumulative.last)
      math.min(values - 1, if (at < 0) -at - 1 else at).toLong
    }
  }
}
