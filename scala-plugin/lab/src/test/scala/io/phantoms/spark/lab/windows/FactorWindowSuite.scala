package io.phantoms.spark.lab.windows

import scala.util.Random

import io.phantoms.spark.model.PeriodicWindow

import org.scalatest.funsuite.AnyFunSuite

class FactorWindowSuite extends AnyFunSuite {
  // Intervals of results of `factor` that lie within `[begin, end)`.
  private def within(factor: PeriodicWindow, begin: Long, end: Long): Vector[(Long, Long)] =
    (begin to end).filter(t => factor.endsAt(t) && t - factor.range >= begin).map(t => (t - factor.range, t)).toVector

  // Fewest intervals from `at` to `end`, each beginning where the last one ended, or before if they may overlap.
  private def fewest(intervals: Vector[(Long, Long)], begin: Long, end: Long, overlap: Boolean): Option[Long] = {
    val reached = scala.collection.mutable.Map(begin -> 0L)
    intervals.sortBy(_._2).foreach { case (a, b) =>
      val from = reached.filter { case (t, _) => if (overlap) t >= a && t < b else t == a }.values
      from.minOption.foreach(n => reached(b) = math.min(reached.getOrElse(b, Long.MaxValue), n + 1))
    }
    reached.get(end)
  }

  private def brute(w: PeriodicWindow, factor: PeriodicWindow, overlap: Boolean): Option[Long] = {
    val ends = (0L until 12 * w.slide).filter(w.endsAt).take(12)
    val counts = ends.map(e => fewest(within(factor, e - w.range, e), e - w.range, e, overlap))
    if (w == factor || counts.exists(_.isEmpty)) None else counts.flatten.maxOption
  }

  test("tiles and covers are what can be laid out, with fewest results") {
    var (tiled, covered) = (0, 0)
    for (seed <- 1 to 6000) {
      val rng = new Random(seed)
      val slide = 1L + rng.nextInt(4)
      val f = PeriodicWindow(1L + rng.nextInt(12), slide, rng.nextInt(slide.toInt).toLong)
      val wide = slide * (1 + rng.nextInt(4))
      val w = PeriodicWindow(1L + rng.nextInt(30), wide, rng.nextInt(wide.toInt).toLong)
      val tiles = FactorWindow.tiles(w, f)
      // One result of each end is laid out; with a factor whose slide is not a divisor of w's only some ends would be.
      assert(tiles === brute(w, f, overlap = false), s"$w of $f")
      assert(FactorWindow.covers(w, f) === brute(w, f, overlap = true), s"$w of $f")
      if (tiles.nonEmpty) tiled += 1
      if (FactorWindow.covers(w, f).nonEmpty) covered += 1
    }
    assert(tiled > 100 && covered > tiled, s"$tiled, $covered")
  }

  test("the example of the factor windows paper: 20, 30 and 40 minutes from 10") {
    val search = new FactorSearch(Vector(20L, 30L, 40L).map(r => PeriodicWindow(r, r)), idempotent = false)
    // Cut at 20, 30, 40, 60, 80, 90, 100, 120: a slice of ten minutes is not needed, slices do better.
    assert(search.common.size === 8)
    assert(search.direct.parents === Vector(-1, -1, 0))
    assert(search.direct.cost > 0 && search.search.cost <= search.direct.cost)
  }

  test("an hour sliding by ten seconds: 360 slices a result become a chain of factor windows") {
    val hour = PeriodicWindow(3600, 10)
    val search = new FactorSearch(Vector(hour), idempotent = false)
    assert(search.direct.cost === 36.0)
    val plan = search.search
    // 360 = 2 * 2 * 2 * 3 * 3 * 5 merges at best if every factor has a window of its own, each due every ten seconds.
    assert(plan.cost <= 2.4, s"$plan")
    assert(plan.cost >= 1.7 - 1e-9)
    assert(plan.windows.drop(1).forall(f => f.slide == 10 && 3600 % f.range == 0))
    // Overlapping results double each time: nine levels of two.
    val min = new FactorSearch(Vector(hour), idempotent = true).search
    assert(min.cost <= 1.8 + 1e-9, s"$min")
  }

