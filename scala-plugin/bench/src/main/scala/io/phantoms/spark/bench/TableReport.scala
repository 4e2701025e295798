package io.phantoms.spark.bench

import java.nio.file.{Files, Paths}
import java.util.Locale

import scala.jdk.CollectionConverters._

import org.openjdk.jmh.results.RunResult
import org.openjdk.jmh.runner.Runner
import org.openjdk.jmh.runner.options.{OptionsBuilder, TimeValue}

/**
 * Runs the benchmarks of the tables and writes what a row costs, in the generated kernel and in plain arrays, as JSON.
 *
 * Usage: `TableReport FILE [full]`. By default every key width is measured at every size with one skew, and the other
 * skews at one width; `full` measures all of them. Kernel and plain arrays take turns over the same rows, in a few
 * processes one after the other: whatever else a machine does meets both alike. Times are medians over all turns, the
 * ratio is the median of the ratios within a turn.
 */
object TableReport {
  private final case class Point(table: String, words: Int, buckets: Int, skew: String)

  /** Some values of the parameters of one benchmark; those not named have all of theirs. */
  private final case class Part(benchmark: Class[_], values: Map[String, Seq[String]])

  private val lfta = classOf[LftaBenchmark]
  private val groups = classOf[GroupTableBenchmark]

  private val short = Seq(
    Part(lfta, Map("skew" -> Seq("4 uniform"))),
    Part(lfta, Map("skew" -> Seq("0.5 uniform", "4 zipf1.1", "4 runs10"), "words" -> Seq("2"))),
    Part(groups, Map("skew" -> Seq("uniform"))),
    Part(groups, Map("skew" -> Seq("zipf1.1"), "words" -> Seq("2")))
  )
  private val full = Seq(Part(lfta, Map.empty), Part(groups, Map.empty))

  private val Rounds = 3

  /** What a row costs in one turn: nanoseconds. */
  private final case class Turn(kernel: Double, packed: Double, plain: Double) {
    def ratio: Double = kernel / plain
  }

  def main(args: Array[String]): Unit = {
    val parts = if (args.drop(1).contains("full")) full else short
    val turns = (1 to Rounds).flatMap(_ => parts.flatMap(run)).groupMapReduce(_._1)(_._2)(_ ++ _)
    val points = turns.toSeq.sortBy { case (p, _) => (p.table != "lfta", p.words, p.buckets, p.skew) }
    points.foreach { case (p, all) =>
      println(
        f"${p.table}%-6s ${p.words} words ${p.buckets}%8d ${p.skew}%-12s ${median(all)(_.kernel)}%7.1f ns, packed " +
          f"${median(all)(_.packed)}%7.1f ns, plain ${median(all)(_.plain)}%7.1f ns: ${median(all)(_.ratio)}%.2f " +
          f"(${all.map(_.ratio).min}%.2f to ${all.map(_.ratio).max}%.2f)"
      )
    }
    val json = points.map { case (p, all) =>
      s"""    {"table": "${p.table}", "words": ${p.words}, "buckets": ${p.buckets}, "skew": "${p.skew}", """ +
        s""""ns": ${number(median(all)(_.kernel))}, "packed_ns": ${number(median(all)(_.packed))}, """ +
        s""""plain_ns": ${number(median(all)(_.plain))}, "ratio": ${number(median(all)(_.ratio))}, """ +
        s""""turns": ${all.size}}"""
    }
    val text = json.mkString("{\n  \"name\": \"tables\",\n  \"points\": [\n", ",\n", "\n  ]\n}\n")
    val _ = Files.writeString(Paths.get(args.head), text)
  }

  private def number(x: Double): String = String.format(Locale.ROOT, "%.2f", x)

  /** All turns of each point of a part. */
  private def run(part: Part): Seq[(Point, Seq[Turn])] = {
    val options = new OptionsBuilder().include(part.benchmark.getName + "\\.").forks(1)
      .warmupIterations(4).warmupTime(TimeValue.milliseconds(150))
      .measurementIterations(7).measurementTime(TimeValue.milliseconds(150))
    part.values.foreach { case (name, values) => options.param(name, values: _*) }
    new Runner(options.build()).run().asScala.toSeq.map(r => point(r) -> iterations(r))
  }

  private def point(r: RunResult): Point = {
    def value(name: String) = r.getParams.getParam(name)
    if (r.getParams.getBenchmark.startsWith(lfta.getName))
      Point("lfta", value("words").toInt, value("buckets").toInt, value("skew"))
    else Point("groups", value("words").toInt, value("groups").toInt, value("skew"))
  }

  /** Short iterations: a turn each, or a few. */
  private def iterations(r: RunResult): Seq[Turn] =
    r.getBenchmarkResults.asScala.toSeq.flatMap(_.getIterationResults.asScala).map { i =>
      def count(name: String) = i.getSecondaryResults.get(name).getScore
      val rows = count("turns") * (if (point(r).table == "lfta") LftaBenchmark.ROWS else GroupTableBenchmark.RECORDS)
      Turn(count("kernel") / rows, count("packed") / rows, count("plain") / rows)
    }

  private def median(all: Seq[Turn])(of: Turn => Double): Double = {
    val sorted = all.map(of).sorted
    (sorted((sorted.size - 1) / 2) + sorted(sorted.size / 2)) / 2
  }
}
