package io.phantoms.spark.search.smap

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.cost.{FlowLengths, SmapCost}
import io.phantoms.spark.lab.papers.{SmapData, TableSimulation}
import io.phantoms.spark.lab.smap.PeakLoad
import io.phantoms.spark.model.Workloads

import org.scalatest.funsuite.AnyFunSuite

/** The claims of SMAP's evaluation (section 8), on data of its parameters. */
class SmapSuite extends AnyFunSuite {
  private val data = SmapData(1)
  private val phis = Seq(0.8, 1.2, 1.6, 2.0) // the values of section 8.4
  private val singles = Seq("A", "B", "C", "D")
  private val pairs = Seq("AB", "BC", "BD", "CD")
  private val clustered = FlowLengths.ofDepths(Vector(50, 3, 1.2))

  test("the data has the paper's parameters") {
    val counts = data.counts
    assert(Seq("A", "AB", "ABC", "ABCD").map(n => counts(Workloads.groupings(n).head)) === Seq(552, 1846, 2117, 2837))
    assert(counts.removed(BitSet(0, 1, 2, 3)).values.forall(n => n >= 552 && n <= 2836), counts)
    assert(data.flows(SmapData.Tuples, 2).distinct.length === 2837)
  }

  /** The best phi, and the best moment to stop: Fig 5 goes on at a loss. */
  private def bestGp(problem: MultipleAggregation): Double =
    (for (phi <- phis; most <- 0 to 4) yield Gp.choose(problem, phi, problem.phantoms, most = most).cost).min

  for {
    (queries, lengths, name) <- Seq(
      (singles, FlowLengths.Random, "A B C D, uniform"),
      (singles, clustered, "A B C D, clustered"),
      (pairs, FlowLengths.Random, "AB BC BD CD, uniform"),
      (pairs, clustered, "AB BC BD CD, clustered")
    )
  } test(s"$name: GCSL within 1.2 of EPES, and no worse than GP with its best phi") {
    for (memory <- SmapData.Memories) {
      val problem = data.problem(queries, memory, lengths)
      val optimum = Smap("epes").choose(problem).cost
      val gcsl = Smap("gcsl").choose(problem).cost
      val gp = bestGp(problem)
      assert(gcsl <= 1.2 * optimum, s"M = $memory: $gcsl, EPES $optimum")
      assert(gcsl <= gp, s"M = $memory: $gcsl, GP $gp")
    }
  }

  test("different epochs: GCSL within 1.2 of EPES, and no worse than GP with its best phi") {
    for (
      (queries, lengths) <- Seq((singles, FlowLengths.Random), (pairs, clustered)); memory <- Seq(20000.0, 60000.0)
    ) {
      val problem = data.problem(queries, memory, lengths, epochs = Seq(2, 3, 5, 6))
      val optimum = Smap.Exhaustive(new ExhaustiveSpace(50), 1000).choose(problem).cost
      val gcsl = Smap("gcsl").choose(problem).cost
      val gp = bestGp(problem)
      assert(gcsl <= 1.2 * optimum, s"$queries, M = $memory: $gcsl, EPES $optimum")
      assert(gcsl <= gp, s"$queries, M = $memory: $gcsl, GP $gp")
    }
  }

  test("the configurations that the paper names (sections 8.4 and 8.5), at M = 40,000") {
    def found(queries: Seq[String], algorithm: String): String = {
      val problem = data.problem(queries, 40000)
      Smap(algorithm).choose(problem).feeding.render(problem.graph)
    }
    for (algorithm <- Seq("epes", "gcsl")) {
      assert(found(singles, algorithm) === "ABCD(AC(A C) BD(B D))", algorithm)
      assert(found(pairs, algorithm) === "ABCD(AB BCD(BC BD CD))", algorithm)
    }
  }

  test("measured on running tables: GCSL beats the queries alone") {
    val stream = data.uniform(400000, 3)
    val problem = data.problem(singles, 100000)
    val gcsl = Smap("gcsl").choose(problem)
    val naive = problem.allocated(problem.feeding(Nil), SpaceAllocation.SupernodeLinear)
    assert(measured(problem, gcsl, stream) * 3.5 < measured(problem, naive, stream))
    // Only groups that share a bucket leave a table, so its children see fewer groups than the model assumes.
    val ratio = measured(problem, gcsl, stream) / gcsl.cost
    assert(ratio > 0.75 && ratio < 1.02, ratio)
    // Groups of ABCD are equally frequent, as eq 13 has it, those of A to D are not.
    assert(math.abs(measured(problem, naive, stream) / naive.cost - 1) < 0.15)
  }

  /** Mean over some hash functions. */
  private def measured(problem: MultipleAggregation, c: SmapConfiguration, stream: Array[Int]): Double = {
    val costs = (1 to 5).map { seed =>
      val tables = TableSimulation(data, problem, c.feeding, c.space, seed)
      tables.run(stream, 0, stream.length / 4).restart()
      problem.cost(c.feeding, c.space, tables.run(stream, stream.length / 4, stream.length).rates)
    }
    costs.sum / costs.size
  }

