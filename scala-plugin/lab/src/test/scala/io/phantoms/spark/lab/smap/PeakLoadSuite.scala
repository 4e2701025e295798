package io.phantoms.spark.lab.smap

import io.phantoms.spark.cost.{ConfigurationTree, SmapCost}

import org.scalatest.funsuite.AnyFunSuite

class PeakLoadSuite extends AnyFunSuite {
  // A phantom of 60 entries over two queries of 20: eq 8 with no collisions is 60 * 2 c1 + (20 + 20) c2.
  private val tree = ConfigurationTree(Vector(-1, 0, 0))
  private val cost = new SmapCost(1, 15)
  private def load(space: Array[Double]): Double = cost.endOfEpoch(tree, _ => 0.0, space)
  private val space = Array(60.0, 20.0, 20.0)
  private val isQuery = Set(1, 2)

  test("within the limit nothing changes") {
    assert(load(space) === 720.0)
    assert(PeakLoad.shrink(space, load, 720) eq space)
    assert(PeakLoad.shift(space, isQuery, load, 720).exists(_ eq space))
  }

  test("shrink: one factor for all") {
    val shrunk = PeakLoad.shrink(space, load, 360)
    assert(shrunk.zip(Seq(30.0, 10.0, 10.0)).forall { case (a, b) => math.abs(a - b) < 1e-6 }, shrunk.toSeq)
    assert(load(shrunk) <= 360)
    assert(load(PeakLoad.shrink(space, load, 0)) === 0.0)
  }

  test("shift: from queries to phantoms, no more than needed") {
    // Moving s units: (60 + s) * 2 + (40 - s) * 15 = 460 gives s = 20.
    val shifted = PeakLoad.shift(space, isQuery, load, 460).get
    assert(shifted.zip(Seq(80.0, 10.0, 10.0)).forall { case (a, b) => math.abs(a - b) < 1e-6 }, shifted.toSeq)
    assert(math.abs(shifted.sum - 100) < 1e-9, "the memory stays the same")
    assert(load(shifted) <= 460)
  }

  test("shift cannot go below the phantoms' own evictions, nor without phantoms") {
    assert(PeakLoad.shift(space, isQuery, load, 199).isEmpty) // all to the phantom: 100 * 2
    assert(PeakLoad.shift(space, isQuery, load, 201).nonEmpty)
    assert(PeakLoad.shift(space, _ => true, load, 500).isEmpty)
  }

  test("the cheaper of the two") {
    def phantomMatters(s: Array[Double]): Double = 1 / s(0)
    def queriesMatter(s: Array[Double]): Double = 1 / s(1)
    assert(PeakLoad.meet(space, isQuery, load, phantomMatters, 460)(0) > 60)
    assert(PeakLoad.meet(space, isQuery, load, queriesMatter, 460)(0) < 60)
  }
}
