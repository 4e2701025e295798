package io.phantoms.spark.lab.fragments

import scala.collection.immutable.BitSet
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.fragments.Fragments
import io.phantoms.spark.lab.windows.Slices
import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.{RandomWindows, SlicedWindow}

class ShardsSuite extends AnyFunSuite {
  import ShardsSuite.Row

  private def workload(rng: Random): ShardWorkload = {
    val windows = RandomWindows.windows(rng, 1 + rng.nextInt(3), 12, 40, phases = true).distinct
    val predicates = 1 + rng.nextInt(6)
    val queries = Vector.fill(1 + rng.nextInt(10))(ShardQuery(rng.nextInt(windows.size), rng.nextInt(predicates)))
    ShardWorkload(windows, predicates, queries)
  }

  private def rows(rng: Random, w: ShardWorkload): Vector[Row] = Vector.fill(400)(Row(
    rng.nextInt(150).toLong,
    BitSet.fromSpecific((0 until w.predicates).filter(_ => rng.nextInt(3) == 0)),
    rng.nextInt(1000).toLong
  ))

  private def parted(w: ShardWorkload, rows: Vector[Row]): Shards =
    Shards.of(w, Slices.over(w.windows, 0, 150), rows.map(r => (r.time, r.signature)))

  private def near(a: Double, b: Double, within: Double = 1e-9): Unit = {
    assert(math.abs(a - b) <= within * math.max(1.0, math.abs(b)), s"$a, expected $b")
    ()
  }

  test("shards part the rows, and each result of each query is the union of its shards") {
    for (seed <- 1 to 120) {
      val rng = new Random(seed)
      val w = workload(rng)
      val all = rows(rng, w)
      val shards = parted(w, all)
      assert(shards.rows === all.size)
      val sums = all.groupBy(r => (shards.slices.sliceOf(r.time), r.signature)).map { case (s, rs) =>
        (s, rs.map(_.value).sum)
      }
      for (q <- w.queries; r <- shards.slices.results(q.window)) {
        val mine = shards.of(q, r)
        val window = w.windows(q.window)
        val expected = all.filter(x => x.time >= r.end - window.range && x.time < r.end && x.signature(q.predicate))
        assert(mine.map(_._2.frequency).sum === expected.size)
        assert(mine.map { case (s, f) => sums((s, f.signature)) }.sum === expected.map(_.value).sum)
      }
      assert(shards.size === sums.keys.count(_._2.nonEmpty))
    }
  }

  test("aggregate operations, counted one by one") {
    for (seed <- 1 to 120) {
      val rng = new Random(seed)
      val w = workload(rng)
      val all = rows(rng, w)
      val shards = parted(w, all)
      val shared = ShardCost.shared(shards)
      val unshared = ShardCost.unshared(shards)
      near(unshared.partial, w.queries.map(q => all.count(_.signature(q.predicate))).sum.toDouble)
      near(shared.partial, all.size.toDouble)
      // Every shard into the slice aggregate of every query it satisfies.
      val distinct = all.map(r => (shards.slices.sliceOf(r.time), r.signature)).distinct
      near(shared.slices, distinct.map { case (_, b) => w.queries.count(q => b(q.predicate)) }.sum.toDouble)
      // Every slice into every result it is part of.
      def into(slices: Slices, i: Int): Int = slices.results(i).map(_.size).sum
      near(shared.windows, w.queries.map(q => into(shards.slices, q.window)).sum.toDouble)
      near(
        unshared.windows,
        w.queries.map(q => into(Slices.over(Seq(w.windows(q.window)), 0, 150), 0)).sum.toDouble
      )
      assert(shared.total === shared.partial + shared.slices + shared.windows)
      val once = ShardCost.sharedByPredicate(shards)
      near(once.slices, distinct.map { case (_, b) => w.queries.map(_.predicate).distinct.count(b(_)) }.sum.toDouble)
      near(once.windows, w.queries.distinct.map(q => into(shards.slices, q.window)).sum.toDouble)
      assert(once.total <= shared.total)
    }
  }

  test("expected rates beside what is counted") {
    for (seed <- 1 to 30) {
      val rng = new Random(seed)
      val windows = RandomWindows.windows(rng, 2, 20, 60, phases = false).distinct
      val predicates = 5
      val w = ShardWorkload(windows, predicates, Vector.fill(8)(ShardQuery(rng.nextInt(windows.size), rng.nextInt(5))))
      val until = SlicedWindow.commonPeriod(windows.map(_.slide)) * (1 + 2000 / windows.map(_.slide).max)
      val lambda = 3
      val signatures = Vector.fill(40)(BitSet.fromSpecific((0 until predicates).filter(_ => rng.nextBoolean())))
      def signature(): BitSet = signatures(math.min(rng.nextInt(40), rng.nextInt(40)))
      val all = (0L until until).iterator.flatMap(t => Iterator.fill(lambda)((t, signature())))
      val shards = Shards.of(w, Slices.over(windows, 0, until), all)
      val sample = Fragments(predicates, Vector.fill(40000)(signature() -> 1L))
      val common = SlicedWindow.common(windows).widths
      val expected = ShardCost.sharedRate(w, lambda.toDouble, sample, common)
      val counted = ShardCost.shared(shards)
      near(expected.partial * until, counted.partial)
      near(expected.slices * until / counted.slices, 1, 0.05)
      near(
        ShardCost.unsharedRate(w, lambda.toDouble, sample).partial * until / ShardCost.unshared(shards).partial,
        1,
        0.05
      )
      assert(ShardCost.share(w, lambda.toDouble, sample, common) ===
        (expected.total < ShardCost.unsharedRate(w, lambda.toDouble, sample).total))
    }
  }

  test("rates by hand") {
    // U and V of the paper under one predicate that every row satisfies: fragments change nothing.
    val windows = Vector(PeriodicWindow(18, 15), PeriodicWindow(12, 9))
    val w = ShardWorkload(windows, 1, Vector(ShardQuery(0, 0), ShardQuery(1, 0), ShardQuery(1, 0)))
    val sample = Fragments(1, Seq(BitSet(0) -> 100000L))
    val shared = ShardCost.sharedRate(w, 1000, sample, SlicedWindow.common(windows).widths)
    near(shared.partial, 1000)
    near(shared.slices, 3 * 12.0 / 45)
    near(shared.windows, 12.0 / 45 * (1.2 + 2 * (12.0 / 9)))
    val unshared = ShardCost.unsharedRate(w, 1000, sample)
    near(unshared.partial, 3000)
    near(unshared.windows, 2.0 / 15 * 1.2 + 2 * (2.0 / 9 * (12.0 / 9)))
    val common = SlicedWindow.common(windows).widths
    assert(ShardCost.share(w, 1000, sample, common) && !ShardCost.share(w, 0.01, sample, common))
    assertThrows[IllegalArgumentException](ShardWorkload(windows, 1, Vector(ShardQuery(2, 0))))
    assertThrows[IllegalArgumentException](ShardWorkload(windows, 1, Vector(ShardQuery(0, 1))))
  }
}

object ShardsSuite {
  private final case class Row(time: Long, signature: BitSet, value: Long)
}
