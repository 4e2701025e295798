package io.phantoms.spark.cost

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.model.{
  Configuration,
  Machine,
  MachineConstants,
  Placement,
  Problem,
  Query,
  Relation,
  TableStatistics,
  Workloads
}
import io.phantoms.spark.search.Chooser

import org.scalatest.funsuite.AnyFunSuite

class MachineFitSuite extends AnyFunSuite {

  private val truth = Machine(
    c1 = 17,
    c2 = 90,
    c2PerByte = 0.8,
    merge = 35,
    emit = 44,
    plainRow = 120,
    plainGroup = 700,
    scanRow = 23,
    fixed = 31e6
  )

  /** Runs of a machine that does as the cost model says, and starts a task in 3 ms. */
  private def runs(seed: Long, noise: Double): (Seq[SharedRun], Seq[PlainRun]) = {
    val random = new Random(seed)
    def measured(nanos: Double) = nanos * (1 + noise * random.nextGaussian())
    val shared = Seq.fill(24) {
      val rows = 250e3 * (1 + random.nextInt(4))
      val roots = 1 + random.nextInt(6)
      val (probes, bypassed) = if (random.nextBoolean()) (roots * rows, 0.0) else (0.0, roots * rows)
      val shipped = if (bypassed > 0) bypassed else probes * random.nextDouble()
      val extra = shipped * 8 * random.nextInt(6)
      val input = roots * rows * 8 * random.nextInt(6)
      val received = shipped
      val merges = received * (1 + random.nextDouble()) + rows * random.nextInt(4)
      val emitted = rows * random.nextDouble() * 3
      val tasks = 2 + random.nextInt(4)
      // A third of c2 is paid by the map task.
      val map = rows * truth.scanRow + (probes + CostModel.PassThrough * bypassed) * truth.c1 +
        input * 1.3 + shipped * truth.c2 / 3 + extra * truth.c2PerByte / 2 + tasks * 3e6
      val reduce = received * truth.c2 * 2 / 3 + extra * truth.c2PerByte / 2 + merges * truth.merge +
        emitted * truth.emit + tasks * 3e6
      SharedRun(
        rows,
        probes,
        bypassed,
        input,
        shipped,
        extra,
        tasks,
        measured(map),
        received,
        merges,
        emitted,
        tasks,
        measured(reduce)
      )
    }
    val plain = Seq.fill(8) {
      val rows = 250e3 * (1 + random.nextInt(4))
      val leaving = rows * random.nextDouble()
      PlainRun(rows, leaving, 4, measured(rows * truth.plainRow + leaving * truth.plainGroup + 4 * 3e6))
    }
    (shared, plain)
  }

  test("a machine that does as the cost model says is found") {
    val (shared, plain) = runs(1, 0)
    val fit = MachineFit(shared, plain, truth.fixed)
    MachineConstants.of(fit.machine).zip(MachineConstants.of(truth)).foreach { case ((name, found), (_, t)) =>
      assert(math.abs(found / t - 1) < 1e-6, s"$name: $found, not $t")
    }
    assert(fit.clamped.isEmpty && fit.regressions.map(_.name) == Seq("map", "reduce", "plain"))
    assert(fit.regressions.forall(_.fit.r2 > 1 - 1e-9))
  }

  test("and roughly so when times are off by three per cent") {
    val errors = (1 to 20).map { seed =>
      val (shared, plain) = runs(seed, 0.03)
      MachineConstants.of(MachineFit(shared, plain, truth.fixed).machine).zip(MachineConstants.of(truth))
        .map { case ((_, found), (_, t)) => math.abs(found / t - 1) }
    }
    MachineConstants.names.indices.foreach { i =>
      val median = errors.map(_(i)).sorted.apply(10)
      assert(median < 0.3, s"${MachineConstants.names(i)} off by $median")
    }
  }

