package io.phantoms.spark.choose

import scala.collection.immutable.BitSet

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

  test("never under a known subset, whatever the superset says") {
    assert(TableStatistics(1e6, Map(BitSet(0) -> 500.0, BitSet(0, 1, 2) -> 100.0)).groups(BitSet(0, 1)) === 500.0)
  }

  test("values that cannot be are refused") {
    assertThrows[IllegalArgumentException](TableStatistics(-1, Map.empty))
    assertThrows[IllegalArgumentException](TableStatistics(1, Map(BitSet(0) -> -2.0)))
    assertThrows[IllegalArgumentException](TableStatistics(1, Map.empty, flowLength = 0.5))
  }
}
