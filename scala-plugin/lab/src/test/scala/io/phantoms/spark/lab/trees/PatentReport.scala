package io.phantoms.spark.lab.trees

import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.Locale

import scala.util.Random

import io.phantoms.spark.model.{Problem, Query, Workloads}
import io.phantoms.spark.search.Chooser
import io.phantoms.spark.search.trees.{
  AggregateGraph,
  AggregateQuery,
  AggregateSpace,
  AggregateTree,
  BenefitTest,
  ExactSteiner,
  Filter,
  FilterUnion,
  GreedyTrees,
  NetflowTrees,
  RandomTrees,
  RandomizedTrees,
  SteinerGraph,
  SteinerSearch,
  TreeCosts,
  TreeProblem
}

/**
 * Computes what the patent's text gives numbers for, and its experiment on seeded records, and writes them as JSON:
 * `make papers-trees`.
 *
 * Arguments: the file, and optionally the number of records.
 */
object PatentReport {

  /**
   * @param paper the patent's value; None where it says something in words only
   * @param note what the value is, or what the patent says
   */
  private final case class Entry(section: String, name: String, paper: Option[Double], ours: Double, note: String)

  def main(args: Array[String]): Unit = {
    val rows = args.lift(1).fold(400000)(_.toInt)
    val entries = examples ++ netflow(rows) ++ steiner ++ heuristics ++ choiceTimes
    entries.foreach { e =>
      val paper = e.paper.fold("-")(p => f"$p%.4g")
      println(f"${e.section}%-6s ${e.name}%-60s paper $paper%10s  ours ${e.ours}%12.5g  ${e.note}")
    }
    val out = Path.of(args.head)
    Files.createDirectories(out.toAbsolutePath.getParent)
    val _ = Files.write(out, json(rows, entries).getBytes(UTF_8))
  }

  private def examples: Seq[Entry] = {
    val costs = TreeCosts()
    val one = PatentExamples.One
    val two = PatentExamples.Two
    val large = one.costs(one.wideIsLarge).map(_ / one.N)
    val small = one.costs(one.wideIsSmall).map(_ / one.N)
    val problem = two.problem(two.tenfold)
    val trees = two.strategies.map(PatentExamples.tree(problem, _: _*))
    val sigma = two.statistics.selectivity(_)
    val checks = new FilterUnion(sigma, two.tenfold)
    val second = 5 + sigma(two.G1) * 10 + (sigma(two.F1) + sigma(two.F2)) * 50 + 5 + sigma(two.F3) * 50
    val gee = new SampleStatistics(100, Vector(Array(7L, 7L, 8L, 9L)))
    val hash = two.tenfold.hash(2) / two.tenfold.filter(two.F1)
    // Cost per tuple of Q1 below G1, F1 checked before and after hashing.
    def orders(perAttribute: Double): (Double, Double) = (
      sigma(two.G1) * 5 + sigma(two.F1) * 2 * perAttribute,
      sigma(two.G1) * 2 * perAttribute + two.statistics.size(two.A1, two.G1) / two.N * 5
    )
    def found(p: TreeProblem, scale: Double): Seq[Double] =
      Seq(new GreedyTrees().choose(p).cost / scale, new RandomizedTrees().choose(p).cost / scale)
    def perTuple(values: Seq[Double], section: String, title: String, names: Seq[String]): Seq[Entry] =
      values.zip(names).map { case (v, n) => Entry(section, s"$title: $n", None, v, "ns per tuple of the stream") }

    Seq(
      Entry(
        "2.3",
        "hashing, each further attribute (ns)",
        Some(50),
        costs.hash(3) - costs.hash(2),
        "constant taken over"
      ),
      Entry("2.3", "filtering, each range condition (ns)", Some(5), costs.filter(two.F1), "constant taken over"),
      Entry(
        "2.3",
        "GEE, r = 4 of N = 100, f1 = 2, f2 = 1",
        Some(11),
        gee.size(PatentExamples.One.B1 & Set(0), Filter.All),
        ""
      ),
      Entry("3.1", "benefit test, limit of S", Some(250000), BenefitTest.limit(1e6, 4, 3), "N = 10^6, X = 4, Y = 3")
    ) ++ perTuple(large, "3.1", "example 1, sz(B1) = N, sz(B2) = N/50", (1 to 4).map(i => s"strategy $i")) ++
      perTuple(
        found(one.wideIsLarge, one.N),
        "3.1",
        "example 1, sz(B1) = N, sz(B2) = N/50",
        Seq("greedy", "randomized")
      ) ++
      perTuple(small, "3.1", "example 1, sz(B1) = N/50, sz(B2) = N/1000", (1 to 4).map(i => s"strategy $i")) ++
      perTuple(
        found(one.wideIsSmall, one.N),
        "3.1",
        "example 1, sz(B1) = N/50, sz(B2) = N/1000",
        Seq("greedy", "randomized")
      ) ++
      Seq(
        Entry("4.1", "example 2, sigma of G1", Some(0.1), sigma(two.G1), "101 of 1001 values"),
        Entry("4.1", "example 2, 2 sigma of G1", Some(0.2), 2 * sigma(two.G1), ""),
        Entry(
          "4.1",
          "example 2, filter checks per tuple with G1",
          Some(1.2),
          checks.cost(two.G1, Seq(two.F1, two.F2)) / 5,
          "naive: 2"
        ),
        Entry("4.1", "example 2, further tuples F1 rejects", Some(0.005), sigma(two.G1) - sigma(two.F1), ""),
        Entry("4.1", "example 2, further tuples F2 rejects", Some(0.05), sigma(two.G1) - sigma(two.F2), ""),
        Entry("4.1", "example 2, 2 sigma of G2", Some(0.6), 2 * sigma(two.G2), "301 of 1001 values"),
        Entry("4.1", "example 2, F1 first, measured costs (ns)", None, orders(50)._1, "C_H = 50 per attribute"),
        Entry("4.1", "example 2, F1 last, measured costs (ns)", None, orders(50)._2, "C_H = 50 per attribute"),
        Entry("4.1", "example 2, C_H(A1) / C_F(F1)", Some(10), hash, "as the example assumes; section 2.3 gives 20")
      ) ++ perTuple(
        Seq(new AggregateSpace(problem).naive / two.N, second, trees(1).cost / two.N, trees(2).cost / two.N) ++ found(
          problem,
          two.N
        ),
        "4.1",
        "example 2",
        Seq("strategy 1", "strategy 2", "strategy 3", "strategy 4", "greedy", "randomized")
      )
  }

