package io.phantoms.spark.fuzz

import scala.collection.mutable

/** What became of many cases: how many ran, how many of them the plugin acted in, and why it left others alone. */
final class Tally {
  private val declines = mutable.Map.empty[String, Int].withDefaultValue(0)
  private val errors = mutable.Map.empty[String, Int].withDefaultValue(0)
  private var (ran, acted, alone) = (0, 0, 0)

  def add(run: Run): Unit = {
    ran += 1
    run.expected.result.left.foreach(errors(_) += 1)
    if (run.acted) acted += 1
    else if (run.declines.isEmpty) alone += 1
    // Each kind once a case, however many places of it were left alone for it.
    else run.declines.distinct.foreach(declines(_) += 1)
  }

  /** Of 1. */
  def share: Double = if (ran == 0) 0 else acted.toDouble / ran

  def total: Int = ran

  def text: String = {
    def sorted(counts: mutable.Map[String, Int]) =
      counts.toSeq.sortBy { case (code, n) => (-n, code) }.map { case (code, n) => s"$code $n" }
    val others = sorted(declines) ++ (if (alone > 0) Seq(s"nothing to look at $alone") else Nil)
    f"$ran%d queries ran, the plugin acted in $acted%d (${share * 100}%.0f %%); left alone: ${others.mkString(", ")}; " +
      s"plain Spark failed in ${errors.values.sum}: ${sorted(errors).mkString(", ")}"
  }
}
