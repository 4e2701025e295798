package io.phantoms.spark.cost

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.model.{
  Configuration,
  Machine,
  Placement,
  Problem,
  Query,
  Relation,
  Sketches,
  TableStatistics,
  Workloads
}
import io.phantoms.spark.search.Chooser

import org.scalatest.funsuite.AnyFunSuite

class CostModelSuite extends AnyFunSuite {

  private val machine = Machine(
    c1 = 10,
    c2 = 100,
    c2PerByte = 2,
    merge = 50,
    emit = 20,
    plainRow = 60,
    plainGroup = 500,
    scanRow = 5,
    fixed = 1000,
    parallelism = 4,
    partitions = 2
  )

  private def problem(rows: Double, groups: Map[BitSet, Double], queries: IndexedSeq[BitSet]): Problem =
    Problem(Workloads.letters(3), queries.map(Query(_)), 128, TableStatistics(rows, groups), machine, 1 << 20, 16)

  private def near(actual: Double, expected: Double): Unit = {
    assert(math.abs(actual - expected) <= 1e-9 * math.max(1, math.abs(expected)), s"$actual, by hand $expected")
    ()
  }

  test("what leaves a table over a whole task, against a simulated one") {
    for (groups <- Seq(100, 2000, 20000); buckets <- Seq(64, 1024, 8192)) {
      val random = new Random(groups + buckets)
      val fed = groups * (if (groups < 1000) 30 else 3)
      val trials = if (groups < 1000) 400 else 20
      val model = new CostModel(problem(2.0 * fed, Map.empty, Vector.empty))
      val left = (1 to trials).map { _ =>
        // As many tuples of each group, in random order (the assumption of eq 9).
        val tuples = random.shuffle((0 until fed).map(_ % groups))
        val hash = Array.fill(groups)(random.nextInt(buckets))
        val table = Array.fill(buckets)(-1)
        var evicted = 0
        tuples.foreach { t =>
          if (table(hash(t)) >= 0 && table(hash(t)) != t) evicted += 1
          table(hash(t)) = t
        }
        evicted + table.count(_ >= 0)
      }.sum / trials.toDouble
      val expected = model.evictions(fed, groups, buckets, 1)
      assert(math.abs(left / expected - 1) < 0.05, s"g=$groups b=$buckets: $left against $expected")
    }
  }

  test("plain Spark groups as often as a query stands for") {
    val once = problem(1e6, Map(BitSet(0) -> 5000.0), Vector(BitSet(0)))
    def standingFor(times: Int) =
      new CostModel(once.copy(queries = once.queries.map(_.copy(plainTimes = times)))).noSharing
    assert(standingFor(1) > 0)
    near(standingFor(3), 3 * standingFor(1))
    near(standingFor(0), 0)
  }

  test("as many entries as groups: all of them leave, whatever the table") {
    val model = new CostModel(problem(1000, Map.empty, Vector.empty))
    for (b <- Seq(0.0, 16.0, 512.0, 1e6)) near(model.evictions(500, 500, b, 1), 500)
    near(model.evictions(500, 500, 64, 10), 500)
  }

  test("groups of one task, against rows dealt at random") {
    val random = new Random(1)
    val rows = 40000
    val model = new CostModel(problem(rows, Map.empty, Vector.empty))
    for (groups <- Seq(10, 10000, 40000)) {
      val task = (0 until rows).filter(_ => random.nextBoolean()).map(_ % groups).distinct.size
      val expected = model.groupsInTask(groups, 1)
      assert(math.abs(task / expected - 1) < 0.05, s"$groups: $task against $expected")
    }
    near(model.groupsInTask(1, 1), 1)
  }

  test("flow length falls with what the tables above collapse") {
    val model = new CostModel(problem(1000, Map.empty, Vector.empty)) // 500 rows per task
    near(model.flowLength(20, 500), 20)
    near(model.flowLength(20, 125), 5)
    near(model.flowLength(20, 5), 1)
  }

  test("NoSharing by hand") {
    // Two map tasks of 500 rows; 1 group is seen by both, 1000 groups are dealt out.
    val p = problem(1000, Map(BitSet(0) -> 1.0, BitSet(1) -> 1000.0), Vector(BitSet(0), BitSet(1)))
    near(Chooser.costWithout(p), (1000 * 60.0 + 2 * 500) / 4 + (1000 * 60.0 + 1000 * 500) / 4)
  }

