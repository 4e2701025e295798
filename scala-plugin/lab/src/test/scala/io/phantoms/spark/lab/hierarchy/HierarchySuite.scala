package io.phantoms.spark.lab.hierarchy

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.lab.windows.Slices
import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.{RandomWindows, SlicedWindow}

class HierarchySuite extends AnyFunSuite {
  private val u = PeriodicWindow(18, 15)
  private val v = PeriodicWindow(12, 9)

  private def near(a: Double, b: Double, within: Double = 1e-9): Unit = {
    assert(math.abs(a - b) <= within * math.max(1.0, math.abs(b)), s"$a, expected $b")
    ()
  }

  test("Table 4: the six plans for U and V") {
    val cost = CommunicationCost(Seq(u, v))
    assert(HierarchyPlan.all.map(_.number) === (1 to 6))
    val expected = Seq(
      (false, PushDown.None, 2 * 100.0),
      (false, PushDown.Partial, 2.0 / 15 + 2.0 / 9),
      (false, PushDown.Full, 1.0 / 15 + 1.0 / 9),
      (true, PushDown.None, 100.0),
      (true, PushDown.Partial, 12.0 / 45),
      (true, PushDown.Full, 1.0 / 15 + 1.0 / 9)
    )
    expected.zip(HierarchyPlan.all).foreach { case ((shared, pushDown, rate), plan) =>
      assert(plan === HierarchyPlan(shared, pushDown))
      near(cost.bandwidth(plan, 100), rate)
    }
    // Inequality 4: 12/45 is not below 8/45.
    assert(!cost.slicesPay(100))
    assert(cost.cheapest(100) === HierarchyPlan(shared = true, PushDown.Full))
    assert(cost.cheapest(0.01) === HierarchyPlan(shared = true, PushDown.None))
  }

  test("inequality 4: many queries of one slide and few ranges share their slices") {
    // Four queries, cut at 4 and 10: two slices a period beside four results.
    val cost = CommunicationCost(Seq(16, 26, 36, 46).map(r => PeriodicWindow(r.toLong, 10)))
    near(cost.slices(1, shared = true), 0.2)
    near(cost.results(1), 0.4)
    assert(cost.slicesPay(1) && cost.cheapest(1).pushDown === PushDown.Partial)
  }

  test("tuples sent, counted tick by tick") {
    for (seed <- 1 to 60) {
      val rng = new Random(seed)
      val ws = RandomWindows.windows(rng, 1 + rng.nextInt(4), 9, 30, phases = true)
      val period = SlicedWindow.commonPeriod(ws.map(_.slide))
      val cost = CommunicationCost(ws)
      val ticks = 1L to period
      def rate(tuples: Int): Double = tuples.toDouble / period
      near(cost.slices(5, shared = false), rate(ws.map(w => ticks.count(w.hasEdge)).sum))
      near(cost.slices(5, shared = true), rate(ticks.count(t => ws.exists(_.hasEdge(t)))))
      near(cost.results(5), rate(ws.map(w => ticks.count(w.endsAt)).sum))
    }
  }

  test("groups: tuples sent per group, counted over random rows") {
    val groups = 40
    val lambda = 2
    for (seed <- 1 to 12) {
      val rng = new Random(seed)
      val ws = RandomWindows.windows(rng, 2, 12, 30, phases = false).distinct
      val until = 6000L
      val keys = Array.fill((until * lambda).toInt)(rng.nextInt(groups))
      def distinct(from: Long, to: Long): Int =
        (math.max(0L, from) * lambda until to * lambda).map(i => keys(i.toInt)).distinct.size
      val cost = CommunicationCost(ws, CommunicationCost.uniformGroups(groups.toDouble))
      val slices = Slices.over(ws, 0, until)
      val sliced = (0 until slices.size).map(s => distinct(slices.startOf(s), slices.endOf(s))).sum
      near(cost.slices(lambda.toDouble, shared = true) * until / sliced, 1, 0.03)
      val results = ws.map(w => (w.range to until).filter(w.endsAt).map(t => distinct(t - w.range, t)).sum).sum
      near(cost.results(lambda.toDouble) * until / results, 1, 0.04)
    }
    assert(CommunicationCost.uniformGroups(1)(7) === 1.0 && CommunicationCost.uniformGroups(10)(0) === 0.0)
  }

  private def random(rng: Random): Topology = {
    val n = 2 + rng.nextInt(7)
    val parents = -1 +: Vector.tabulate(n - 1)(i => rng.nextInt(i + 1))
    Topology(
      parents,
      Vector.fill(n)(if (rng.nextInt(3) == 0) 0.0 else math.exp(rng.nextDouble() * 8 - 5)),
      Vector.fill(n)(math.exp(rng.nextDouble() * 8 - 4))
    )
  }

