package io.phantoms.spark.search.trees

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.lab.trees.SampleStatistics

import org.scalatest.funsuite.AnyFunSuite

class TreeStatisticsSuite extends AnyFunSuite {

  test("GEE over a sample, only values that pass the filter counted") {
    // r = 8 of N = 800. Attribute 0: 1 1 2 3 3 3 4 5; filter on attribute 1.
    val sample = new SampleStatistics(
      800,
      Vector(Array(1L, 1L, 2L, 3L, 3L, 3L, 4L, 5L), Array(0L, 0L, 0L, 0L, 9L, 9L, 9L, 0L))
    )
    val low = Filter.range((1, 0, 5))
    assert(sample.selectivity(low) === 5.0 / 8)
    // f_1 = {2, 4, 5} and two values seen oftener; passing: 1 twice, 2, 3 and 5 once.
    assert(sample.size(BitSet(0), Filter.All) === 10.0 * 3 + 2)
    assert(sample.size(BitSet(0), low) === 10.0 * 3 + 1)
    assert(sample.size(BitSet(0, 1), Filter.All) === 10.0 * 4 + 2)
    assert(sample.size(BitSet.empty, Filter.All) === 1.0)
    assert(sample.size(BitSet(0), Filter.Nothing) === 0.0)
  }

  test("a sample of everything is exact, and sizes grow with the grouping") {
    val random = new Random(3)
    val columns = RandomTrees.columns(random, 3, 500)
    val sample = new SampleStatistics(500, columns)
    for (_ <- 1 to 50) {
      val f = RandomTrees.filter(random, 0 until 3, 2)
      val passing = (0 until 500).filter(i => f.accepts(columns(_)(i)))
      for (keys <- Seq(BitSet(0), BitSet(0, 1), BitSet(0, 1, 2)))
        assert(sample.size(keys, f) === passing.map(i => keys.toVector.map(columns(_)(i))).distinct.size.toDouble)
    }
    val part = new SampleStatistics(1e6, columns)
    assert(part.size(BitSet(0), Filter.All) <= part.size(BitSet(0, 1), Filter.All))
  }

  test("uniform attributes: volumes of overlapping boxes, and groups met") {
    val stats = new UniformStatistics(1e5, Vector((0L, 9L), (0L, 9L), (1L, 1000L)))
    val cross = Filter(Seq(Box.of((0, 2, 3)), Box.of((1, 5, 5))))
    assert(math.abs(stats.selectivity(cross) - (0.2 + 0.1 - 0.02)) < 1e-12)
    assert(stats.selectivity(Filter.All) === 1.0 && stats.selectivity(Filter.Nothing) === 0.0)
    assert(math.abs(stats.size(BitSet(0, 1), Filter.All) - 100) < 1e-6)
    assert(math.abs(stats.size(BitSet(0, 1), cross) - 28) < 1e-6)
    assert(math.abs(stats.size(BitSet(0), Filter.range((0, 4, 4))) - 1) < 1e-12)
    // 10^5 tuples over 10^5 cells: 1 - 1/e of them are met.
    val met = stats.size(BitSet(0, 1, 2), Filter.All)
    assert(math.abs(met - 1e5 * (1 - math.exp(-1))) < 1)
    val random = new Random(4)
    for (_ <- 1 to 100) {
      val f = Filter(Vector.fill(1 + random.nextInt(3)) {
        Box(random.shuffle(List(0, 1)).take(random.nextInt(3)).sorted.map { a =>
          val low = random.nextInt(10).toLong
          RangeCondition(a, low, low + random.nextInt(4))
        }.toVector)
      })
      val counted = (for (x <- 0 to 9; y <- 0 to 9 if f.accepts(Vector(x.toLong, y.toLong)(_))) yield 1).sum
      assert(math.abs(stats.selectivity(f) - counted / 100.0) < 1e-12, f)
    }
  }

  test("group counts know no filters") {
    val stats = new GroupStatistics(io.phantoms.spark.model.TableStatistics(100, Map(BitSet(0) -> 7.0)))
    assert(stats.size(BitSet(0), Filter.All) === 7.0)
    intercept[IllegalArgumentException](stats.size(BitSet(0), Filter.range((0, 1, 2))))
  }
}
