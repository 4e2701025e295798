package io.phantoms.spark.search.placement

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.cost.CostModel
import io.phantoms.spark.model.{
  Choice,
  Configuration,
  Machine,
  Notation,
  Placement,
  Problem,
  Query,
  Relation,
  TableStatistics,
  Workloads
}
import io.phantoms.spark.search.Chooser

import org.scalatest.funsuite.AnyFunSuite

class SecondTierSuite extends AnyFunSuite {
  import SecondTierSuite._
  import Placement._

  private def near(actual: Double, expected: Double): Unit = {
    assert(math.abs(actual - expected) <= 1e-9 * math.max(1, math.abs(expected)), s"$actual, by hand $expected")
    ()
  }

  test("partial groups, against groups dealt at random") {
    val random = new Random(7)
    val model = new CostModel(pairs(1e6))
    for (groups <- Seq(10, 1000, 30000); tasks <- Seq(1, 2, 8)) {
      val parents = 40000
      // Each group has one or several finer ones, every group at least one.
      val met = (0 until parents)
        .map(g => (random.nextInt(tasks), if (g < groups) g else random.nextInt(groups))).distinct.size
      val expected = model.partialGroups(groups, parents, tasks)
      assert(math.abs(met / expected - 1) < 0.05, s"$groups in $tasks: $met against $expected")
    }
  }

  test("an estimate by hand: a phantom merged for the second tier alone, and a query merged for both") {
    val groups = Map(BitSet(0, 1) -> 1000.0, BitSet(0) -> 1.0, BitSet(1) -> 200.0)
    val machine = Machine(
      c1 = 10,
      c2 = 100,
      c2PerByte = 2,
      merge = 50,
      emit = 20,
      scanRow = 5,
      fixed = 1000,
      parallelism = 4,
      partitions = 2
    )
    val p = Problem(
      Workloads.letters(2),
      Vector(Query(BitSet(0)), Query(BitSet(1))),
      128,
      TableStatistics(1000, groups),
      machine,
      1 << 20,
      16
    )
    def configuration(queries: Vector[Int], derived: Vector[Int], second: Vector[Int]) = Configuration(Vector(
      Relation(BitSet(0, 1), queries, -1, 0, Shipped(BitSet(1), 2)),
      Relation(BitSet(0), second, 0, 0, SecondTier(BitSet.empty, 1)),
      Relation(BitSet(1), derived, 0, 0, Derived)
    ))
    // Entries of 32 bytes: c2 is 100. Each map task passes on all its 500 rows.
    val map = 500 * 10 * 0.3 + 500 * 100
    val merge = 1000 * 50
    // One group, which both shards of AB have.
    val tier = merge + 1000 * 50 + 2 * 100
    val last = 2 * 50 + 20
    val derived = 1000 * 50 + 200 * 20
    val two = Chooser.estimate(p, configuration(Vector.empty, Vector(1), Vector(0)))
    near(two.relations(1).evictions, 2)
    near(two.relations(1).cost, 1000 * 50 + 2 * 100 + last)
    near(two.relations(0).cost, 2 * map + 2 * merge)
    val reduce = merge + derived
    near(two.elapsed, 2000 + (1000 * 5 + 2 * map) / 2 + tier / 2.0 + math.max((reduce + last) / 4.0, reduce / 2.0))
    // Without what is derived in the first tier nothing but the second needs the groups of AB.
    val q = p.copy(queries = Vector(Query(BitSet(0))))
    val one = Chooser.estimate(q, Configuration(configuration(Vector.empty, Vector.empty, Vector(0)).relations.take(2)))
    near(one.relations(0).cost, 2 * map + merge)
    near(one.elapsed, 2000 + (1000 * 5 + 2 * map) / 2 + tier / 2.0 + last)
  }

  test("only configurations that can run") {
    def relation(keys: String, parent: Int, placement: Placement, query: Int*) =
      Relation(Workloads.groupings(keys).head, query.toVector, parent, 0, placement)
    val abc = relation("ABC", -1, Shipped(BitSet(0), 2))
    val bc = relation("BC", 0, SecondTier(BitSet(1), 2), 0)
    val good =
      Configuration(Vector(abc, bc, relation("B", 1, Derived, 1), relation("C", 1, SecondTier(BitSet(2), 3), 2)))
    assert(good.hasSecondTier && (0 to 3).map(good.inSecondTier) == Seq(false, true, true, true))
    assert((0 to 3).map(good.tierSource) == Seq(0, 0, 0, 0))
    assert((0 to 3).map(good.feedsSecondTier) == Seq(true, false, false, false))
    assert(good.derivedBelow(0).isEmpty && good.derivedBelow(1) == Vector(2))
    def refused(relations: Relation*): Unit = {
      intercept[IllegalArgumentException](Configuration(relations.toVector))
      ()
    }
    refused(abc.copy(placement = Feeds), bc)
    refused(bc.copy(parent = -1))
    refused(abc, bc.copy(buckets = 16))
    refused(abc, bc.copy(placement = SecondTier(BitSet(0), 2)))
    refused(abc, bc.copy(placement = SecondTier(BitSet.empty, 2)))
    refused(abc, bc, relation("C", 1, Derived, 1)) // split by the shard key
    refused(abc, bc, relation("B", 1, Shipped(BitSet(1), 2), 1)) // back to the map side
    refused(abc, bc, relation("B", 1, Derived, 1), relation("", 2, SecondTier(BitSet.empty, 1), 2)) // a third tier
  }