  test("a topology adds up what is below") {
    val t = Topology.balanced(Seq(2, 3), 10)
    assert(t.size === 9)
    assert(t.lambda === Vector(60.0, 30.0, 30.0) ++ Vector.fill(6)(10.0))
    assert(t.depth === Vector(0, 1, 1) ++ Vector.fill(6)(2))
    assert(t.children(0) === Vector(1, 2) && t.children(2) === Vector(6, 7, 8))
    assertThrows[IllegalArgumentException](Topology(Vector(-1, 1), Vector(0.0, 0.0), Vector(1.0, 1.0)))
    for (seed <- 1 to 50) {
      val r = random(new Random(seed))
      for (i <- 0 until r.size) {
        def below(j: Int): Boolean = j == i || r.parents(j) >= 0 && below(r.parents(j))
        near(r.lambda(i), (0 until r.size).filter(below).map(r.sources).sum)
      }
    }
  }

  test("two levels are Table 4 on each link") {
    val cost = CommunicationCost(Seq(u, v))
    val search = new HierarchySearch(Topology.balanced(Seq(5), 100), cost)
    HierarchyPlan.all.foreach(p => near(search.uniform(p), 5 * cost.bandwidth(p, 100)))
    near(search.partialPushDown.cost, 5 * 12.0 / 45)
  }

  test("the search finds the cheapest of all choices, and none where a parent cannot take it back") {
    val kinds = Vector(PushDown.None, PushDown.Partial, PushDown.Full)
    val sent = scala.collection.mutable.Set.empty[PushDown]
    var mixed = 0
    for (seed <- 1 to 150) {
      val rng = new Random(seed)
      val topology = random(rng)
      val groups: Double => Double =
        if (seed % 3 == 0) _ => 1.0 else CommunicationCost.uniformGroups(2.0 + rng.nextInt(60))
      val ws = RandomWindows.windows(rng, 1 + rng.nextInt(4), 9, 30, phases = false)
      val search = new HierarchySearch(topology, CommunicationCost(ws, groups))
      val links = topology.size - 1
      val all = (0 until math.pow(3, links.toDouble).toInt).iterator.map { code =>
        PushDown.Full +: Vector.tabulate(links)(i => kinds(code / math.pow(3, i.toDouble).toInt % 3))
      }.filter { s =>
        (1 to links).forall(i => kinds.indexOf(s(i)) <= kinds.indexOf(s(topology.parents(i))))
      }.map(s => (1 to links).map(i => topology.linkCost(i) * search.sent(i, s(i))).sum)
      val found = search.search
      near(found.cost, all.min)
      assert(found.cost <= search.partialPushDown.cost + 1e-9)
      sent ++= found.sends.drop(1)
      if (found.sends.drop(1).distinct.size > 1) mixed += 1
    }
    assert(sent.size === 3 && mixed > 20, s"$sent, $mixed mixed")
    val chain = new HierarchySearch(Topology.balanced(Seq(1, 1), 10), CommunicationCost(Seq(u)))
    assertThrows[IllegalArgumentException](chain.evaluate(Vector(PushDown.Full, PushDown.Partial, PushDown.Full)))
  }

  test("what is best for one link may not suit the next: the dearer link decides") {
    // Slices of 10 rows and results of 40 have five groups, those of 20 one. Below, at one row per tick, results are
    // cheap; above, at two, slices are.
    val groups: Double => Double = n => if (n == 20) 1.0 else 5.0
    val cost = CommunicationCost(Seq(PeriodicWindow(20, 10)), groups)
    def search(upper: Double, lower: Double): HierarchyChoice =
      new HierarchySearch(Topology(Vector(-1, 0, 1), Vector(0.0, 1.0, 1.0), Vector(0.0, upper, lower)), cost).search
    assert(search(3, 1).sends === Vector(PushDown.Full, PushDown.Partial, PushDown.Partial))
    near(search(3, 1).cost, 3 * 0.1 + 1 * 0.5)
    assert(search(1, 3).sends === Vector(PushDown.Full, PushDown.Full, PushDown.Full))
    near(search(1, 3).cost, 1 * 0.5 + 3 * 0.1)
  }

  test("operations: rows sliced at the receptors, slices merged on their way, windows at the root") {
    val cost = CommunicationCost(Seq(u, v))
    val search = new HierarchySearch(Topology.balanced(Seq(2, 3), 100), cost)
    val beta = 12.0 / 45
    val windows = beta * (1.2 + 12.0 / 9)
    val partial = search.operations(search.partialPushDown)
    Seq(2 * beta + windows, 3 * beta, 3 * beta, 100, 100, 100, 100, 100, 100).zip(partial)
      .foreach { case (e, o) => near(o, e) }
    val results = 1.0 / 15 + 1.0 / 9
    val full = search.operations(search.evaluate(Vector.fill(9)(PushDown.Full)))
    Seq(2 * results, 3 * results, 3 * results, 100 + windows).zip(full).foreach { case (e, o) => near(o, e) }
    val none = search.operations(search.evaluate(Vector.fill(9)(PushDown.None)))
    Seq(600 + windows, 0, 0, 0).zip(none).foreach { case (e, o) => near(o, e) }
  }
}
