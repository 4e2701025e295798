package io.phantoms.spark.lab.windows.papers

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.fragments.Fragments
import io.phantoms.spark.lab.fragments.{FragmentCost, FragmentEstimate, ShardCost, ShardQuery, ShardWorkload, Shards}
import io.phantoms.spark.lab.windows.{CoarseMerges, Slices, WindowCost}
import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.{EdgeRate, RandomWindows, SlicedWindow}

/**
 * What On-the-fly sharing reports and can be computed without its testbed, over seeded trades.
 *
 * @param iterations query sets of workload (A) a number is the mean of
 * @param passes query sets of workloads (B) and (C), each of which reads all trades
 */
final class OnTheFlySharing(trades: Trades, iterations: Int, passes: Int) {
  private val hour = Trades.Hour.toLong
  private val sizes = Seq(16, 32, 64, 128, 256)

  def report: PaperReport =
    PaperReport(
      "on-the-fly-sharing",
      Seq(examples, analysis, fig4, workloadA, fragments, workloadB, regular, lowSharing)
    )

  private def mean(n: Int)(value: Random => Double): Double = (1 to n).map(i => value(new Random(i.toLong))).sum / n

  private def examples: PaperTable = {
    val u = PeriodicWindow(18, 15)
    val v = PeriodicWindow(12, 9)
    PaperTable(
      "Figs 1 and 3, Table 2: the examples",
      Seq(
        Compared("W[18, 15] paned: slices", 5, SlicedWindow.paned(u).size.toDouble),
        Compared("W[18, 15] paired: slices", 2, SlicedWindow.paired(u).size.toDouble),
        Compared("U(12, 3) with V(6, 3): period", 45, SlicedWindow.common(Seq(u, v)).period.toDouble),
        Compared("U(12, 3) with V(6, 3): slices", 14, SlicedWindow.common(Seq(u, v)).size.toDouble),
        Compared("W[18, 15] paned: merges per result, r/g", 6, WindowCost.paned(0, u).finals * u.slide),
        Compared("W[18, 15] paired: merges per result", 3, WindowCost.unsharedPeriod(0, Seq(u)).finals)
      )
    )
  }

  private def analysis: PaperTable = {
    // Over one hour, since the common period of 256 windows is out of reach.
    val rows = Seq(16, 256).flatMap { n =>
      def per(value: Vector[PeriodicWindow] => Double): Double = mean(iterations)(r => value(RandomWindows.paper(r, n)))
      val equation = per(w => hour * WindowCost.shared(0, EdgeRate.over(w, 0, hour), w).finals)
      val own = per(w => hour * WindowCost.unshared(0, w).finals)
      Seq(
        Compared(
          s"n = $n: sum of 2r/s^2 over an hour, counted",
          own,
          per(w => merges(w, SlicedWindow.paired, alone = true))
        ),
        Compared(
          s"n = $n: sum of E r/s over an hour, counted",
          equation,
          per(merges(_, SlicedWindow.paired, alone = false))
        )
      )
    }
    PaperTable("Table 3: its equations (as Paper) beside slices merged one by one", rows)
  }

  private def merges(windows: Vector[PeriodicWindow], sliced: PeriodicWindow => SlicedWindow, alone: Boolean): Double =
    if (alone) windows.map(w => Slices.over(Seq(w), 0, hour, sliced).merges(0)).sum.toDouble
    else {
      val all = Slices.over(windows, 0, hour, sliced)
      windows.indices.map(all.merges).sum.toDouble
    }

  // From how many queries on sharing is dearer, one at a time added; averaged over query sets.
  private def crossover(lambda: Double): Double = mean(iterations) { rng =>
    val windows = RandomWindows.paper(rng, 256)
    (2 to 256).find { n =>
      val some = windows.take(n)
      !WindowCost.share(lambda, EdgeRate.over(some, 0, hour), some)
    }.getOrElse(257).toDouble
  }

  private def fig4: PaperTable = PaperTable(
    "Fig 4: shared or not, operations per second",
    sizes.flatMap { n =>
      val windows = RandomWindows.paper(new Random(1), n)
      val gamma = EdgeRate.over(windows, 0, hour)
      Seq(
        Compared.ours(s"n = $n, 375 tuples/s: unshared", WindowCost.unshared(375, windows).total),
        Compared.ours(s"n = $n, 375 tuples/s: shared", WindowCost.shared(375, gamma, windows).total),
        Compared.ours(s"n = $n: tuples/s above which sharing pays, inequality 1", WindowCost.threshold(gamma, windows))
      )
    } ++ Seq(
      Compared("0.0005 tuples/s: queries from which unshared is better", 83, crossover(0.0005)),
      Compared("0.0005 tuples/ms: queries from which unshared is better", 83, crossover(0.5))
    )
  )

