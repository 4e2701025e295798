package io.phantoms.spark.lab.papers

import java.nio.file.Paths

import scala.collection.mutable
import scala.util.Random

import io.phantoms.spark.cost.FlowLengths
import io.phantoms.spark.lab.smap.PeakLoad
import io.phantoms.spark.model.Workloads
import io.phantoms.spark.search.smap.{
  Epes,
  Feeding,
  Gc,
  Gp,
  MultipleAggregation,
  Smap => Algorithm,
  SmapConfiguration,
  SpaceAllocation
}

/**
 * The evaluation of SMAP (section 8) on seeded data of the paper's parameters: a CSV file for each figure and table, in
 * the directory named by the argument. `make papers-smap` runs it and draws the figures.
 */
object Smap {
  import Results.mean

  private val data = SmapData(1)
  private val singles = Seq("A", "B", "C", "D")
  private val pairs = Seq("AB", "BC", "BD", "CD")
  private val phis = (2 to 20).map(_ / 10.0) // 0.2 to 2.0
  private val shares = 0 to 50 by 10
  private val Hashes = 3

  // Where differences of a hundredth count.
  private val ManyHashes = 12

  private lazy val uniform = data.uniform(1000000, 2)
  private lazy val packets = data.flows(SmapData.Tuples, 3)

  def main(args: Array[String]): Unit = {
    val results = new Results(Paths.get(args.headOption.getOrElse("benchmarks/papers/results")))
    SmapCollisions.write(results, data, packets)
    space(results)
    choosing(results)
    measured(results)
    nextWindows(results)
    misestimates(results)
    peakLoad(results)
    epochsSpace(results)
    epochsChoosing(results)
    otherData(results)
  }

  /** l_a of each depth, measured in the first half of the packets: what the paper takes from the previous window. */
  private lazy val packetLengths: FlowLengths = {
    val problem = data.problem(pairs, 40000)
    val feeding = problem.feeding(Seq("ABCD", "BCD").map(node(problem, _)))
    val space = SpaceAllocation.SupernodeLinear.allocate(problem.spaceProblem(feeding), 40000, SmapData.C1, SmapData.C2)
    val rates = TableSimulation(data, problem, feeding, space, 1).run(packets, 0, packets.length / 2).rates
    FlowLengths.ofDepths(FlowLengths.averages(feeding.tree, SmapCollisions.flowLengths(problem, feeding, space, rates)))
  }

  private def node(problem: MultipleAggregation, name: String): Int =
    problem.graph.node(Workloads.groupings(name).head).get

  private def naive(problem: MultipleAggregation): SmapConfiguration =
    problem.allocated(problem.feeding(Nil), SpaceAllocation.SupernodeLinear)

  private def gp(problem: MultipleAggregation, phi: Double): SmapConfiguration =
    Algorithm.GreedySpace(phi).choose(problem)

  private val heuristics = Seq("sl", "sr", "pl", "pr")

  // Configurations of three levels or more, or of two that have no closed form (section 6.2).
  private def intractable(problem: MultipleAggregation): Vector[Feeding] =
    Epes.forests(problem.graph, 100000).get.filter { f =>
      val phantoms = f.phantoms(problem.graph).size
      phantoms > 1 || phantoms == 1 && f.nodes.indices.count(f.tree.isRaw) > 1
    }

  private def relativeCosts(problem: MultipleAggregation, feeding: Feeding, es: SpaceAllocation): Seq[Double] = {
    val exhaustive = problem.allocated(feeding, es).cost
    heuristics.map(n => problem.allocated(feeding, SpaceAllocation.byName(n)).cost / exhaustive)
  }

