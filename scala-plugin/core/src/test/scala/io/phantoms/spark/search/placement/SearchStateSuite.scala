package io.phantoms.spark.search.placement

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.model.{Problem, TableStatistics, Workloads}
import io.phantoms.spark.search.graph.{Bits, FeedingForest, Sorted}
import io.phantoms.spark.search.smap.SpaceAllocation

import org.scalatest.funsuite.AnyFunSuite

/** The search's fast paths against [[SearchReference]], on random workloads. */
class SearchStateSuite extends AnyFunSuite {

  private def near(a: Double, b: Double): Boolean = math.abs(a - b) <= 1e-9 * math.max(math.abs(a), math.abs(b))

  private def workloads: Iterator[(Problem, Random)] = (1 to 120).iterator.map { seed =>
    // Every third: enough memory for tables to matter, and groupings over more attributes than a machine word has bits.
    val attributes = if (seed % 3 == 0) 70 else 3 + seed % 6
    val p = Workloads.random(seed, attributes, 2 + seed % 30)
    (
      if (seed % 3 == 1) p.copy(
        memory = 1L << 24,
        statistics = TableStatistics(
          1e6,
          p.statistics match {
            case t: TableStatistics => t.known
            case _ => Map.empty
          }
        )
      )
      else p,
      new Random(seed)
    )
  }

  private def some[A](random: Random, all: Seq[A], part: Double): Vector[A] =
    all.iterator.filter(_ => random.nextDouble() < part).toVector

  /** Shipments as a search makes them: disjoint, derived by a key that all hold, a second tier fed from the first. */
  private def shipments(reference: SearchReference, random: Random): List[Shipment] = {
    val graph = reference.graph
    val model = reference.model
    var open = (0 until graph.queryCount).toSet
    def shipment(root: Int, source: Int): Shipment = {
      val key = BitSet.fromSpecific(some(random, graph.keys(root).toSeq, 0.3).take(2))
      val below = some(random, open.toSeq.sorted, 0.6)
        .filter(q => q != root && graph.feeds(root, q) && graph.contains(q, key))
      open = open -- below - root
      val shards = model.shards(graph.groups(root), graph.entryBytes(root), key)
      val busy = model.busyShards(shards, key, graph.keys(root))
      Shipment(key, busy, reference.derive(root, below, busy), source)
    }
    val first = random.shuffle((0 until graph.size).toList).take(3)
      .filter(n => graph.isPhantom(n) || open(n)).flatMap(n =>
        if (graph.isPhantom(n) || open(n)) Some(shipment(n, -1)) else None
      )
    val second = first.flatMap { s =>
      some(random, open.toSeq.sorted.filter(graph.feeds(s.root, _)), 0.3).filter(open).map(q => shipment(q, s.root))
    }
    random.shuffle(second ++ first)
  }

  test("the score of a state is the cost from scratch, with and without a second tier") {
    var tiers = 0
    var tables = 0
    for ((problem, random) <- workloads; allocation <- Seq(SpaceAllocation.SupernodeLinear)) {
      val reference = new SearchReference(problem, allocation)
      val graph = reference.graph
      // One search for all states: what it keeps of one must not show in the next.
      val search = new PlacementSearch(graph, reference.model, allocation)
      for (_ <- 1 to 6) {
        val phantoms = random.shuffle((graph.queryCount until graph.size).toVector).take(random.nextInt(6))
        val shipped = shipments(reference, random)
        val state = search.state(shipped, phantoms)
        val expected = reference.score(shipped, phantoms)
        assert(near(state.score, expected), s"$problem\n$shipped\n$phantoms")
        if (shipped.exists(_.isSecondTier)) tiers += 1
        if (state.forest.buckets.exists(_ >= 1) && state.forest.parent.exists(_ >= 0)) tables += 1
      }
    }
    assert(tiers > 50 && tables > 50, s"$tiers states with a second tier, $tables with tables that feed others")
  }

  test("the state a search ends in has the cost from scratch") {
    for ((problem, _) <- workloads.take(60)) {
      val reference = new SearchReference(problem, SpaceAllocation.SupernodeLinear)
      val search = new PlacementSearch(reference.graph, reference.model, SpaceAllocation.SupernodeLinear)
      val one = search.search
      Seq(search.smap, one, search.secondTier(one)).foreach { s =>
        assert(near(s.score, reference.score(s.shipments, s.phantoms)))
      }
    }
  }