  private def workloadA: PaperTable = {
    def per(n: Int)(value: Vector[PeriodicWindow] => Double): Double =
      mean(iterations)(r => value(RandomWindows.paper(r, n)))
    // Every slice into each of the ceil(r/s) results under way, whether they are of its time or not.
    def buffered(w: Vector[PeriodicWindow], sliced: PeriodicWindow => SlicedWindow): Double = {
      val slices = Slices.over(w, 0, hour, sliced).size
      w.map(x => (x.range + x.slide - 1) / x.slide * slices).sum.toDouble
    }
    // Only results due by the end of the hour.
    def due(w: Vector[PeriodicWindow]): Double =
      w.map(x => Slices.over(Seq(x), 0, hour).results(0).filter(_.end <= hour).map(_.size).sum).sum.toDouble
    val at256 = Seq(
      Compared("n = 256: partial, unshared", 291490816, 256.0 * trades.rows),
      Compared("n = 256: partial, shared", 1138636, trades.rows.toDouble),
      Compared("n = 256: final, unshared paired", 6813, per(256)(merges(_, SlicedWindow.paired, alone = true))),
      Compared("n = 256: final, unshared paired, results due within the hour", 6813, per(256)(due)),
      Compared("n = 256: final, shared paired", 1462391, per(256)(merges(_, SlicedWindow.paired, alone = false))),
      Compared("n = 256: final, shared paned", 2340842, per(256)(merges(_, SlicedWindow.paned, alone = false))),
      Compared("n = 256: final, shared paired, E ceil(r/s)", 1462391, per(256)(buffered(_, SlicedWindow.paired))),
      Compared("n = 256: final, shared paned, E ceil(r/s)", 2340842, per(256)(buffered(_, SlicedWindow.paned)))
    )
    val others = sizes.init.flatMap { n =>
      Seq(
        Compared.ours(s"n = $n: final, shared paired", per(n)(merges(_, SlicedWindow.paired, alone = false))),
        Compared.ours(s"n = $n: final, shared paned", per(n)(merges(_, SlicedWindow.paned, alone = false)))
      )
    }
    val beyond = Seq(
      Compared.ours(
        "n = 256: final, shared paired, slices in blocks (not in the paper)",
        per(256) { w =>
          val s = Slices.over(w, 0, hour); CoarseMerges.merges(s, CoarseMerges.choose(s)).toDouble
        }
      )
    )
    PaperTable("Section 6.2, workload (A), different windows: aggregations in an hour", at256 ++ others ++ beyond)
  }

  private def fragments: PaperTable = {
    val cost = new FragmentCost()
    val e = FragmentEstimate(189445, 256, 76, 76, 12068, 189445)
    PaperTable(
      "Section 4.3.3, Fig 10: 256 predicates, |T| = 189,445, alpha = beta = 76",
      Seq(
        Compared.ours("unshared, alpha |T|", cost.unshared(e)),
        Compared.ours("shared, |T| + k beta at k = 12,068", cost.shared(e)),
        Compared.ours("shared at k = 1", cost.shared(e.copy(k = 1))),
        Compared.ours("shared at k = |T|", cost.shared(e.copy(k = e.rows))),
        Compared.ours("k below which sharing pays", cost.threshold(e))
      )
    )
  }

  private def fragmentsOf(
      ids: Array[Int],
      kinds: IndexedSeq[BitSet],
      queries: Int,
      from: Int,
      until: Int
  ): Fragments = {
    val counts = new Array[Long](kinds.size)
    for (i <- ids.indices if trades.seconds(i) >= from && trades.seconds(i) < until) counts(ids(i)) += 1
    Fragments(queries, kinds.indices.iterator.filter(counts(_) > 0).map(k => (kinds(k), counts(k))))
  }