  test("constants beyond belief are clamped, and that is told") {
    val (shared, plain) = runs(1, 0)
    val fit = MachineFit(shared.map(r => r.copy(mapNanos = r.mapNanos * 1000)), plain, 0)
    val defaults = Machine()
    assert(fit.machine.c1 == 20 * defaults.c1 && fit.machine.fixed == defaults.fixed / 20)
    val clamped = fit.clamped.map(c => c.name -> c).toMap
    assert(clamped("c1").used == 200 && math.abs(clamped("c1").measured / 17000 - 1) < 1e-6)
    assert(clamped("fixed").measured == 0 && !clamped.contains("merge"))
  }

  test("what the cost model expects of tables and entries") {
    // AB: 1000 entries of 32 bytes; A derived from its groups into a small table.
    val problem = Problem(
      Workloads.letters(2),
      Vector(Query(BitSet(0, 1)), Query(BitSet(0))),
      128,
      TableStatistics(1e6, Map(BitSet(0, 1) -> 1e6, BitSet(0) -> 100.0, BitSet(1) -> 1e6)),
      Machine(),
      1 << 20,
      16
    )
    val configuration = Configuration(Vector(
      Relation(BitSet(0, 1), Vector(0), -1, 0, Placement.Shipped(BitSet(0), 2)),
      Relation(BitSet(0), Vector(1), 0, 0, Placement.Derived)
    ))
    val expected = SharedRun.expected(problem, configuration)
    // 16 MB in each of two shards: three doublings of the 2 MB that a cache holds.
    assert(math.abs(expected.received - (1 + 0.6 * math.log(1e6 * 32 / 2 / (2 << 20)) / math.log(2))) < 1e-9)
    assert(expected.derived == 1.0 && expected.extraBytes == 0.0 && expected.inputBytes == 0.0)
    val wide = SharedRun.expected(problem.copy(bufferBits = 448), configuration)
    assert(wide.extraBytes == 40.0 && wide.inputBytes == 40.0)
  }

  test("constants by name") {
    assert(MachineConstants.of(Machine()).map(_._1) == MachineConstants.names)
    assert(MachineConstants.replaced(
      Machine(),
      Seq("c1" -> 12.0, "fixed" -> 0.0)
    ) == Right(Machine(c1 = 12, fixed = 0)))
    assert(MachineConstants.replaced(Machine(), Nil) == Right(Machine()))
    def wrong(values: (String, Double)*) = MachineConstants.replaced(Machine(), values).swap.toOption.get
    assert(wrong("c3" -> 1.0).contains("'c3'") && wrong("c3" -> 1.0).contains("plainGroup"))
    assert(wrong("parallelism" -> 4.0).contains("parallelism"), "a session knows that itself")
    assert(wrong("merge" -> -1.0).contains("merge") && wrong("merge" -> Double.NaN).contains("merge"))
    assert(wrong("c1" -> 0.0).contains("more than 0") && wrong("c2" -> Double.PositiveInfinity).contains("c2"))
    assert(MachineConstants.pairs(" c1=12, c2 = 1.5e2 ,") == Right(Seq("c1" -> 12.0, "c2" -> 150.0)))
    assert(MachineConstants.pairs("c1=fast").swap.toOption.get.contains("'fast'"))
    assert(MachineConstants.pairs("c1").isLeft && MachineConstants.pairs("c1=1=2").isLeft)
  }

  test("constants decide: where shipping is dear fewer relations are shipped, where it is cheap more") {
    def shipped(problem: Problem, constants: (String, Double)*): Int = {
      val machine = MachineConstants.replaced(problem.machine, constants).toOption.get
      Chooser.choose(problem.copy(machine = machine), minSavings = -1).configuration.get.relations.count(!_.isDerived)
    }
    val problem = Workloads.nfc22
    assert(shipped(problem, "c2" -> 3000.0) < shipped(problem, "c2" -> 5.0, "c2PerByte" -> 0.0, "merge" -> 300.0))
    assert(Chooser.choose(Workloads.cube4).savings > 0.5)
    val cheapPlain = Workloads.cube4.machine.copy(plainRow = 1, plainGroup = 10)
    assert(Chooser.choose(Workloads.cube4.copy(machine = cheapPlain)).configuration.isEmpty)
  }
}
