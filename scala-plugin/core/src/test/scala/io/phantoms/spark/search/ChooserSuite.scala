package io.phantoms.spark.search

import scala.collection.immutable.BitSet

import io.phantoms.spark.cost.CostModel
import io.phantoms.spark.model.{
  Configuration,
  Notation,
  Placement,
  Problem,
  Query,
  Relation,
  TableStatistics,
  Workloads
}
import io.phantoms.spark.search.graph.FeedingGraph
import io.phantoms.spark.search.placement.DerivationBuilder
import io.phantoms.spark.search.smap.Smap

import org.scalatest.funsuite.AnyFunSuite

class ChooserSuite extends AnyFunSuite {

  private def valid(problem: Problem, configuration: Configuration): Unit = {
    val relations = configuration.relations
    assert(relations.flatMap(_.queries).sorted === problem.queries.indices.toVector, "each query exactly once")
    relations.foreach { r =>
      assert(r.queries.forall(problem.groupings(_) == r.keys))
      if (r.queries.nonEmpty) assert(r.placement != Placement.Feeds)
    }
    val answering = relations.filter(_.queries.nonEmpty).map(_.keys)
    assert(answering.distinct === answering, "equal groupings share one relation")
    assert(relations.filter(_.isMapSide).map(_.keys).distinct.size === relations.count(_.isMapSide))
    val bytes = relations.map(r => r.buckets.toLong * problem.entryBytes(r.keys)).sum
    assert(bytes <= problem.memory, "tables exceed the memory")
    relations.zipWithIndex.foreach { case (r, i) =>
      if (r.isMapSide && r.parent >= 0) assert(relations(r.parent).buckets > 0, "fed by a relation without a table")
      val children = configuration.children(i)
      if (r.placement == Placement.Feeds) assert(children.size >= 2, "a phantom that feeds fewer than two")
      if (r.isPhantom) assert(children.nonEmpty)
      r.placement match {
        case Placement.Shipped(_, shards) => assert(shards <= problem.maxShards)
        case Placement.SecondTier(_, shards) => assert(shards <= problem.maxShards)
        case _ =>
      }
    }
  }

  test("random problems: every configuration is valid, and its estimate is its cost") {
    val often = Seq("auto", "gc", "trees", "steiner")
    val turn = 1 + 50 * Math.floorMod(sys.props.get("phantoms.matrix.seed").fold(0L)(_.toLong), 5).toInt
    val problems = if (sys.props.get("phantoms.matrix.full").contains("true")) 1 to 250 else turn until turn + 50
    for (seed <- problems; algorithm <- often ++ (if (seed % 8 == 0) Smap.names else Nil)) {
      val problem = Workloads.random(seed, 1 + seed % 9, 1 + seed % 17)
      val choice = Chooser.choose(problem, algorithm, minSavings = -1)
      withClue(s"seed $seed, $algorithm: ") {
        val configuration = choice.configuration.get
        valid(problem, configuration)
        val estimate = Chooser.estimate(problem, configuration)
        assert(estimate.elapsed === choice.cost)
        assert(estimate.relations.forall { r =>
          r.cost >= 0 && r.evictions <= r.fed * (1 + 1e-9) && r.collisionRate >= 0 && r.collisionRate <= 1
        })
      }
    }
  }

  test("auto is never worse than gc, and the same twice") {
    for (seed <- 1 to 80) {
      val problem = Workloads.random(seed, 6, 12)
      val auto = Chooser.choose(problem, "auto", -1)
      assert(auto.cost <= Chooser.choose(problem, "gc", -1).cost, s"seed $seed")
      assert(auto === Chooser.choose(problem, "auto", -1), s"seed $seed")
    }
  }

  test("auto is not beaten by shipping one relation and deriving all it can, whichever relation and key") {
    val ratios = for (seed <- 1 to 40) yield {
      val problem = Workloads.random(seed, 5, 7)
      val auto = Chooser.choose(problem, "auto", -1).cost
      val simple = singleShipments(problem).map(c => Chooser.estimate(problem, c).elapsed).min
      auto / simple
    }
    assert(ratios.max < 1.02, ratios)
    assert(ratios.exists(_ < 0.98), "the simple ones must not always be best either")
  }

  // One root without a table, everything that holds the key derived from it; the rest shipped without tables.
  private def singleShipments(problem: Problem): Seq[Configuration] = {
    val graph = new FeedingGraph(problem)
    val model = new CostModel(problem)
    for {
      root <- 0 until graph.size
      key <- BitSet.empty +: graph.keys(root).toSeq.map(BitSet(_))
      below = (0 until graph.queryCount).filter(q => graph.feeds(root, q) && graph.contains(q, key))
      if below.nonEmpty
    } yield {
      def shipped(node: Int, by: BitSet): Placement = {
        val shards = model.shards(graph.groups(node), graph.entryBytes(node), by)
        Placement.Shipped(if (shards == 1) BitSet.empty else by, shards)
      }
      def queries(node: Int): Vector[Int] = if (graph.isPhantom(node)) Vector.empty else graph.queries(node)
      val derivation = new DerivationBuilder(graph, model).derive(root, below, 1.0)
      val nodes = root +: derivation.nodes
      val derived = derivation.nodes.zip(derivation.parents).toVector.map { case (n, p) =>
        Relation(graph.keys(n), queries(n), nodes.indexOf(p), 0, Placement.Derived)
      }
      val others = (0 until graph.queryCount).filterNot(q => nodes.contains(q))
        .map(q => Relation(graph.keys(q), queries(q), -1, 0, shipped(q, graph.keys(q))))
      Configuration(
        (Relation(graph.keys(root), queries(root), -1, 0, shipped(root, key)) +: derived) ++ others
      )
    }
  }