  test("a forest by machine words is the forest by sets") {
    var passing = 0
    for ((problem, random) <- workloads) {
      val reference = new SearchReference(problem, SpaceAllocation.SupernodeRoot)
      val graph = reference.graph
      val memory = math.max(0L, problem.memory).toDouble
      val forests = new LftaForestBuilder(graph, reference.model, SpaceAllocation.SupernodeRoot, memory)
      val queries = 0 until graph.queryCount
      for (_ <- 1 to 4) {
        val relations = queries ++ some(random, graph.queryCount until graph.size, 0.2).take(12)
        def ships(n: Int): Boolean = !graph.isPhantom(n) || n % 7 == 0
        val forest = forests.build(FeedingForest.inOrder(graph, relations), ships, whole = false)
        val expected = reference.forest(relations, ships)
        assert(forest.nodes.toVector == expected.map(_._1))
        assert(forest.parent.toVector.map(p => if (p < 0) None else Some(forest.nodes(p))) == expected.map(_._2))
        expected.zipWithIndex.foreach { case ((_, _, buckets, fed, left), i) =>
          assert(near(forest.buckets(i), buckets) && near(forest.fed(i), fed) && near(forest.evictions(i), left))
        }
        if (forest.buckets.exists(_ >= 1) && forest.buckets.exists(_ < 1)) passing += 1
      }
    }
    assert(passing > 50, s"$passing forests with and without tables")
  }

  test("relations are derived from the one with fewest groups, and phantoms only where they make that cheaper") {
    var added = 0
    for ((problem, random) <- workloads) {
      val reference = new SearchReference(problem, SpaceAllocation.SupernodeLinear)
      val graph = reference.graph
      val derivations = new DerivationBuilder(graph, reference.model)
      for (_ <- 1 to 4; root = random.nextInt(graph.size)) {
        val below = some(random, (0 until graph.queryCount).filter(graph.feeds(root, _)), 0.8)
        val derivation = derivations.derive(root, below, 2)
        val expected = reference.derive(root, below, 2)
        assert(derivation.nodes == expected.nodes && derivation.parents == expected.parents)
        assert(near(derivation.work, expected.work))
        val more = derivations.withPhantoms(derivation, BitSet.empty)
        assert(more == reference.derive(root, more.nodes, 2) && below.forall(more.nodes.contains))
        assert(more.work <= derivation.work * (1 + 1e-9))
        // None that is left would help: adding it makes deriving all dearer, or not cheaper.
        val left = (graph.queryCount until graph.size).filter(p =>
          p != root && graph.feeds(root, p) && !more.nodes.contains(p) && below.count(graph.feeds(p, _)) >= 2
        )
        assert(some(random, left, 0.2).forall(p =>
          reference.derive(root, more.nodes :+ p, 2).work >= more.work * (1 - 1e-9)
        ))
        if (more.nodes.size > below.size) added += 1
      }
    }
    assert(added > 20, s"$added derivations with phantoms")
  }

  test("machine words are sets") {
    val random = new Random(5)
    for (size <- Seq(1, 63, 64, 65, 200); _ <- 1 to 20) {
      def draw() = {
        val set = some(random, 0 until size, random.nextDouble()).toSet
        val bits = new Bits(size)
        set.foreach(bits += _)
        (set, bits)
      }
      val ((a, x), (b, y)) = (draw(), draw())
      def elements(bits: Bits): Vector[Int] = bits.toArray.toVector
      assert(elements(x) == a.toVector.sorted && x.size == a.size && x.isEmpty == a.isEmpty)
      assert(elements(x & y) == (a & b).toVector.sorted && elements(x &~ y) == (a &~ b).toVector.sorted)
      assert(x.commonSize(y) == (a & b).size && x.firstCommon(y) == (a & b).minOption.getOrElse(-1))
      assert((0 to size).forall(i => x.next(i) == a.filter(_ >= i).minOption.getOrElse(-1)))
      assert((0 until size).forall(i => x.contains(i) == a(i)))
      assert((x == y) == (a == b) && x == x.copy && x.hashCode == x.copy.hashCode)
      val c = x.copy
      a.headOption.foreach(c -= _)
      assert(elements(c) == a.drop(1).toVector.sorted && elements(x) == a.toVector.sorted)
    }
  }

  test("sorted positions are stable") {
    val random = new Random(6)
    for (n <- Seq(0, 1, 2, 16, 17, 100, 1000); range <- Seq(1, 5, 100000)) {
      val keys = Array.fill(n)((random.nextInt(range) - range / 2).toDouble)
      assert(Sorted.positions(keys).toVector == keys.indices.toVector.sortBy(keys(_)))
    }
  }
}
