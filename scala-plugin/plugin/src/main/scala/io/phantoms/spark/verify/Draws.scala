package io.phantoms.spark.verify

import scala.util.Random

import io.phantoms.spark.conf.OfApplication

/**
 * Which of the plans that an application shares are verified: of any run of them the given fraction, evenly spread. Where
 * that begins is chance, as short jobs that run again and again would verify the same queries each time.
 *
 * @param start from 0 to below 1
 */
final class Draws(start: Double) {
  private var sum = start

  def next(fraction: Double): Boolean = synchronized {
    sum += fraction
    val drawn = sum >= 1.0
    if (drawn) sum -= 1.0
    drawn
  }
}

object Draws {
  val of = new OfApplication(() => new Draws(new Random().nextDouble()))
}
