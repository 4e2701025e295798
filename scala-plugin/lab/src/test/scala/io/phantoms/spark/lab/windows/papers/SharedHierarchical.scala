package io.phantoms.spark.lab.windows.papers

import scala.util.Random

import io.phantoms.spark.lab.hierarchy.{
  CommunicationCost,
  HierarchyChoice,
  HierarchyPlan,
  HierarchySearch,
  PushDown,
  Topology
}
import io.phantoms.spark.lab.windows.{Slices, WindowCost, WindowOperations}
import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.{EdgeRate, SlicedWindow}

/** What Shared hierarchical aggregation reports and can be computed without its testbed and trace. */
final class SharedHierarchical(sets: Int) {
  import SharedHierarchical._

  def report: PaperReport = PaperReport(
    "shared-hierarchical",
    Seq(examples, tables1to3, table4, fig7Ungrouped, fig7Grouped, levels)
  )

  // Table 5: one slide, and ranges that are not shorter.
  private def queries(rng: Random, n: Int): Vector[PeriodicWindow] = {
    val slide = 1000L + rng.nextInt(1001)
    Vector.fill(n)(PeriodicWindow(Iterator.continually(1500L + rng.nextInt(1001)).dropWhile(_ <= slide).next(), slide))
  }

  private def mean(n: Int)(value: Vector[PeriodicWindow] => Double): Double =
    (1 to sets).map(i => value(queries(new Random(i.toLong), n))).sum / sets

  private def examples: PaperTable = {
    val (u, v) = (PeriodicWindow(18, 15), PeriodicWindow(12, 9))
    val (low, high) = EdgeRate.bounds(Seq(u, v))
    PaperTable(
      "Figs 3 and 5: the examples, and the bounds of eq 1",
      Seq(
        Compared("W[18, 15] paned: slices", 5, SlicedWindow.paned(u).size.toDouble),
        Compared("W[18, 15] paired: slices", 2, SlicedWindow.paired(u).size.toDouble),
        Compared("U(12, 3) with V(6, 3): slices", 12, SlicedWindow.common(Seq(u, v)).size.toDouble),
        Compared.ours("beta, slices in 45", SlicedWindow.common(Seq(u, v)).rate * 45),
        Compared.ours("lower bound of eq 1, in 45", low * 45),
        Compared.ours("upper bound of eq 1, in 45", high * 45)
      )
    )
  }

  // Slices merged in a day by all windows, once they are under way.
  private def merges(
      windows: Vector[PeriodicWindow],
      sliced: PeriodicWindow => SlicedWindow,
      alone: Boolean
  ): Double = {
    val start = 2 * windows.head.slide * 1000 // far from where all begin
    if (alone) windows.map(w => Slices.over(Seq(w), start, start + Day, sliced).merges(0)).sum.toDouble / Day
    else {
      val all = Slices.over(windows, start, start + Day, sliced)
      windows.indices.map(all.merges).sum.toDouble / Day
    }
  }

  private def tables1to3: PaperTable = {
    val lambda = Tuples.toDouble / Day
    val n = 32
    def equation(of: (Double, Vector[PeriodicWindow]) => WindowOperations): Double = mean(n)(of(lambda, _).total)
    PaperTable(
      "Tables 1 to 3: their equations (as Paper) beside counts over a day; n = 32 queries of Table 5, operations per second",
      Seq(
        Compared(
          "Table 1, paned, mean of one query: lambda + (1/g)(r/s)",
          equation((l, w) => WindowCost.paned(l, w.head)),
          lambda + mean(n)(w => merges(w.take(1), SlicedWindow.paned, alone = true))
        ),
        Compared(
          "Table 1, paired, mean of one query: lambda + (2/s)(r/s)",
          equation((l, w) => WindowCost.paired(l, w.head)),
          lambda + mean(n)(w => merges(w.take(1), SlicedWindow.paired, alone = true))
        ),
        Compared("Table 2, subqueries: n lambda", n * lambda, mean(n)(WindowCost.unshared(lambda, _).partial)),
        Compared(
          "Table 2, superqueries: 2 Sum r/s^2",
          mean(n)(WindowCost.unshared(lambda, _).finals),
          mean(n)(merges(_, SlicedWindow.paired, alone = true))
        ),
        Compared(
          "Table 3, superqueries: beta Sum r/s",
          mean(n)(w => WindowCost.shared(lambda, SlicedWindow.common(w).rate, w).finals),
          mean(n)(merges(_, SlicedWindow.paired, alone = false))
        ),
        Compared.ours("Table 2, space: n + Sum r/s", mean(n)(WindowCost.unsharedSpace)),
        Compared.ours("Table 3, space: 1 + Sum r/s", mean(n)(WindowCost.sharedSpace)),
        Compared.ours(
          "inequality 3: lambda below which not to share",
          mean(n)(w => WindowCost.threshold(SlicedWindow.common(w).rate, w))
        ),
        Compared.ours("lambda of the trace", lambda)
      )
    )
  }