  private def netflow(rows: Int): Seq[Entry] = {
    val flows = NetflowTrees.flows(rows, seed = 1, conversations = rows / 4)
    val exact = NetflowTrees.exact(flows)
    val sampled = NetflowTrees.sample(flows, math.min(rows, 10000), seed = 2)
    val results = NetflowTrees.Reports.map(exact.size(_, Filter.All)).sum
    val plain = NetflowTrees.Reports.map(AggregateQuery(_))
    val filtered = NetflowTrees.filtered(flows, seed = 3)
    val heuristics = Seq[(String, TreeProblem => AggregateTree)](
      "greedy" -> (new GreedyTrees(breadth = 0).choose(_)),
      "greedy, pairs" -> (new GreedyTrees().choose(_)),
      "randomized" -> (new RandomizedTrees().choose(_))
    )
    val ratios = for ((title, queries) <- Seq("22 reports" -> plain, "44 reports, half filtered" -> filtered)) yield {
      val (estimated, known) = (TreeProblem(flows.size, queries, sampled), TreeProblem(flows.size, queries, exact))
      val naive = new AggregateSpace(known).naive
      heuristics.map { case (name, choose) =>
        val cost = NetflowTrees.costOf(choose(estimated), known)
        // The patent's claim is for its best plans, those of the randomized heuristic, and its own queries and trace.
        Entry(
          "4.3",
          s"$title, naive / $name",
          Option.when(name == "randomized")(3.0),
          naive / cost,
          "computation cost; the patent: throughput, over"
        )
      }
    }
    val estimated = TreeProblem(flows.size, plain, sampled)
    val (separate, shared) = (AggregateTree.naive(estimated), new RandomizedTrees().choose(estimated))
    val times = (1 to 4).map(_ => (NetflowTrees.seconds(separate, flows), NetflowTrees.seconds(shared, flows))).drop(1)
    val elapsed = times.map { case (a, b) => a / b }.sorted.apply(1)
    Entry(
      "2",
      "22 reports, result tuples per record",
      Some(6.0 / 1.7),
      results / rows,
      "the patent's records are a router's"
    ) +:
      ratios.flatten :+
      rare(rows) :+
      Entry(
        "4.3",
        "22 reports, time separate / randomized tree",
        Some(3.0),
        elapsed,
        "java.util.HashMap, median of 3; the patent: over"
      )
  }

  // Conversations that recur less: more result tuples, and less to save.
  private def rare(rows: Int): Entry = {
    val flows = NetflowTrees.flows(rows, seed = 1, conversations = rows * 3 / 5)
    val problem = TreeProblem(flows.size, NetflowTrees.Reports.map(AggregateQuery(_)), NetflowTrees.exact(flows))
    val results = problem.queries.map(q => problem.statistics.size(q.keys, Filter.All)).sum / rows
    val ratio = new AggregateSpace(problem).naive / new GreedyTrees(breadth = 0).choose(problem).cost
    Entry(
      "4.3",
      "22 reports of rarer conversations, naive / greedy",
      None,
      ratio,
      f"$results%.1f result tuples per record"
    )
  }