  test("places that read results are stages of their own, with sharing and without") {
    val once = problem(1000, Map(BitSet(0) -> 10.0), Vector(BitSet(0), BitSet(0)))
    val apart = once.copy(queries = once.queries.zipWithIndex.map { case (q, i) => q.copy(consumer = i) })
    near(Chooser.costWithout(apart) - Chooser.costWithout(once), once.machine.fixed)
    def shared(p: Problem): Double = Chooser.choose(p, minSavings = -1).cost
    // And each merges for itself what was shuffled.
    assert(shared(apart) - shared(once) >= once.machine.fixed)
  }

  test("each of plain Spark's shuffles is written by a stage, and sharing has one") {
    val p = problem(1000, Map(BitSet(0) -> 10.0), Vector(BitSet(0), BitSet(0)))
    near(Chooser.costWithout(p.copy(plainShuffles = 4)) - Chooser.costWithout(p), 3 * p.machine.fixed)
    near(Chooser.costWithout(p.copy(plainShuffles = 0)), Chooser.costWithout(p))
    assert(
      Chooser.choose(p.copy(plainShuffles = 4), minSavings = -1).cost == Chooser.choose(p, minSavings = -1).cost
    )
  }

  test("shards") {
    val model = new CostModel(problem(1e9, Map(BitSet(1) -> 3.0), Vector.empty))
    assert(model.shards(1e6, 64, BitSet.empty) === 1)
    assert(model.shards(1000, 64, BitSet(0)) === 1)
    assert(model.shards(60000, 8, BitSet(0)) === 4)
    assert(model.shards(1e6, 64, BitSet(0)) === 8)
    assert(model.shards(1e8, 64, BitSet(0)) === 16)
    near(model.busyShards(8, BitSet(1), BitSet(1)), 3)
    near(model.busyShards(8, BitSet(1), BitSet(0, 1)), math.log(3) + 0.5772156649)
    near(model.busyShards(8, BitSet(0), BitSet(0, 1)), 8)
    near(model.busyShards(1, BitSet.empty, BitSet(0)), 1)
  }

  test("an estimate by hand: a relation without table, its children on both sides of the shuffle") {
    // All groups distinct: each task sees 500 of the 1000 rows as groups of AB, and passes them on.
    val groups = Map(BitSet(0, 1) -> 1000.0, BitSet(0) -> 1.0, BitSet(1) -> 200.0)
    val p = problem(1000, groups, Vector(BitSet(0, 1), BitSet(0), BitSet(1), BitSet(1)))
    val configuration = Configuration(Vector(
      Relation(BitSet(0, 1), Vector(0), -1, 0, Placement.Shipped(BitSet(1), 2)),
      Relation(BitSet(0), Vector(1), -1, 32, Placement.Shipped(BitSet.empty, 1)),
      Relation(BitSet(1), Vector(2, 3), 0, 0, Placement.Derived)
    ))
    val estimate = Chooser.estimate(p, configuration)
    // Entries: 8 flags + 8 keys + 16 buffers = 32 bytes, so c2 is 100.
    val shippedMap = 500 * 10 * 0.3 + 500 * 100
    val singleMap = 500 * 10 + 1 * 100
    val shippedMerge = 1000 * 50 + 1000 * 20
    val singleMerge = 2 * 50 + 1 * 20
    val derived = 1000 * 50 + 200 * 2 * 20
    val reduce = shippedMerge + singleMerge + derived
    near(estimate.relations(0).cost, 2 * shippedMap + shippedMerge)
    near(estimate.relations(1).cost, 2 * singleMap + singleMerge)
    near(estimate.relations(2).cost, derived)
    assert(estimate.relations.map(_.fed) === Seq(1000.0, 1000.0, 1000.0))
    assert(estimate.relations.map(_.evictions) === Seq(1000.0, 2.0, 0.0))
    assert(estimate.relations.map(_.collisionRate) === Seq(1.0, 0.0, 0.0))
    assert(estimate.relations.map(_.tableBytes) === Seq(0L, 32L * 32, 0L))
    val longest = (shippedMerge + derived) / 2.0 // 200 values of the key: enough for two shards
    assert(longest > reduce / 4.0)
    near(estimate.elapsed, 1000 + (1000 * 5 + 2 * (shippedMap + singleMap)) / 2 + longest)
  }