  /** Fig 15, Tables 3 and 4. */
  private def space(results: Results): Unit = {
    val es = SpaceAllocation.byName("es")
    val shown = Seq(
      pairs -> Seq("ABCD", "BCD"),
      pairs -> Seq("ABC"),
      singles -> Seq("ABCD", "AC", "BD"),
      singles -> Seq("ABCD", "AB")
    )
    results.csv("smap-fig15", Seq("configuration", "M") ++ heuristics) {
      for ((queries, phantoms) <- shown; m <- SmapData.Memories) yield {
        val problem = data.problem(queries, m, packetLengths)
        val feeding = problem.feeding(phantoms.map(node(problem, _)))
        Seq(feeding.render(problem.graph), m) ++ relativeCosts(problem, feeding, es)
      }
    }
    for ((name, lengths) <- Seq("clustered" -> packetLengths, "uniform" -> FlowLengths.Random)) {
      val costs = for (m <- SmapData.Memories) yield m -> (for {
        queries <- Seq(singles, pairs)
        problem = data.problem(queries, m, lengths)
        feeding <- intractable(problem)
      } yield relativeCosts(problem, feeding, es))
      results.csv(s"smap-table3-$name", "M" +: heuristics) {
        costs.map { case (m, c) => m +: c.transpose.map(mean) }
      }
      results.csv(s"smap-table4-$name", Seq("M", "sl best in %", "difference from the best in %")) {
        costs.map { case (m, c) =>
          val behind = c.map(r => r.head / r.min - 1)
          Seq(m, 100.0 * behind.count(_ <= 1e-9) / behind.size, 100 * mean(behind))
        }
      }
    }
    results.csv("smap-tractable", Seq("levels", "largest difference from ES in %")) {
      def worst(feedings: MultipleAggregation => Seq[Feeding]): Double = (for {
        queries <- Seq(singles, pairs)
        m <- SmapData.Memories
        problem = data.problem(queries, m, packetLengths)
        feeding <- feedings(problem)
      } yield 100 * (relativeCosts(problem, feeding, es).head - 1)).max
      Seq(
        Seq("no phantom", worst(p => Seq(p.feeding(Nil)))),
        Seq("one phantom feeding all queries", worst(p => Seq(p.feeding(Seq(node(p, "ABCD"))))))
      )
    }
  }

  /** Figs 16 to 18. */
  private def choosing(results: Results): Unit = {
    val problem = data.problem(singles, 40000)
    val optimum = Algorithm("epes").choose(problem)
    results.csv("smap-fig16", Seq("phi", "gp", "gcsl", "gcpl")) {
      val greedy = Seq("gcsl", "gcpl").map(Algorithm(_).choose(problem))
      phis.map(phi => phi +: (gp(problem, phi) +: greedy).map(_.cost / optimum.cost))
    }
    results.csv("smap-configurations", Seq("queries", "algorithm", "configuration", "relative cost")) {
      for {
        (queries, lengths) <- Seq(singles -> FlowLengths.Random, pairs -> packetLengths)
        p = data.problem(queries, 40000, lengths)
        best = Algorithm("epes").choose(p).cost
        name <- Seq("epes", "gcsl", "gcpl", "gp(0.8)", "gp(1.2)", "gp(1.6)", "gp(2.0)")
      } yield {
        val c = Algorithm(name).choose(p)
        Seq(queries.mkString(" "), name, c.feeding.render(p.graph), c.cost / best)
      }
    }
    results.csv("smap-fig17", Seq("algorithm", "phantoms", "relative cost", "configuration")) {
      val sl = SpaceAllocation.SupernodeLinear
      val (chosen, _) = Gc.choose(problem.phantoms, c => problem.allocated(problem.feeding(c), sl).cost, Int.MaxValue)
      val greedy = (0 to chosen.size).map(k => ("gcsl", k, problem.allocated(problem.feeding(chosen.take(k)), sl)))
      val bySpace = for (phi <- Seq(0.8, 1.2, 1.6, 2.0); k <- 0 to 3) yield {
        (s"gp($phi)", k, Gp.choose(problem, phi, problem.phantoms, most = k))
      }
      for ((name, k, c) <- greedy ++ bySpace if c.feeding.phantoms(problem.graph).size == k)
        yield Seq(name, k, c.cost / optimum.cost, c.feeding.render(problem.graph))
    }
    results.csv("smap-fig18", Seq("M", "gcsl", "gp(0.8)", "gp(1.2)", "gp(1.6)", "gp(2.0)")) {
      for (m <- SmapData.Memories) yield {
        val p = data.problem(singles, m)
        val best = Algorithm("epes").choose(p).cost
        m +: Seq("gcsl", "gp(0.8)", "gp(1.2)", "gp(1.6)", "gp(2.0)").map(Algorithm(_).choose(p).cost / best)
      }
    }
  }

  private def measure(
      problem: MultipleAggregation,
      c: SmapConfiguration,
      stream: Array[Int],
      hashes: Int = Hashes
  ): Double =
    mean((1 to hashes).map { seed =>
      val tables = TableSimulation(data, problem, c.feeding, c.space, seed)
      problem.cost(c.feeding, c.space, tables.run(stream, 0, stream.length).rates)
    })

  private val columns = Seq(
    "M",
    "gcsl",
    "gp best phi",
    "no phantom",
    "no phantom in 20000",
    "gp / gcsl",
    "no phantom / gcsl",
    "no phantom in 20000 / gcsl",
    "phi",
    "configuration"
  )

