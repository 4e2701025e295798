package io.phantoms.spark.lab.times

import java.nio.file.{Files, Path}

import io.phantoms.spark.model.{Choice, Notation, Problem, Query, Workloads}
import io.phantoms.spark.search.Chooser
import io.phantoms.spark.search.smap.Smap

/**
 * Prints what is chosen for the standard workloads, and how long a choice takes: the first one, and the median of those
 * after a warm-up. `-v` describes each configuration; a path that ends in `.json` gets the times.
 */
object ChooserTimes {

  // Exhaustive allocation takes seconds for many queries.
  private def feasible(problem: Problem, algorithm: String): Boolean =
    problem.queries.size <= 16 || !Set("gces", "epes")(algorithm)

  private val problems = Seq(
    "smap4" -> Workloads.smap4,
    "cube4" -> Workloads.cube4,
    "nfc22" -> Workloads.nfc22,
    "random22" -> Workloads.random(7, 13, 22),
    "cube8" -> Workloads.random(1, 8, 1).copy(queries = Workloads.cube(8).map(Query(_))),
    "random256" -> Workloads.random(11, 16, 256)
  )

  // Until the compiler has seen to all of it: `auto` has the most code.
  private def warmUpSeconds(algorithm: String): Double = if (algorithm == "auto") 15 else 1
  private val MeasuredSeconds = 3
  private val FewestRuns = 5

  /** Milliseconds. */
  private final case class Times(first: Double, median: Double, least: Double, runs: Int)

  private def measure(problem: Problem, algorithm: String): (Choice, Times) = {
    def once(): (Choice, Double) = {
      val start = System.nanoTime()
      val choice = Chooser.choose(problem, algorithm, minSavings = -1)
      (choice, (System.nanoTime() - start) / 1e6)
    }
    def runs(seconds: Double): Vector[Double] = {
      val end = System.nanoTime() + (seconds * 1e9).toLong
      Vector.unfold(0)(n => Option.when(n < FewestRuns || System.nanoTime() < end)((once()._2, n + 1)))
    }
    val (choice, first) = once()
    runs(warmUpSeconds(algorithm))
    val times = runs(MeasuredSeconds).sorted
    (choice, Times(first, times(times.size / 2), times.head, times.size))
  }

  def main(args: Array[String]): Unit = {
    // The first choice of the JVM also loads the classes.
    val (cold, lines) = (measureCold(), Vector.newBuilder[String])
    println(f"first choice of all: $cold%.1f ms")
    // By algorithm: an application has one, and the compiler specialises for it.
    for (
      algorithm <- Seq("auto", "gc", "trees", "steiner") ++ Smap.names; (name, problem) <- problems
      if feasible(problem, algorithm)
    ) {
      val (choice, t) = measure(problem, algorithm)
      println(
        f"$name%-10s $algorithm%-7s first ${t.first}%9.3f ms, warm ${t.median}%8.3f ms (least ${t.least}%8.3f)  " +
          f"cost ${choice.cost / 1e9}%8.3f s without ${choice.costWithout / 1e9}%8.3f s"
      )
      lines += f"""    {"workload": "$name", "queries": ${problem.queries.size}, "attributes": ${problem.attributes.size}, """ +
        f""""algorithm": "$algorithm", "first_ms": ${t.first}%.3f, "median_ms": ${t.median}%.3f, """ +
        f""""least_ms": ${t.least}%.3f, "runs": ${t.runs}}"""
      val notation = Notation(problem)
      choice.configuration.filter(_.relations.size <= 40).foreach { c =>
        println("  " + notation.render(c))
        if (args.contains("-v")) println(notation.describe(c))
      }
    }
    args.find(_.endsWith(".json")).foreach { path =>
      val cores = Runtime.getRuntime.availableProcessors
      val head =
        f"""{"cores": $cores, "java": "${System.getProperty("java.version")}", "cold_ms": $cold%.1f, "times": ["""
      Files.writeString(Path.of(path), lines.result().mkString(s"$head\n", ",\n", "\n]}\n"))
      println(path)
    }
  }

  private def measureCold(): Double = {
    val start = System.nanoTime()
    Chooser.choose(Workloads.smap4)
    (System.nanoTime() - start) / 1e6
  }
}