  private def steiner: Seq[Entry] = {
    def ratios(graphs: Seq[SteinerGraph]): Seq[(Double, Double, Double)] = graphs.flatMap { g =>
      val best = ExactSteiner.cost(g)
      val (wong, bound) = new SteinerSearch(g).wong()
      Option.when(best > 0)((new SteinerSearch(g).search()._1.cost / best, wong.cost / best, bound / best))
    }
    def graph(seed: Int, filters: Boolean): SteinerGraph = {
      val random = new Random(seed)
      val (attributes, queries) = (2 + random.nextInt(4), 1 + random.nextInt(8))
      val problem =
        if (filters) RandomTrees.filtered(random, attributes, queries, rows = 200)._1
        else RandomTrees.unfiltered(random, attributes, queries)
      val space = new AggregateSpace(problem)
      AggregateGraph(space, if (filters) RandomTrees.closure(space, 80) else RandomTrees.everyGrouping(space)).steiner
    }
    Seq(("no filters", false, 800), ("filters", true, 300)).flatMap { case (title, filters, count) =>
      val all = ratios((1 to count).map(graph(_, filters)))
      Seq(
        Entry("3.2.2", s"Steiner, $title: worst tree / optimum", None, all.map(_._1).max, s"$count graphs"),
        Entry("3.2.2", s"Steiner, $title: worst of Wong's tree alone", None, all.map(_._2).max, s"$count graphs"),
        Entry("3.2.2", s"Steiner, $title: least bound / optimum", None, all.map(_._3).min, s"$count graphs")
      )
    }
  }

  private def heuristics: Seq[Entry] = {
    val singles, pairs, randomized = Seq.newBuilder[Double]
    for (seed <- 1 to 300) {
      val random = new Random(seed)
      val (attributes, queries) = (2 + random.nextInt(4), 1 + random.nextInt(8))
      val problem =
        if (seed % 2 == 0) RandomTrees.unfiltered(random, attributes, queries)
        else RandomTrees.filtered(random, attributes, queries)._1
      val space = new AggregateSpace(problem)
      val nodes = if (space.unfiltered) RandomTrees.everyGrouping(space) else RandomTrees.closure(space, 80)
      val best = ExactSteiner.cost(AggregateGraph(space, nodes).steiner)
      if (best > 0) {
        singles += new GreedyTrees(breadth = 0).choose(problem).cost / best
        pairs += new GreedyTrees(breadth = Int.MaxValue).choose(problem).cost / best
        if (space.unfiltered) randomized += new RandomizedTrees().choose(problem).cost / best
      }
    }
    Seq("greedy" -> singles, "greedy, pairs" -> pairs, "randomized, no filters" -> randomized).flatMap {
      case (name, found) =>
        val ratios = found.result()
        Seq(
          Entry("3.2", s"$name: mean cost / optimum", None, ratios.sum / ratios.size, s"${ratios.size} problems"),
          Entry("3.2", s"$name: worst cost / optimum", None, ratios.max, s"${ratios.size} problems")
        )
    }
  }

  private def choiceTimes: Seq[Entry] = {
    // Time of the processor: neighbours on the machine change it less than elapsed time.
    val thread = ManagementFactory.getThreadMXBean
    def median(run: () => Unit): Double = {
      val times = (1 to 60).map { _ =>
        val start = thread.getCurrentThreadCpuTime
        run()
        (thread.getCurrentThreadCpuTime - start) / 1e6
      }.drop(45).sorted
      times(times.size / 2)
    }
    val workloads = Seq[(String, Problem)](
      "22 NetFlow reports" -> Workloads.nfc22,
      "256 random groupings of 16 attributes" -> Workloads.random(11, 16, 256),
      "cube of 8 attributes, 256 groupings" -> Workloads.random(1, 8, 1).copy(queries = Workloads.cube(8).map(Query(_)))
    )
    for ((title, problem) <- workloads; algorithm <- Seq("trees", "steiner"))
      yield Entry(
        "3.2",
        s"choice of $algorithm, $title (ms)",
        None,
        median(() => { val _ = Chooser.choose(problem, algorithm, -1) }),
        "CPU time, warm, median of 15"
      )
  }

  private def json(rows: Int, entries: Seq[Entry]): String = {
    def number(x: Double): String = String.format(Locale.ROOT, "%.6g", x)
    def text(s: String): String = "\"" + s.replace("\\", "\\\\").replace("\"", "\\\"") + "\""
    entries.map { e =>
      val difference = e.paper.fold("null")(p => number(e.ours - p))
      s"""    {"section": ${text(e.section)}, "name": ${text(e.name)}, "paper": ${e.paper.fold("null")(number)}, """ +
        s""""ours": ${number(e.ours)}, "difference": $difference, "note": ${text(e.note)}}"""
    }.mkString(s"""{\n  "source": "US 9,116,956 B2",\n  "rows": $rows,\n  "entries": [\n""", ",\n", "\n  ]\n}\n")
  }
}
