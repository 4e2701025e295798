package io.phantoms.spark.lab.smap

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class EpochsSuite extends AnyFunSuite {

  test("eq 24: the paper's examples") {
    assert(Epochs.evictions(Seq(2, 3), 6) === 4)
    assert(Epochs.evictions(Seq(2, 3, 5), 30) === 22)
    assert(Epochs.lcm(Seq(2, 3, 5, 6)) === 30)
    assert(Epochs.evictions(Seq(2), 30) === 15)
    assert(Epochs.evictions(Nil, 30) === 0)
  }

  // The equation as printed, a term for each nonempty subset.
  private def alternatingSum(lengths: Seq[Long], cycle: BigInt): BigInt =
    (1 until (1 << lengths.size)).map { m =>
      val s = lengths.indices.filter(i => (m >> i & 1) == 1).map(lengths)
      (if (s.size % 2 == 1) BigInt(1) else BigInt(-1)) * (cycle / Epochs.lcm(s))
    }.sum

  test("eq 24 equals the alternating sum over all subsets, and the timestamps listed one by one") {
    val random = new Random(24)
    for (_ <- 1 to 400) {
      val lengths = Seq.fill(1 + random.nextInt(9))(1L + random.nextInt(24))
      val cycle = Epochs.lcm(lengths) * (1 + random.nextInt(3))
      val found = Epochs.evictions(lengths, cycle)
      assert(found === alternatingSum(lengths, cycle), lengths)
      if (cycle < 100000) assert(found === (1 to cycle.toInt).count(t => lengths.exists(t % _ == 0)), lengths)
    }
  }

  test("256 queries: no term for each subset") {
    val lengths = (1 to 256).map(i => 60L + i * 7)
    val cycle = Epochs.lcm(lengths)
    val share = (BigDecimal(Epochs.evictions(lengths, cycle)) / BigDecimal(cycle)).toDouble
    // The first timestamps would not do: small numbers have fewer divisors than those of a whole cycle.
    val random = new Random(256)
    val timestamps = Seq.fill(10000)(BigInt(cycle.bitLength + 64, random) % cycle)
    val sample = timestamps.count(t => lengths.exists(t % _ == 0)) / 1e4
    assert(math.abs(share - sample) < 0.02, s"$share, by counting $sample")
  }

  test("wrong lengths and cycles are refused") {
    assertThrows[IllegalArgumentException](Epochs.evictions(Seq(2, 0), 6))
    assertThrows[IllegalArgumentException](Epochs.evictions(Seq(2, 3), 8))
  }

  test("evictions per tuple: 22 in 30 minutes of 100 tuples each") {
    assert(math.abs(Epochs(_ => Nil, 100).evictionsPerTuple(Set(2, 3, 5)) - 22.0 / 3000) < 1e-15)
    assert(Epochs(_ => Nil, 100).evictionsPerTuple(Set.empty) === 0.0)
  }
}
