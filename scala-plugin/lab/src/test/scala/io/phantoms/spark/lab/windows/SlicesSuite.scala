package io.phantoms.spark.lab.windows

import scala.util.Random

import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.SlicedWindow

import org.scalatest.funsuite.AnyFunSuite

class SlicesSuite extends AnyFunSuite {
  import io.phantoms.spark.windows.RandomWindows._

  test("every result is the union of its slices, and every window with rows has a result") {
    for (seed <- 1 to 300) {
      val rng = new Random(seed)
      val ws = windows(rng, 1 + rng.nextInt(5), 12, 40, phases = seed % 2 == 0)
      val from = rng.nextInt(100) - 50L
      val until = from + 1 + rng.nextInt(120)
      val slices = Slices.over(ws, from, until, if (seed % 3 == 0) SlicedWindow.paned else SlicedWindow.paired)
      assert(slices.cuts.last === until && slices.from === from)
      for (t <- from until until) {
        val s = slices.sliceOf(t)
        assert(slices.startOf(s) <= t && t < slices.endOf(s))
      }
      assert(slices.sliceOf(from - 1) === -1 && slices.sliceOf(until) === -1)
      for (i <- ws.indices) {
        val w = ws(i)
        val ends = (from - 60 to until + 60).filter(w.endsAt)
        val expected = ends.map(e => (e, (math.max(from, e - w.range) until math.min(until, e)).toVector))
          .filter(_._2.nonEmpty)
        val found = slices.results(i).map { r =>
          (r.end, (r.first until r.last).flatMap(s => slices.startOf(s) until slices.endOf(s)).toVector)
        }.toVector
        assert(found === expected.toVector, s"seed $seed: $w over [$from, $until)")
      }
    }
  }

  test("slices are as few as can be: every inner boundary bounds a window") {
    for (seed <- 1 to 100) {
      val ws = windows(new Random(seed), 3, 20, 50, phases = true)
      val slices = Slices.over(ws, 10, 300)
      assert(slices.cuts.init === edges(ws, 10, 299))
      assert(slices.size === slices.cuts.size)
    }
  }

  test("widths over a period are those of the common sliced window, and others count what is there") {
    for (seed <- 1 to 100) {
      val rng = new Random(seed)
      val ws = windows(rng, 3, 9, 30, phases = false)
      val common = SlicedWindow.common(ws)
      assert(Slices.over(ws, 3 * common.period, 4 * common.period).widths === common.widths)
      assert(common.widths.rate === common.rate)
      val some = Slices.over(ws, 7, 90)
      val value = some.widths.perTick(w => (w * w).toDouble) * 83
      assert(math.abs(value - (0 until some.size).map(s =>
        math.pow((some.endOf(s) - some.startOf(s)).toDouble, 2)
      ).sum) < 1e-6)
    }
  }

  test("sums of random rows, slice by slice, are the sums of the windows") {
    for (seed <- 1 to 60) {
      val rng = new Random(seed)
      val ws = windows(rng, 4, 15, 60, phases = true)
      val rows = Vector.fill(400)((rng.nextInt(200).toLong, rng.nextInt(1000).toLong))
      val slices = Slices.over(ws, 0, 200)
      val partial = new Array[Long](slices.size)
      rows.foreach { case (t, v) => partial(slices.sliceOf(t)) += v }
      for (i <- ws.indices; r <- slices.results(i)) {
        val expected = rows.filter { case (t, _) => t >= r.end - ws(i).range && t < r.end }.map(_._2).sum
        assert((r.first until r.last).map(partial(_)).sum === expected)
      }
    }
  }

  test("merges counted one by one, and Table 3's E r/s of them over many periods") {
    for (seed <- 1 to 40) {
      val rng = new Random(seed)
      val ws = windows(rng, 3, 9, 25, phases = false)
      val common = SlicedWindow.common(ws)
      val slices = Slices.over(ws, 0, 400)
      for (i <- ws.indices) {
        val byHand = (0L to 500L).filter(ws(i).endsAt).map { e =>
          slices.cuts.indices.count(s => slices.startOf(s) >= e - ws(i).range && slices.endOf(s) <= e)
        }.sum
        assert(slices.merges(i) === byHand, s"$ws")
      }
      // Exact where the range is a multiple of the slide: every slice is in r/s results.
      val whole = ws.map(w => PeriodicWindow(w.slide * 3, w.slide))
      val over = Slices.over(whole, 0, SlicedWindow.commonPeriod(whole.map(_.slide)))
      whole.indices.foreach(i => assert(over.merges(i) === over.size * 3L))
      assert(common.size >= 1)
    }
  }
}