  test("an estimate by hand: a phantom of the map side") {
    val groups = Map(BitSet(0, 1) -> 2.0, BitSet(0) -> 1.0, BitSet(1) -> 2.0)
    val p = problem(1000, groups, Vector(BitSet(0), BitSet(1)))
    val configuration = Configuration(Vector(
      Relation(BitSet(0, 1), Vector.empty, -1, 1, Placement.Feeds),
      Relation(BitSet(0), Vector(0), 0, 16, Placement.Shipped(BitSet.empty, 1)),
      Relation(BitSet(1), Vector(1), 0, 0, Placement.Shipped(BitSet.empty, 1))
    ))
    val estimate = Chooser.estimate(p, configuration)
    // One bucket, two groups: x = 1/2, so 500 fed rows evict 250 and the bucket's entry counts 2 * (1 - 1/2) = 1.
    near(estimate.relations(0).collisionRate, 0.5)
    near(estimate.relations(0).evictions, 2 * 251)
    near(estimate.relations(0).cost, 2 * 500 * 10)
    near(estimate.relations(1).evictions, 2)
    near(estimate.relations(2).evictions, 2 * 251)
    near(estimate.relations(2).cost, 2 * 251 * (10 * 0.3 + 100) + 502 * 50 + 2 * 20)
  }

  test("sketches: words that only relations with a query that has some hold, ship and merge") {
    val (wide, narrow, both) = (BitSet(0), BitSet(1), BitSet(0, 1))
    val groups = Map(wide -> 10.0, narrow -> 20.0, both -> 100.0)
    val words = 52
    val none = problem(10000, groups, Vector(wide, narrow))
    val some = none.copy(
      queries = Vector(Query(wide, sketches = Sketches(words, update = 40)), Query(narrow)),
      sketches = Sketches(words, update = 40)
    )
    val without = Seq(narrow, BitSet(2), BitSet.empty)
    without.foreach(k => assert(some.entryBytes(k) == none.entryBytes(k) && some.sketchesOf(k).isEmpty))
    Seq(wide, both).foreach(k => assert(some.entryBytes(k) == none.entryBytes(k) + 8 * words))

    def configuration(buckets: Int) = Configuration(
      Vector(
        Relation(both, Vector.empty, -1, buckets, Placement.Feeds),
        Relation(wide, Vector(0), 0, 16, Placement.Shipped(wide, 1)),
        Relation(narrow, Vector(1), 0, 32, Placement.Shipped(narrow, 1))
      )
    )
    val more = Chooser.estimate(some, configuration(256)).relations.zip(
      Chooser.estimate(none, configuration(256)).relations
    ).map { case (s, n) => s.cost - n.cost }
    near(more(2), 0)
    val phantom = Chooser.estimate(some, configuration(256)).relations.head
    // By hand: each row is hashed once; what the phantom evicts is merged, and what is shipped is, and is wider.
    near(more(0), 10000 * 40)
    val shipped = Chooser.estimate(some, configuration(256)).relations(1)
    near(more(1), phantom.evictions * 10 * words + shipped.evictions * (10 * words + 2 * 8 * words))
    assert(Chooser.costWithout(some) > Chooser.costWithout(none) + 10000 * 40 / 4)
  }

  test("objects: as many words as a group has rows, up to what is typical; plain Spark sorts where groups are many") {
    val (few, many) = (BitSet(0), BitSet(1))
    val objects = Sketches(objectWords = 256, objects = 2, update = 700)
    def asked(query: BitSet, groups: Double) = {
      val none = problem(100000, Map(query -> groups), Vector(query))
      none.copy(queries = Vector(Query(query, sketches = objects)), sketches = objects)
    }
    // Objects lie beside the tables, and behind the entries that are shipped.
    def shipped(query: BitSet, groups: Double) = {
      val p = asked(query, groups)
      assert(p.entryBytes(query) == p.copy(sketches = Sketches.None).entryBytes(query))
      p.shippedBytes(query) - p.entryBytes(query)
    }
    assert(shipped(few, 10) - shipped(many, 5000) == 8 * (256 - 2 * 20))
    assert(shipped(many, 5000) - shipped(many, 1e5) == 8 * 2 * (20 - 1))
    // Long merges are spread over tasks, of however few groups.
    def shards(sketching: Double) = new CostModel(asked(many, 5000)).shards(5000, 64, many, sketching)
    assert(shards(0) == 1 && shards(2000) > 1)
    def extra(query: BitSet, groups: Double) = {
      val some = asked(query, groups)
      Chooser.costWithout(some) - Chooser.costWithout(some.copy(queries = Vector(Query(query))))
    }
    val parallelism = asked(few, 10).machine.parallelism
    val sorted = 100000 * 300.0 / parallelism
    assert(extra(few, 10) > 100000 * 700.0 / parallelism && extra(few, 10) < 100000 * 700.0 / parallelism + sorted)
    assert(extra(many, 5000) > 100000 * 700.0 / parallelism + sorted)
  }
}