  test("the notation goes there and back, and says in words what it does not tell apart") {
    val choice = Chooser.choose(pairs(1e6), minSavings = -1).configuration.get
    val notation = Notation(pairs(1e6))
    val parsed = notation.parse(notation.render(choice))
    assert(parsed.map(_._1).toSet == choice.relations.map(_.keys).toSet)
    assert(notation.render(parsed) == notation.render(choice))
    assert(notation.describe(choice).contains("second tier, shipped again by"))
  }

  test("unclustered rows of few groups over keys that no shard key serves: the second tier is chosen") {
    for (n <- Seq(8e5, 1e6)) {
      val choice = Chooser.choose(pairs(n), minSavings = -1)
      val second = choice.configuration.get.relations.filter(_.isSecondTier)
      assert(second.map(_.keys).size == 1 && second.forall(_.parent == 0), choice)
      val without = Chooser.choose(pairs(n).copy(secondTier = false), minSavings = -1)
      assert(!without.configuration.get.hasSecondTier)
      assert(choice.cost < 0.9 * without.cost)
      def work(c: Choice) = Chooser.estimate(pairs(n), c.configuration.get).relations.map(_.cost).sum
      assert(work(choice) <= work(without))
    }
  }

  test("not where one shuffle does: groups that the map side reduces, as many groups as rows, one shard key for all") {
    for (problem <- Seq(Workloads.smap4, Workloads.cube4, Workloads.nfc22, pairs(2e7), pairs(1e5), pairs(2000)))
      assert(!Chooser.choose(problem, minSavings = -1).configuration.get.hasSecondTier, Chooser.choose(problem))
    val keyed = pairs(1e6).copy(queries = Workloads.groupings("AB", "AC", "A", "ABC").map(Query(_)))
    assert(!Chooser.choose(keyed, minSavings = -1).configuration.get.hasSecondTier)
  }

  test("random problems: never worse than with one tier, never by SMAP alone, and better for some") {
    var better = 0
    for (seed <- 1 to 400) withClue(s"seed $seed: ") {
      val problem = unclustered(seed)
      val two = Chooser.choose(problem, minSavings = -1)
      val one = Chooser.choose(problem.copy(secondTier = false), minSavings = -1)
      assert(two.cost <= one.cost)
      assert(!one.configuration.get.hasSecondTier)
      assert(!Chooser.choose(problem, "gc", -1).configuration.get.hasSecondTier)
      val configuration = two.configuration.get
      if (configuration.hasSecondTier) better += 1 else assert(two.cost == one.cost)
      assert(configuration.relations.flatMap(_.queries).sorted == problem.queries.indices.toVector)
      assert(Chooser.estimate(problem, configuration).elapsed == two.cost)
    }
    assert(better > 10, better)
  }
}

object SecondTierSuite {

  /** 20 M rows in random order of `n` groups of ABC, asked for by each pair of keys: no shard key serves more than two. */
  def pairs(n: Double): Problem = {
    val pair = math.min(n, 4e5)
    Problem(
      Workloads.attributes("A", "B", "C"),
      Workloads.groupings("AB", "AC", "BC").map(Query(_)),
      192,
      TableStatistics(
        2e7,
        Map(
          BitSet(0, 1, 2) -> n,
          BitSet(0, 1) -> pair,
          BitSet(0, 2) -> pair,
          BitSet(1, 2) -> pair,
          BitSet(0) -> math.min(n, 1000),
          BitSet(1) -> math.min(n, 1000),
          BitSet(2) -> math.min(n, 1000)
        )
      ),
      Machine(),
      8L << 20,
      200
    )
  }

  /** Rows in random order, a few times as many as there are groups of all keys, little memory, narrow queries. */
  def unclustered(seed: Long): Problem = {
    val random = new Random(seed)
    val base = Workloads.random(seed, 3 + random.nextInt(3), 3 + random.nextInt(6), widest = 3)
    val finest = math.pow(10, 4 + 2 * random.nextDouble())
    val singles = base.attributes.map(_ => math.pow(10, 1 + 2 * random.nextDouble()))
    val known = Workloads.cube(base.attributes.size).map(s => s -> math.min(finest, s.iterator.map(singles).product))
    base.copy(
      statistics = TableStatistics(finest * math.pow(10, 1 + random.nextDouble()), known.toMap, flowLength = 1),
      memory = 1L << (20 + random.nextInt(4))
    )
  }
}