  private def against(
      results: Results,
      file: String,
      stream: Array[Int],
      exhaustive: Algorithm,
      problem: Double => MultipleAggregation
  ): Unit =
    results.csv(file, columns) {
      // The paper's queries without phantoms cost the same whatever M is: their tables do not grow with it.
      val least = problem(SmapData.Memories.head)
      val fixed = measure(least, naive(least), stream)
      for (m <- SmapData.Memories) yield {
        val p = problem(m)
        val best = measure(p, exhaustive.choose(p), stream)
        val gcsl = Algorithm("gcsl").choose(p)
        val own = measure(p, gcsl, stream)
        val (bySpace, phi) = phis.map(phi => (measure(p, gp(p, phi), stream), phi)).min
        val none = measure(p, naive(p), stream)
        Seq(
          m,
          own / best,
          bySpace / best,
          none / best,
          fixed / best,
          bySpace / own,
          none / own,
          fixed / own,
          phi,
          gcsl.feeding.render(p.graph)
        )
      }
    }

  /** Collisions counted on running tables. */
  private def measured(results: Results): Unit = {
    against(results, "smap-fig19", uniform, Algorithm("epes"), data.problem(singles, _))
    against(results, "smap-fig20", packets, Algorithm("epes"), data.problem(pairs, _, packetLengths))
  }

  /** What GCSL chooses for a window, and its cost on running tables over that of GP with its best phi. */
  final case class Window(ratio: Double, gcsl: String, gp: String)

  /**
   * Fig 19(a) where GCSL knows l_m of the relations that ran in the windows before, for when the input feeds them: coarse
   * relations of uniform tuples are not uniform themselves. GP has the phi, and whichever of the two states of knowledge,
   * that turn out best.
   */
  private[spark] def windows(m: Double, epochs: Seq[Long] = Nil): Iterator[Window] = {
    val known = mutable.HashMap.empty[Int, Double]
    val first = data.problem(singles, m, epochs = epochs)
    Iterator.continually {
      val lengths = known.toMap
      val p = data.problem(singles, m, FlowLengths.ofRelations(lengths.getOrElse(_, 1.0)), epochs)
      val gcsl = Algorithm("gcsl").choose(p)
      val (best, theirs) = Seq(first, p).flatMap(q => phis.map(gp(q, _))).distinctBy(_.space.toSeq)
        .map(c => (measure(first, c, uniform, ManyHashes), c)).minBy(_._1)
      val rates = TableSimulation(data, first, gcsl.feeding, gcsl.space, 1).run(uniform, 0, uniform.length).rates
      val measured = SmapCollisions.flowLengths(first, gcsl.feeding, gcsl.space, rates)
      gcsl.feeding.nodes.indices.filterNot(measured(_).isNaN)
        .foreach(r => known(gcsl.feeding.nodes(r)) = math.max(1.0, measured(r)))
      val ratio = measure(first, gcsl, uniform, ManyHashes) / best
      Window(ratio, gcsl.feeding.render(p.graph), theirs.feeding.render(p.graph))
    }
  }

  private def nextWindows(results: Results): Unit =
    results.csv("smap-next-windows", Seq("epochs", "M", "window", "gcsl / gp best phi", "gcsl", "gp")) {
      for (e <- Seq(Nil, epochs); m <- SmapData.Memories; (w, i) <- windows(m, e).take(3).zipWithIndex)
        yield Seq(if (e.isEmpty) "one" else e.mkString(" "), m, i + 1, w.ratio, w.gcsl, w.gp)
    }

  private def misestimates(results: Results): Unit =
    results.csv("smap-fig21", Seq("M", "error in %", "no phantom / gcsl")) {
      val random = new Random(21)
      for (m <- Seq(60000.0, 100000.0); error <- shares.reverse.map(-_).dropRight(1) ++ shares) yield {
        val truth = data.problem(pairs, m, packetLengths)
        val none = measure(truth, naive(truth), packets)
        val gains = (1 to 5).map { _ =>
          // Every relation's own error lies between 0 and this one.
          val counts = data.counts.map { case (k, n) =>
            k -> math.max(1.0, n * (1 + random.nextDouble() * error / 100))
          }
          val wrong = data.problem(pairs, m, packetLengths, counts = counts)
          none / measure(truth, Algorithm("gcsl").choose(wrong), packets)
        }
        Seq(m, error, mean(gains))
      }
    }

  private def peakLoad(results: Results): Unit =
    results.csv("smap-fig22", Seq("E_p in % of E_e", "shrink", "shift")) {
      val problem = data.problem(pairs, 40000, packetLengths)
      val free = Algorithm("gcsl").choose(problem)
      val feeding = free.feeding
      val cost = measure(problem, free, packets)
      val load = problem.endOfEpoch(feeding, _: Array[Double])
      def relative(space: Array[Double]): Double =
        measure(problem, new SmapConfiguration(feeding, space, 0), packets) / cost
      for (percent <- Seq(99, 98, 96, 94, 92, 90, 85, 80, 75, 70)) yield {
        val limit = load(free.space) * percent / 100
        val shifted = PeakLoad.shift(free.space, r => !problem.graph.isPhantom(feeding.nodes(r)), load, limit)
        Seq(percent, relative(PeakLoad.shrink(free.space, load, limit)), shifted.fold(Double.NaN)(relative))
      }
    }