  test("a plan by hand: a factor window that feeds two queries") {
    val queries = Vector(PeriodicWindow(24, 4), PeriodicWindow(16, 2))
    val search = new FactorSearch(queries, idempotent = false)
    // Slices of 2: 12 and 8 of them. From results of [8, 2] 3 and 2, and these are of 4 slices each.
    val plan = search.plan(Vector(PeriodicWindow(8, 2)))
    assert(plan.parents === Vector(2, 2, -1))
    assert(plan.merges === Vector(3.0, 2.0, 4.0))
    assert(math.abs(plan.cost - (3.0 / 4 + 2.0 / 2 + 4.0 / 2)) < 1e-12)
    assert(math.abs(search.direct.cost - (12.0 / 4 + 8.0 / 2)) < 1e-12)
    assert(search.candidates.contains(PeriodicWindow(8, 2)))
    assert(search.search.cost <= plan.cost)
  }

  test("candidates cut nothing new; plans are forests; search is close to the best of all subsets") {
    var (gained, optimal, total) = (0, 0, 0)
    for (seed <- 1 to 120) {
      val rng = new Random(seed)
      val base = 1L + rng.nextInt(3)
      val queries = Vector.fill(1 + rng.nextInt(3)) {
        PeriodicWindow(base * (1 + rng.nextInt(16)) * 2, base * (1 + rng.nextInt(3)))
      }.distinct
      val search = new FactorSearch(queries, idempotent = seed % 3 == 0)
      val found = search.search
      assert(search.candidates.forall(search.common.answers))
      found.parents.indices.foreach { i =>
        assert(Iterator.iterate(i)(found.parents(_)).take(found.parents.size + 2).contains(-1), "a cycle")
      }
      assert(found.cost <= search.direct.cost + 1e-12)
      if (found.cost < search.direct.cost - 1e-12) gained += 1
      if (search.candidates.size <= 9) {
        val best = (0 until (1 << search.candidates.size)).iterator.map { m =>
          search.plan(search.candidates.indices.filter(i => (m >> i & 1) == 1).map(search.candidates).toVector).cost
        }.min
        assert(found.cost >= best - 1e-12 && found.cost <= 1.25 * best, s"$queries: ${found.cost}, best $best")
        total += 1
        if (found.cost <= best + 1e-12) optimal += 1
      }
    }
    assert(gained > 30 && total > 40 && optimal > 0.8 * total, s"$gained gained, $optimal of $total optimal")
  }

  test("sums of random rows through the windows of a plan are the sums of the queries") {
    var through = 0
    for (seed <- 1 to 60) {
      val rng = new Random(seed)
      val queries = Vector.fill(2) {
        val slide = 2L * (1 + rng.nextInt(3))
        PeriodicWindow(slide * (4 + rng.nextInt(12)), slide, 2L * rng.nextInt(slide.toInt / 2))
      }.distinct
      val plan = new FactorSearch(queries, idempotent = false).search
      val values = Array.fill(400)(rng.nextInt(1000).toLong)
      def sum(from: Long, until: Long): Long = (from until until).map(t => values(t.toInt)).sum
      def result(i: Int, end: Long): Long = {
        val w = plan.windows(i)
        assert(w.endsAt(end), s"$w has no result at $end")
        if (plan.parents(i) < 0) sum(end - w.range, end)
        else {
          through += 1
          val factor = plan.windows(plan.parents(i)).range
          (0L until plan.merges(i).toLong).map(j => result(plan.parents(i), end - j * factor)).sum
        }
      }
      for (q <- queries.indices; end <- 200L to 300L if queries(q).endsAt(end))
        assert(result(q, end) === sum(end - queries(q).range, end), s"$plan")
    }
    assert(through > 1000, s"$through")
  }
}
