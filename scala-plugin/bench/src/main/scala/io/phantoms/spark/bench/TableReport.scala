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
 * skews at one width; `full` measures all of them. Kernel and plain arrays take turns, round by round, each time in a
 * process of its own, and what counts is the median over all rounds: whatever else a machine does meets both alike.
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

  def main(args: Array[String]): Unit = {
    val parts = if (args.drop(1).contains("full")) full else short
    val times = (1 to Rounds).flatMap(_ => parts.flatMap(run)).groupMapReduce(_._1)(_._2)(_ ++ _).view.mapValues(median)
    val points = times.keys.collect { case (p, "kernel") => p }.toSeq
      .sortBy(p => (p.table != "lfta", p.words, p.buckets, p.skew))
      .map(p => (p, times((p, "kernel")), times.get((p, "packed")), times((p, "plain"))))
    points.foreach { case (p, ns, packed, plain) =>
      val packing = packed.fold("")(x => f", packed $x%7.1f ns")
      println(
        f"${p.table}%-6s ${p.words} words ${p.buckets}%8d ${p.skew}%-12s $ns%7.1f ns$packing, plain $plain%7.1f ns: " +
          f"${ns / plain}%.2f"
      )
    }
    val json = points.map { case (p, ns, packed, plain) =>
      s"""    {"table": "${p.table}", "words": ${p.words}, "buckets": ${p.buckets}, "skew": "${p.skew}", """ +
        s""""ns": ${number(ns)}, ${packed.fold("")(x => s""""packed_ns": ${number(x)}, """)}""" +
        s""""plain_ns": ${number(plain)}, "ratio": ${number(ns / plain)}}"""
    }
    val text = json.mkString("{\n  \"name\": \"tables\",\n  \"points\": [\n", ",\n", "\n  ]\n}\n")
    val _ = Files.writeString(Paths.get(args.head), text)
  }

  private def number(x: Double): String = String.format(Locale.ROOT, "%.2f", x)

  /** The times of all iterations of each benchmark of a part. */
  private def run(part: Part): Seq[((Point, String), Seq[Double])] = {
    val options = new OptionsBuilder().include(part.benchmark.getName + "\\.").forks(1)
      .warmupIterations(4).warmupTime(TimeValue.milliseconds(150))
      .measurementIterations(4).measurementTime(TimeValue.milliseconds(150))
    part.values.foreach { case (name, values) => options.param(name, values: _*) }
    new Runner(options.build()).run().asScala.toSeq.map(r => (point(r), r.getPrimaryResult.getLabel) -> iterations(r))
  }

  private def point(r: RunResult): Point = {
    def value(name: String) = r.getParams.getParam(name)
    if (r.getParams.getBenchmark.startsWith(lfta.getName))
      Point("lfta", value("words").toInt, value("buckets").toInt, value("skew"))
    else Point("groups", value("words").toInt, value("groups").toInt, value("skew"))
  }

  private def iterations(r: RunResult): Seq[Double] =
    r.getBenchmarkResults.asScala.toSeq.flatMap(_.getIterationResults.asScala).map(_.getPrimaryResult.getScore)

  private def median(all: Seq[Double]): Double = {
    val sorted = all.sorted
    (sorted((sorted.size - 1) / 2) + sorted(sorted.size / 2)) / 2
  }
}