  test("Fig 21: numbers of groups wrong by up to 50 % cost little of what is gained") {
    val stream = data.flows(300000, 4)
    val random = new Random(21)
    val truth = data.problem(pairs, 60000, clustered)
    val naive = measured(truth, truth.allocated(truth.feeding(Nil), SpaceAllocation.SupernodeLinear), stream)
    val right = measured(truth, Smap("gcsl").choose(truth), stream)
    for (error <- Seq(-0.5, -0.25, 0.25, 0.5); _ <- 1 to 3) {
      val wrong = data.counts.map { case (k, n) => k -> math.max(1.0, n * (1 + error * random.nextDouble())) }
      val problem = data.problem(pairs, 60000, clustered, counts = wrong)
      val cost = measured(truth, Smap("gcsl").choose(problem), stream)
      assert(naive / cost > 2, s"error $error: $cost, naive $naive")
      assert(cost < 1.25 * right, s"error $error: $cost, with the right numbers $right")
    }
  }

  test("the peak load is met, at the lower of two costs") {
    val problem = data.problem(pairs, 40000, clustered)
    val free = Smap("gcsl").choose(problem)
    val load = problem.endOfEpoch(free.feeding, free.space)
    for (share <- Seq(0.98, 0.9, 0.7, 0.5)) {
      val within = PeakLoad.within(problem, free, share * load)
      assert(problem.endOfEpoch(within.feeding, within.space) <= share * load)
      assert(within.space.sum <= 40000 * (1 + 1e-9))
      assert(within.cost >= free.cost * 0.99)
    }
    assert(PeakLoad.within(problem, free, load).space.toSeq === free.space.toSeq)
  }

  test("epochs enter the cost: a phantom over queries of many epochs is evicted at each of their ends") {
    val queries = Seq("A", "B", "C")
    val problem = data.problem(queries, 40000, epochs = Seq(2, 3, 5))
    val abc = problem.graph.node(BitSet(0, 1, 2)).get
    val feeding = problem.feeding(Seq(abc))
    val space = feeding.nodes.map(_ => 10000.0)
    val x = Array.tabulate(4)(r => problem.spaceProblem(feeding).collisions(r, space(r)))
    val size = Array.tabulate(4)(r => space(r) / problem.entry(feeding.nodes(r)))
    // Eq 29 by hand for a cycle of 30 minutes: 22 evictions of ABC, then 15, 10 and 6.
    val ofQueries = Map(BitSet(0) -> 15.0, BitSet(1) -> 10.0, BitSet(2) -> 6.0)
    val times = feeding.nodes.map(n => ofQueries.getOrElse(problem.graph.keys(n), 22.0))
    val tuples = 30 * SmapData.TuplesPerMinute
    val external = feeding.nodes.map(_ != abc)
    val by29 = new SmapCost(1, 15).perCycle(feeding.tree, x, size, external(_), tuples, times)
    assert(math.abs(problem.cost(feeding, space) * tuples / by29 - 1) < 1e-9)
    assert(problem.cost(feeding, space) > data.problem(queries, 40000).cost(feeding, space))
  }

  test("a flow length for each depth: raw relations need less space where they are clustered") {
    val problem = data.problem(pairs, 40000, clustered)
    val plain = data.problem(pairs, 40000)
    val feeding = problem.feeding(Seq(problem.graph.node(BitSet(0, 1, 2, 3)).get))
    def rates(p: MultipleAggregation): Seq[Double] =
      (0 until feeding.tree.size).map(r => p.spaceProblem(feeding).collisions(r, 8000))
    val expected = feeding.depth.map(d => if (d == 1) 50.0 else 3.0)
    rates(plain).zip(rates(problem)).zip(expected).foreach { case ((x, y), la) =>
      assert(math.abs(x / y / la - 1) < 1e-9)
    }
    val allocation = SpaceAllocation.SupernodeLinear
    assert(problem.allocated(feeding, allocation).space(0) !== plain.allocated(feeding, allocation).space(0))
  }

  test("names") {
    assert(Smap.names === Seq("gcsl", "gcsr", "gcpl", "gcpr", "gces", "gp", "epes"))
    assert(Smap.names.forall(Smap.accepts))
    assert(Smap("gp(1.5)") === Smap.GreedySpace(1.5))
    assert(Smap("gp") === Smap.GreedySpace(1.0))
    assert(Seq("gc", "gcxx", "gp(0)", "gp()", "gp(-1)", "auto", "").forall(!Smap.accepts(_)))
    assertThrows[IllegalArgumentException](Smap("best"))
    assert(Smap("gcpr").allocation eq SpaceAllocation.ProportionalRoot)
  }
}
