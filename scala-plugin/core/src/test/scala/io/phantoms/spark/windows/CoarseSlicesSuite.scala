package io.phantoms.spark.windows

import scala.util.Random

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

  test("expected pieces are those of runs that begin anywhere") {
    for (
      sizes <- Seq(Vector.empty, Vector(4), Vector(8), Vector(4, 16), Vector(4, 32, 64)); run <- Seq(1, 3, 7, 20, 200)
    ) {
      val coarse = CoarseSlices(sizes)
      val starts = 0 until sizes.lastOption.getOrElse(1)
      val average = starts.map(s => coarse.count(s, s + run)).sum.toDouble / starts.size
      assert(math.abs(coarse.expected(run) / average - 1) < 0.25, s"$sizes, $run: $average")
    }
  }

  test("blocks are for many windows over runs of many slices") {
    assert(CoarseSlices.best(100000, Seq(50.0)) === CoarseSlices.none)
    assert(CoarseSlices.best(100000, Seq.fill(100)(1.0)) === CoarseSlices.none)
    assert(CoarseSlices.best(100000, Seq.fill(100)(12.0)).sizes.head === 4)
    val long = CoarseSlices.best(100000, Seq.fill(100)(500.0))
    assert(long.sizes.size > 1)
    assert(long.expected(500.0) < 40)
  }
}