  test("few groups in many rows: phantoms of the map side save most of the cost") {
    val choice = Chooser.choose(Workloads.smap4, "gc")
    val relations = choice.configuration.get.relations
    assert(relations.exists(r => r.placement == Placement.Feeds && r.keys == BitSet(0, 1, 2, 3)))
    assert(relations.count(_.parent < 0) === 1)
    assert(choice.savings > 0.8)
  }

  test("cube4: one shipped relation, the other fifteen derived") {
    val relations = Chooser.choose(Workloads.cube4).configuration.get.relations
    assert(relations.filterNot(_.isDerived).map(_.keys) === Vector(BitSet(0, 1, 2, 3)))
    assert(relations.count(_.isDerived) === 15)
  }

  test("nfc22: what does not reduce has no table, and most of it is derived") {
    val problem = Workloads.nfc22
    val choice = Chooser.choose(problem)
    val relations = choice.configuration.get.relations
    def large(r: Relation): Boolean = problem.statistics.groups(r.keys) > 2e6
    assert(relations.filter(r => large(r) && !r.isDerived).forall(_.buckets == 0))
    assert(relations.count(r => large(r) && r.isDerived) >= 3)
    assert(relations.count(r => large(r) && !r.isDerived) <= 3)
    assert(choice.cost < 0.7 * Chooser.choose(problem, "gc").cost)
  }

  test("shares only if enough is saved") {
    val problem = Workloads.cube4
    val savings = Chooser.choose(problem).savings
    assert(Chooser.choose(problem, minSavings = savings - 1e-6).configuration.nonEmpty)
    val declined = Chooser.choose(problem, minSavings = savings + 1e-6)
    assert(declined.configuration.isEmpty && declined.cost === declined.costWithout && declined.savings === 0.0)
    val tiny = problem.copy(statistics = TableStatistics(100, Map.empty))
    assert(Chooser.choose(tiny).configuration.isEmpty, "a hundred rows do not pay for a stage")
    assert(Chooser.choose(tiny, minSavings = -1).configuration.nonEmpty)
  }

  test("SMAP's algorithms by name, phi included; with different allocations") {
    val found = Smap.names.map(n => n -> Chooser.choose(Workloads.smap4, n, -1).configuration.get)
    found.foreach { case (name, c) =>
      withClue(s"$name: ")(valid(Workloads.smap4, c))
      assert(c.relations.forall(r => !r.isDerived && r.isPhantom == (r.placement == Placement.Feeds)), name)
      assert(c.relations.exists(_.isPhantom), name)
    }
    assert(found.map(_._2).distinct.size > 2)
    assert(Chooser.choose(Workloads.smap4, "gp(1.5)", -1).algorithm === "gp(1.5)")
    assert(Chooser.accepts("gp(1.5)") && Chooser.accepts("auto") && !Chooser.accepts("gp(x)"))
    // phi so large that no phantom has space.
    val starved = Workloads.smap4.copy(memory = 1L << 20)
    assert(!Chooser.choose(starved, "gp(100)", -1).configuration.get.relations.exists(_.isPhantom))
  }

  test("none shares nothing, an unknown name is refused with the valid ones") {
    assert(Chooser.choose(Workloads.cube4, "none", -1).configuration.isEmpty)
    val e = intercept[IllegalArgumentException](Chooser.choose(Workloads.cube4, "best"))
    assert(Chooser.algorithms.forall(e.getMessage.contains))
  }

  test("edges: no queries, no rows, one empty grouping, no memory, more attributes than a machine word") {
    val cube = Workloads.cube4
    assert(Chooser.choose(cube.copy(queries = Vector.empty), minSavings = -1).configuration.isEmpty)
    valid(cube, Chooser.choose(cube.copy(statistics = TableStatistics(0, Map.empty)), "auto", -1).configuration.get)
    val empty = cube.copy(queries = Vector(BitSet.empty, BitSet.empty).map(Query(_)))
    valid(empty, Chooser.choose(empty, "auto", -1).configuration.get)
    val starved = cube.copy(memory = 0)
    valid(starved, Chooser.choose(starved, "auto", -1).configuration.get)
    val wide = cube.copy(
      attributes = Workloads.letters(150),
      queries = Vector(BitSet(0, 70, 149), BitSet(70, 149), BitSet(149), BitSet(3, 70)).map(Query(_))
    )
    valid(wide, Chooser.choose(wide, "auto", -1).configuration.get)
  }

  test("the runner-up is another answer, no cheaper than the choice, and named") {
    Seq(Workloads.smap4, Workloads.cube4, Workloads.nfc22).foreach { p =>
      val choice = Chooser.choose(p)
      val second = choice.runnerUp.get
      assert(second.cost >= choice.cost)
      assert(choice.margin.get == second.cost / choice.cost - 1)
      assert(second.cost <= choice.costWithout)
      val chosen = Notation(p).render(choice.configuration.get)
      assert(!second.description.endsWith(s" $chosen") || choice.margin.get > 0)
    }
    val declined = Chooser.choose(Workloads.smap4, minSavings = 0.9999)
    assert(declined.configuration.isEmpty)
    assert(declined.runnerUp.exists(r => r.cost < declined.cost && r.description.contains("(")))
    assert(Chooser.choose(Workloads.smap4, "none").runnerUp.isEmpty)
  }
}