  private def workloadB: PaperTable = {
    val cost = new FragmentCost()
    val runs = (1 to passes).map { seed =>
      val rng = new Random(seed.toLong)
      val (ids, kinds) = trades.signatures(trades.predicates(rng, 256))
      val windows = (0 until Trades.Hour by 600).map(t => fragmentsOf(ids, kinds, 256, t, t + 600))
      // One row in a hundred.
      val sampled = windows.head.rows.toInt / 100
      val sample = Fragments(
        256,
        rng.shuffle(ids.indices.take(windows.head.rows.toInt).toVector).take(sampled)
          .map(i => (kinds(ids(i)), 1L))
      )
      val estimate = FragmentEstimate.fromSample(windows.head.rows.toDouble, sample)
      val exact = windows.map(FragmentEstimate.exact)
      Vector(
        windows.map(_.rows).sum.toDouble,
        exact.map(cost.unshared).sum,
        exact.map(cost.finals).sum,
        exact.map(_.alpha).sum / 6,
        exact.map(_.k).sum / 6,
        exact.map(_.k).max,
        kinds.count(_.nonEmpty).toDouble,
        exact.map(cost.shared).sum / exact.map(cost.unshared).sum,
        estimate.k / exact.head.k,
        estimate.alpha / exact.head.alpha,
        estimate.beta / exact.head.beta
      )
    }
    val m = runs.transpose.map(x => x.sum / passes)
    PaperTable(
      "Section 6.3, workload (B), 256 predicates: aggregations in an hour",
      Seq(
        Compared("tuples", 1094947, m(0)),
        Compared("unshared, alpha |T|", 116101112, m(1)),
        Compared("shared, final, k beta", 6677009, m(2)),
        Compared("alpha", 116101112.0 / 1094947, m(3)),
        Compared("k, mean of six windows", 11407, m(4)),
        Compared("k, largest of six windows", 11893, m(5)),
        Compared("k of the whole hour", 34327, m(6)),
        Compared("shared / unshared", 7771956.0 / 116101112, m(7)),
        Compared.ours("k estimated from 1 % / k", m(8)),
        Compared.ours("alpha estimated from 1 % / alpha", m(9)),
        Compared.ours("beta estimated from 1 % / beta", m(10))
      )
    )
  }

  private def shards(workload: ShardWorkload, ids: Array[Int], kinds: IndexedSeq[BitSet]): Shards = {
    val slices = Slices.over(workload.windows, 0, hour)
    val counts = Array.fill(slices.size)(scala.collection.mutable.LongMap.empty[Long])
    ids.indices.foreach { i =>
      val of = counts(slices.sliceOf(trades.seconds(i).toLong))
      of(ids(i).toLong) = of.getOrElse(ids(i).toLong, 0L) + 1
    }
    val fragments =
      counts.iterator.map(c => Fragments(workload.predicates, c.iterator.map { case (k, n) => (kinds(k.toInt), n) }))
    Shards(workload, slices, fragments.toVector)
  }

  private def counted(
      title: String,
      paper: Seq[Double]
  )(workload: Random => (ShardWorkload, IndexedSeq[Trades.Predicate])) = {
    val runs = (1 to passes).map { seed =>
      val (w, predicates) = workload(new Random(seed.toLong))
      val (ids, kinds) = trades.signatures(predicates)
      val parted = shards(w, ids, kinds)
      val (us, sds, once) = (ShardCost.unshared(parted), ShardCost.shared(parted), ShardCost.sharedByPredicate(parted))
      Vector(
        us.partial,
        us.finals,
        sds.partial,
        sds.finals,
        sds.total / us.total,
        once.finals,
        parted.slices.size.toDouble
      )
    }
    val m = runs.transpose.map(x => x.sum / passes)
    PaperTable(
      title,
      Seq(
        Compared("unshared, partial", paper(0), m(0)),
        Compared("unshared, final", paper(1), m(1)),
        Compared("shared, partial", paper(2), m(2)),
        Compared("shared, final", paper(3), m(3)),
        Compared("shared / unshared", (paper(2) + paper(3)) / (paper(0) + paper(1)), m(4)),
        Compared.ours("shared, final, once per predicate and result (not in the paper)", m(5)),
        Compared.ours("slices", m(6))
      )
    )
  }

  private def regular: PaperTable = counted(
    "Section 6.4.1, 16 predicates x 16 windows: aggregations in an hour",
    Seq(100902960, 6955, 1138636, 2256496)
  ) { rng =>
    val queries = for (w <- 0 until 16; p <- 0 until 16) yield ShardQuery(w, p)
    (ShardWorkload(RandomWindows.paper(rng, 16), 16, queries.toVector), trades.predicates(rng, 16))
  }

  private def lowSharing: PaperTable = counted(
    "Section 6.4.2, 256 different predicates and windows: aggregations in an hour",
    Seq(120672210, 6812, 1294064, 63984043)
  ) { rng =>
    val queries = Vector.tabulate(256)(i => ShardQuery(i, i))
    (ShardWorkload(RandomWindows.paper(rng, 256), 256, queries), trades.predicates(rng, 256))
  }
}
