package io.phantoms.spark.lab.windows

import scala.util.Random

import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.{CoarseSlices, RandomWindows}

import org.scalatest.funsuite.AnyFunSuite

class CoarseMergesSuite extends AnyFunSuite {

  test("merges by hand") {
    // Slices of 10; windows of 60 due every 10. Blocks of 3 slices: a result is 2 blocks, or 1 and 3 slices.
    val slices = Slices.over(Seq(PeriodicWindow(60, 10)), 0, 120)
    assert(slices.size === 12)
    // Ends 10 to 170; those from 60 to 120 are whole.
    val none = (1 to 5).sum * 2 + 7 * 6
    assert(CoarseMerges.merges(slices, CoarseSlices.none) === none)
    val blocks = CoarseSlices(Vector(3))
    val whole = Seq(2, 4, 4, 2, 4, 4, 2).sum
    val growing = Seq(1, 2, 1, 2, 3).sum
    assert(CoarseMerges.merges(slices, blocks) === 12 + whole + 2 * growing)
  }

  test("chosen blocks never cost more than none, and much less for the paper's 256 windows") {
    for (seed <- 1 to 20) {
      val slices = Slices.over(RandomWindows.windows(new Random(seed), 5, 30, 300, phases = true), 0, 1000)
      assert(CoarseMerges.merges(slices, CoarseMerges.choose(slices)) <= CoarseMerges.merges(slices, CoarseSlices.none))
    }
    val slices = Slices.over(RandomWindows.paper(new Random(1), 256), 0, 3600)
    val (none, chosen) = (CoarseMerges.merges(slices, CoarseSlices.none), CoarseMerges.choose(slices))
    val single = (2 to 200).map(n => CoarseMerges.merges(slices, CoarseSlices(Vector(n)))).min
    assert(CoarseMerges.merges(slices, chosen) <= single, s"$chosen")
    assert(CoarseMerges.merges(slices, chosen) * 10 < none, s"$chosen: ${CoarseMerges.merges(slices, chosen)} of $none")
  }
}
