package io.phantoms.spark.model

import scala.collection.immutable.BitSet
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class TableStatisticsSuite extends AnyFunSuite {
  private val statistics = TableStatistics(
    1e6,
    Map(
      BitSet(0) -> 100.0,
      BitSet(1) -> 50.0,
      BitSet(2) -> 1000.0,
      BitSet(0, 1) -> 600.0,
      BitSet(0, 1, 2, 3) -> 20000.0
    ),
    flowLength = 2,
    Map(BitSet(0) -> 7.0)
  )

  test("known sets, the empty set, flow lengths") {
    assert(statistics.groups(BitSet(0, 1)) === 600.0)
    assert(statistics.groups(BitSet.empty) === 1.0)
    assert(statistics.flowLength(BitSet(0)) === 7.0 && statistics.flowLength(BitSet(1)) === 2.0)
    assert(TableStatistics(10, Map(BitSet(0) -> 50.0, BitSet(1) -> 0.0)).groups(BitSet(0)) === 10.0)
    assert(TableStatistics(10, Map(BitSet(1) -> 0.0)).groups(BitSet(1)) === 1.0)
  }

  test("unknown sets: product of the parts, capped by a superset and the rows") {
    assert(statistics.groups(BitSet(0, 2)) === 20000.0) // 100 * 1000, but {0,1,2,3} has 20000
    assert(statistics.copy(known = statistics.known - BitSet(0, 1, 2, 3)).groups(BitSet(0, 2)) === 100000.0)
    assert(statistics.copy(known = statistics.known - BitSet(0, 1, 2, 3)).groups(BitSet(0, 1, 2)) === 600000.0)
    assert(statistics.groups(BitSet(0, 1, 2, 3, 4)) === 1e6) // nothing is known of 4
  }

  test("the smaller of two covers counts") {
    val s = TableStatistics(1e9, Map(BitSet(0, 1) -> 1e6, BitSet(0) -> 10.0, BitSet(1) -> 1e6, BitSet(2) -> 3.0))
    assert(s.groups(BitSet(0, 1, 2)) === 3e6)
  }

  test("the definition, on random statistics: covers from both ends, between subsets and supersets") {
    val random = new Random(4)
    for (_ <- 1 to 300) {
      val attributes = if (random.nextBoolean()) 6 else 70
      def draw() = BitSet.fromSpecific(Seq.fill(1 + random.nextInt(4))(random.nextInt(attributes)))
      val known = Seq.fill(random.nextInt(12))(draw() -> math.pow(10, 5 * random.nextDouble())).toMap
      val s = TableStatistics(2e4, known)
      val keys = draw()
      def within(n: Double) = math.min(2e4, math.max(1.0, n))
      val parts = known.toVector.filter(_._1.subsetOf(keys)).map { case (k, n) => (k, within(n)) }
        .sortBy { case (k, n) => (-k.size, n, k.toBitMask.mkString(",")) }
      def cover(parts: Vector[(BitSet, Double)]) = {
        val (left, product) = parts.foldLeft((keys, 1.0)) { case ((left, product), (k, n)) =>
          (left &~ k, if ((left & k).isEmpty) product else product * n)
        }
        if (left.isEmpty) product else 2e4
      }
      val atMost = known.collect { case (k, n) if keys.subsetOf(k) => within(n) }.foldLeft(2e4)(math.min)
      val estimate = math.max(
        parts.map(_._2).foldLeft(1.0)(math.max),
        math.min(atMost, math.min(cover(parts), cover(parts.reverse)))
      )
      assert(s.groups(keys) === known.get(keys).fold(estimate)(within), s"$keys of $known")
    }
  }

  test("never under a known subset, whatever the superset says") {
    assert(TableStatistics(1e6, Map(BitSet(0) -> 500.0, BitSet(0, 1, 2) -> 100.0)).groups(BitSet(0, 1)) === 500.0)
  }

  test("values that cannot be are refused") {
    assertThrows[IllegalArgumentException](TableStatistics(-1, Map.empty))
    assertThrows[IllegalArgumentException](TableStatistics(1, Map(BitSet(0) -> -2.0)))
    assertThrows[IllegalArgumentException](TableStatistics(1, Map.empty, flowLength = 0.5))
  }
}
