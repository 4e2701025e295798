package io.phantoms.spark.lab.windows

import scala.util.Random

import io.phantoms.spark.model.PeriodicWindow
import io.phantoms.spark.windows.{EdgeRate, RandomWindows}

/** Prints how long choices about the papers' 256 windows and about one fine sliding window take once warm. */
object WindowTimes {

  def main(args: Array[String]): Unit = {
    val windows = RandomWindows.paper(new Random(1), 256)
    // As Spark has them: microseconds.
    val micros = windows.map(w => PeriodicWindow(w.range * 1000000, w.slide * 1000000))
    val hour = 3600L * 1000000
    val slices = Slices.over(micros, 0, hour)
    val sliding = Vector(PeriodicWindow(hour, 10L * 1000000))
    val steps = Seq[(String, () => Any)](
      "slices of an hour, 256 windows" -> (() => Slices.over(micros, 0, hour)),
      "rate of 256 windows" -> (() => EdgeRate.of(windows)),
      "share or not, 256 windows over an hour" -> (() => WindowCost.share(375e-6, slices.widths.rate, micros)),
      "blocks for 256 windows" -> (() => CoarseMerges.choose(slices)),
      "factor windows, an hour by ten seconds" -> (() => new FactorSearch(sliding, idempotent = false).search)
    )
    for ((name, step) <- steps) {
      val times = Vector.fill(7) {
        val start = System.nanoTime()
        step()
        (System.nanoTime() - start) / 1e6
      }
      println(f"$name%-40s first ${times.head}%9.1f ms, warm ${times.drop(3).min}%8.1f ms")
    }
  }
}
