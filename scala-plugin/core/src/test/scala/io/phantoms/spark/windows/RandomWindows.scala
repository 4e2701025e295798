package io.phantoms.spark.windows

import io.phantoms.spark.model.PeriodicWindow

import scala.util.Random

/** Seeded windows small enough for brute force. */
object RandomWindows {

  def window(rng: Random, maxSlide: Int, maxRange: Int, phases: Boolean): PeriodicWindow = {
    val slide = 1 + rng.nextInt(maxSlide)
    PeriodicWindow(1L + rng.nextInt(maxRange), slide.toLong, if (phases) rng.nextInt(slide).toLong else 0L)
  }

  def windows(rng: Random, n: Int, maxSlide: Int, maxRange: Int, phases: Boolean): Vector[PeriodicWindow] =
    Vector.fill(n)(window(rng, maxSlide, maxRange, phases))

  /** Workload (A) of On-the-fly sharing, Table 8, in seconds; all windows different. */
  def paper(rng: Random, n: Int): Vector[PeriodicWindow] =
    Iterator.continually(PeriodicWindow(600L + rng.nextInt(301), 300L + rng.nextInt(301))).distinct.take(n).toVector

  /** Times of `(from, until]` at which some window begins or ends, one by one. */
  def edges(windows: Seq[PeriodicWindow], from: Long, until: Long): Vector[Long] =
    (from + 1 to until).filter { t =>
      windows.exists(w =>
        Math.floorMod(t - w.phase, w.slide) == 0 || Math.floorMod(t + w.range - w.phase, w.slide) == 0
      )
    }.toVector
}