  private val epochs = Seq(2L, 3L, 5L, 6L)

  /** Fig 23 and Table 5. */
  private def epochsSpace(results: Results): Unit = {
    val es = SpaceAllocation.byName("es")
    val shown = Seq((Seq("A", "B", "C"), Seq("ABC", "AC"), Seq(2L, 3L, 5L)), (pairs, Seq("ABCD", "BCD"), epochs))
    results.csv("smap-fig23", Seq("configuration", "M") ++ heuristics) {
      for ((queries, phantoms, lengths) <- shown; m <- SmapData.Memories) yield {
        val problem = data.problem(queries, m, packetLengths, lengths)
        val feeding = problem.feeding(phantoms.map(node(problem, _)))
        Seq(feeding.render(problem.graph), m) ++ relativeCosts(problem, feeding, es)
      }
    }
    val sets = Seq(Seq(2L, 3L, 5L), Seq(3L, 4L, 5L), Seq(1L, 5L, 9L)).map(Seq("A", "B", "C") -> _) ++
      Seq(Seq(2L, 3L, 5L, 6L), Seq(2L, 3L, 5L, 7L), Seq(3L, 5L, 7L, 9L)).map(pairs -> _)
    for ((name, flows) <- Seq("clustered" -> packetLengths, "uniform" -> FlowLengths.Random))
      results.csv(s"smap-table5-$name", "M" +: heuristics) {
        for (m <- SmapData.Memories) yield {
          val costs = for {
            (queries, lengths) <- sets
            problem = data.problem(queries, m, flows, lengths)
            feeding <- intractable(problem)
          } yield relativeCosts(problem, feeding, es)
          m +: costs.transpose.map(mean)
        }
      }
  }

  /** Figs 24 to 27. */
  private def epochsChoosing(results: Results): Unit = {
    val problem = data.problem(singles, 40000, epochs = epochs)
    val optimum = Algorithm("epes").choose(problem)
    results.csv("smap-fig24", Seq("phi", "gp", "gcsl", "gcpl")) {
      val greedy = Seq("gcsl", "gcpl").map(Algorithm(_).choose(problem))
      phis.map(phi => phi +: (gp(problem, phi) +: greedy).map(_.cost / optimum.cost))
    }
    results.csv("smap-fig25", Seq("M", "gcsl", "gp(0.8)", "gp(1.2)", "gp(1.6)", "gp(2.0)")) {
      for (m <- SmapData.Memories) yield {
        val p = data.problem(singles, m, epochs = epochs)
        val best = Algorithm("epes").choose(p).cost
        m +: Seq("gcsl", "gp(0.8)", "gp(1.2)", "gp(1.6)", "gp(2.0)").map(Algorithm(_).choose(p).cost / best)
      }
    }
    against(results, "smap-fig26", uniform, Algorithm("epes"), data.problem(singles, _, epochs = epochs))
    against(results, "smap-fig27", packets, Algorithm("epes"), data.problem(pairs, _, packetLengths, epochs))
  }

  /** What depends on the numbers of groups that the paper does not give. */
  private def otherData(results: Results): Unit =
    results.csv(
      "smap-other-data",
      Seq(
        "queries",
        "draws",
        "gcsl / epes mean",
        "gcsl / epes max",
        "gcsl / best gp mean",
        "gcsl / best gp max",
        "no worse than gp in %"
      )
    ) {
      val random = new Random(4)
      val draws = Iterator.continually {
        val shape = SmapData.Shape(
          600 + 100 * random.nextInt(25),
          50 + 25 * random.nextInt(20),
          10 * (1 + random.nextInt(20)),
          500 + 100 * random.nextInt(30),
          1 + random.nextInt(3)
        )
        SmapData(random.nextLong(), shape)
      }.filter(_.counts.filter(_._1.size < 4).values.forall(n => n >= 552 && n <= 2837)).take(40).toVector
      for (queries <- Seq(singles, pairs)) yield {
        val ratios = for (d <- draws; m <- SmapData.Memories) yield {
          val p = d.problem(queries, m)
          val gcsl = Algorithm("gcsl").choose(p).cost
          (gcsl / Algorithm("epes").choose(p).cost, gcsl / phis.map(gp(p, _).cost).min)
        }
        val (epes, best) = ratios.unzip
        val noWorse = 100.0 * best.count(_ <= 1) / best.size
        Seq(queries.mkString(" "), draws.size, mean(epes), epes.max, mean(best), best.max, noWorse)
      }
    }
}
