package io.phantoms.spark.lab.papers

import scala.util.Random

import io.phantoms.spark.cost.{CollisionModel, ConfigurationTree, FlowLengths}
import io.phantoms.spark.model.{Notation, Workloads}
import io.phantoms.spark.search.smap.{Feeding, MultipleAggregation}

/** The experiments of SMAP's section 5: collision rates of tables that data runs through, beside the models. */
private[papers] object SmapCollisions {
  private val ratios = Seq(0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
  private val Hashes = 24

  def write(results: Results, data: SmapData, packets: Array[Int]): Unit = {
    random(results)
    real(results, data)
    lengths(results, data, packets)
    clustered(results, data, packets)
    curve(results)
  }

  /** l_m of each relation: eq 13 by the measured rate; NaN where nothing collided. */
  def flowLengths(
      problem: MultipleAggregation,
      feeding: Feeding,
      space: Array[Double],
      x: Array[Double]
  ): Int => Double =
    r => {
      val node = feeding.nodes(r)
      val buckets = math.max(1.0, math.floor(space(r) / problem.entry(node)))
      if (x(r) == 0) Double.NaN else CollisionModel.random(problem.groups(node), buckets) / x(r)
    }

  private def single(groups: Array[Int], stream: Int => Array[Int], buckets: Int): Double =
    Results.mean((1 to Hashes).map { seed =>
      val table = new TableSimulation(ConfigurationTree(Seq(-1)), Array(groups), Array(buckets), seed)
      val s = stream(seed)
      table.run(s, 0, s.length / 4).restart()
      table.run(s, s.length / 4, s.length).rates(0)
    })

  private def random(results: Results): Unit =
    results.csv("smap-fig7", Seq("groups", "g/b", "measured", "eq 13", "difference in %")) {
      for (g <- Seq(500, 1000, 2000); r <- ratios) yield {
        val b = math.max(1, (g / r).toInt)
        val measured = single(Array.tabulate(g)(identity), s => draw(g, 40 * g, s), b)
        row(g, r, measured, CollisionModel.random(g, b))
      }
    }

  private def draw(groups: Int, n: Int, seed: Long): Array[Int] = {
    val random = new Random(seed)
    Array.fill(n)(random.nextInt(groups))
  }

  // Packets of one flow are one tuple, so the order of the flows alone is left: drawn at random, as in the paper.
  private def real(results: Results, data: SmapData): Unit =
    results.csv("smap-fig8", Seq("groups", "g/b", "measured", "eq 13", "difference in %")) {
      for (relation <- Seq("A", "AB", "ABC", "ABCD"); r <- ratios) yield {
        val projection = data.projection(Workloads.groupings(relation).head)
        val g = projection.max + 1
        val b = math.max(1, (g / r).toInt)
        row(g, r, single(projection, s => data.uniform(100000, s), b), CollisionModel.random(g, b))
      }
    }

  private def row(g: Int, ratio: Double, measured: Double, expected: Double): Seq[Any] =
    Seq(g, ratio, measured, expected, 100 * (measured / expected - 1))

  private val configurations = Seq(
    ("smap-fig9", Seq("AB", "BC", "BD", "CD"), Seq("ABCD", "BCD")),
    ("smap-fig10", Seq("A", "B", "C", "D"), Seq("ABCD", "AB", "CD"))
  )

  private def lengths(results: Results, data: SmapData, packets: Array[Int]): Unit =
    for ((file, queries, phantoms) <- configurations) {
      val problem = data.problem(queries, 40000)
      val feeding = problem.feeding(phantoms.map(p => problem.graph.node(Workloads.groupings(p).head).get))
      val names = feeding.nodes.map(n => Notation(problem.graph.problem).render(problem.graph.keys(n)))
      results.csv(file, Seq("g/b") ++ names) {
        for (r <- ratios) yield {
          val space = feeding.nodes.map(n => problem.groups(n) / r * problem.entry(n))
          val rates = TableSimulation(data, problem, feeding, space, 1).run(packets, 0, packets.length).rates
          r +: names.indices.map(flowLengths(problem, feeding, space, rates))
        }
      }
    }

  // l_a of a depth comes from the first half of the packets, the rates from the second.
  private def clustered(results: Results, data: SmapData, packets: Array[Int]): Unit = {
    val (_, queries, phantoms) = configurations.head
    val problem = data.problem(queries, 40000)
    val feeding = problem.feeding(phantoms.map(p => problem.graph.node(Workloads.groupings(p).head).get))
    val shown = Seq("ABCD", "AB", "BCD", "BC")
    results.csv("smap-fig11", Seq("relation", "g/b", "measured", "eq 15", "difference in %")) {
      for (name <- shown; r <- ratios.filter(_ <= 4)) yield {
        val space = feeding.nodes.map(n => problem.groups(n) / r * problem.entry(n))
        val tables = TableSimulation(data, problem, feeding, space, 1).run(packets, 0, packets.length / 2)
        val la = FlowLengths.averages(feeding.tree, flowLengths(problem, feeding, space, tables.rates))
        tables.restart()
        val measured = tables.run(packets, packets.length / 2, packets.length).rates
        val at = feeding.nodes.indexOf(problem.graph.node(Workloads.groupings(name).head).get)
        val g = problem.groups(feeding.nodes(at))
        val expected = CollisionModel.clustered(g, math.floor(g / r), la(math.min(feeding.depth(at), la.size) - 1))
        val difference = if (measured(at) == 0) Double.NaN else 100 * (expected / measured(at) - 1)
        Seq(name, r, measured(at), expected, difference)
      }
    }
  }

  private def curve(results: Results): Unit =
    results.csv("smap-fig12", Seq("g/b", "eq 13", "eq 16")) {
      (1 to 100).map(_ / 10.0).map { r =>
        Seq(r, CollisionModel.random(r * 1e5, 1e5), if (r <= 1.2) CollisionModel.linear(r * 1e5, 1e5) else Double.NaN)
      }
    }
}