  private def table4: PaperTable = {
    val lambda = Tuples.toDouble / Day
    PaperTable(
      "Table 4: tuples a day that an edge sends, n = 2 and 32",
      for (n <- Seq(2, 32); p <- HierarchyPlan.all) yield Compared.ours(
        s"n = $n, plan ${p.number} (${if (p.shared) "shared" else "unshared"}, ${p.pushDown.toString.toLowerCase})",
        Day * mean(n)(w => CommunicationCost(w).bandwidth(p, lambda))
      )
    )
  }

  private def counted(windows: Vector[PeriodicWindow], sliced: PeriodicWindow => SlicedWindow): Double =
    Slices.over(windows, 0, Day, sliced).size.toDouble

  private def fig7Ungrouped: PaperTable = {
    def results(n: Int): Double = mean(n)(_.map(w => Day / w.slide).sum.toDouble)
    def paired(n: Int): Double = mean(n)(counted(_, SlicedWindow.paired))
    PaperTable(
      "Fig 7, ungrouped: tuples sent in 24 hours, mean of 50 query sets",
      Seq(
        Compared("n = 2, full push-down", 118, results(2)),
        Compared("n = 2, paired partial push-down", 177, paired(2)),
        Compared("n = 32, full push-down", 1898, results(32)),
        Compared("n = 32, paired partial push-down", 1920, paired(32)),
        Compared("n = 32, paned partial push-down", 86278, mean(32)(counted(_, SlicedWindow.paned))),
        Compared("pull-up", 523761, Tuples.toDouble)
      )
    )
  }

  private def fig7Grouped: PaperTable = {
    val trace = sources(new Random(1))
    // Different sources of the rows of [from, until); a row each 1/6 of a second.
    val seen = Array.fill(Sources)(-1)
    var stamp = 0
    def distinct(from: Long, until: Long): Double = {
      stamp += 1
      var n = 0
      var i = (math.max(0, from) * Tuples / Day).toInt
      val end = (math.min(Day, until) * Tuples / Day).toInt
      while (i < end) {
        if (seen(trace(i)) != stamp) { seen(trace(i)) = stamp; n += 1 }
        i += 1
      }
      n.toDouble
    }
    def partial(sliced: PeriodicWindow => SlicedWindow)(windows: Vector[PeriodicWindow]): Double = {
      val s = Slices.over(windows, 0, Day, sliced)
      (0 until s.size).map(i => distinct(s.startOf(i), s.endOf(i))).sum
    }
    def full(windows: Vector[PeriodicWindow]): Double =
      windows.map(w => (1L to Day / w.slide).map(k => distinct(k * w.slide - w.range, k * w.slide)).sum).sum
    PaperTable(
      "Fig 7, grouped: tuples sent in 24 hours",
      Seq(
        Compared("n = 2, paired partial push-down", 86472, mean(2)(partial(SlicedWindow.paired))),
        Compared("n = 32, paired partial push-down", 183910, mean(32)(partial(SlicedWindow.paired))),
        Compared("n = 4, full push-down", 257675, mean(4)(full)),
        Compared("n = 8, full push-down", 512535, mean(8)(full)),
        Compared("n = 32, paned partial push-down", 455401, mean(32)(partial(SlicedWindow.paned))),
        Compared("pull-up", 523761, Tuples.toDouble)
      )
    )
  }

  // Zipf's law over a shuffled set of sources.
  private def sources(rng: Random): Array[Int] = {
    val sums = (1 to Sources).map(i => math.pow(i.toDouble, -Skew)).scanLeft(0.0)(_ + _).toArray
    Array.fill(Tuples) {
      val at = java.util.Arrays.binarySearch(sums, rng.nextDouble() * sums.last)
      math.min(Sources - 1, if (at >= 0) at else -at - 2)
    }
  }

  private def levels: PaperTable = {
    val windows = queries(new Random(1), 32)
    val groups = CommunicationCost.uniformGroups(5000)
    val topology = Topology.balanced(Seq(4, 8, 8), Tuples.toDouble / Day)
    val search = new HierarchySearch(topology, CommunicationCost(windows, groups))
    def at(level: Int, c: HierarchyChoice): Double = {
      val operations = search.operations(c)
      topology.depth.indices.filter(topology.depth(_) == level).map(operations).sum
    }
    val full = search.evaluate(Vector.fill(topology.size)(PushDown.Full))
    PaperTable(
      "Section 7: three levels of 4, 32 and 256 nodes, n = 32, 5000 groups, per second",
      Seq(
        Compared.ours("tuples sent, rows to the root", search.uniform(HierarchyPlan(shared = true, PushDown.None))),
        Compared.ours("tuples sent, results everywhere", full.cost),
        Compared.ours("tuples sent, slices everywhere (partial push-down)", search.partialPushDown.cost),
        Compared.ours("tuples sent, chosen", search.search.cost),
        Compared.ours("operations of all receptors, slices", at(3, search.partialPushDown)),
        Compared.ours("operations of all receptors, results", at(3, full)),
        Compared.ours("operations of the root, slices", at(0, search.partialPushDown)),
        Compared.ours("operations of the root, results", at(0, full))
      )
    )
  }
}

object SharedHierarchical {
  val Day = 86400L

  /** Rows of the paper's trace. */
  val Tuples = 523761

  // Fitted to the slices that 2 and 32 queries send in Fig 7; its other numbers are then predictions.
  private val Sources = 1500
  private val Skew = 1.2
}
