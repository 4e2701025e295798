package io.phantoms.spark.lab.windows

import scala.util.Random

import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.RandomWindows

import org.scalatest.funsuite.AnyFunSuite

class CoarseSlicesSuite extends AnyFunSuite {

  private def random(rng: Random): CoarseSlices =
    CoarseSlices((1 to rng.nextInt(4)).scanLeft(1)((size, _) => size * (2 + rng.nextInt(3))).drop(1).toVector)

  test("pieces are the slices asked for, each once, and as few as can be") {
    for (seed <- 1 to 400) {
      val rng = new Random(seed)
      val coarse = random(rng)
      val widths = 1 +: coarse.sizes
      val first = rng.nextInt(40)
      val last = first + rng.nextInt(60)
      val pieces = coarse.pieces(first, last)
      val slices = pieces.flatMap(p => p.index * widths(p.level) until (p.index + 1) * widths(p.level))
      assert(slices === (first until last).toVector)
      assert(pieces.size === coarse.count(first, last), s"$coarse of [$first, $last)")
      // Fewest pieces from `first` to each slice.
      val fewest = Array.fill(last + 1)(Int.MaxValue / 2)
      fewest(first) = 0
      for (at <- first until last; w <- widths if at % w == 0 && at + w <= last)
        fewest(at + w) = math.min(fewest(at + w), fewest(at) + 1)
      assert(pieces.size === fewest(last))
    }
  }

  test("building merges every whole block's parts once") {
    assert(CoarseSlices(Vector(4, 12)).building(50) === 12 * 4 + 4 * 3)
    assert(CoarseSlices.none.building(50) === 0)
    assertThrows[IllegalArgumentException](CoarseSlices(Vector(4, 6)))
  }

  test("merges by hand") {
    // Slices of 10; windows of 60 due every 10. Blocks of 3 slices: a result is 2 blocks, or 1 and 3 slices.
    val slices = Slices.over(Seq(PeriodicWindow(60, 10)), 0, 120)
    assert(slices.size === 12)
    // Ends 10 to 170; those from 60 to 120 are whole.
    val none = (1 to 5).sum * 2 + 7 * 6
    assert(CoarseSlices.merges(slices, CoarseSlices.none) === none)
    val blocks = CoarseSlices(Vector(3))
    val whole = Seq(2, 4, 4, 2, 4, 4, 2).sum
    val growing = Seq(1, 2, 1, 2, 3).sum
    assert(CoarseSlices.merges(slices, blocks) === 12 + whole + 2 * growing)
  }

  test("chosen blocks never cost more than none, and much less for the paper's 256 windows") {
    for (seed <- 1 to 20) {
      val slices = Slices.over(RandomWindows.windows(new Random(seed), 5, 30, 300, phases = true), 0, 1000)
      assert(CoarseSlices.merges(slices, CoarseSlices.choose(slices)) <= CoarseSlices.merges(slices, CoarseSlices.none))
    }
    val slices = Slices.over(RandomWindows.paper(new Random(1), 256), 0, 3600)
    val (none, chosen) = (CoarseSlices.merges(slices, CoarseSlices.none), CoarseSlices.choose(slices))
    val single = (2 to 200).map(n => CoarseSlices.merges(slices, CoarseSlices(Vector(n)))).min
    assert(CoarseSlices.merges(slices, chosen) <= single, s"$chosen")
    assert(CoarseSlices.merges(slices, chosen) * 10 < none, s"$chosen: ${CoarseSlices.merges(slices, chosen)} of $none")
  }
}
