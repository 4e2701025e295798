package io.phantoms.spark.fuzz

import scala.util.Random

/** Choices that a seed makes, and names that are used once. */
final class Draw(seed: Long) {
  private val random = new Random(seed)
  random.nextInt()
  private var names = 0

  /** True once in so many times. */
  def chance(in: Int): Boolean = random.nextInt(in) == 0
  def upTo(below: Int): Int = random.nextInt(below)
  def fraction(): Double = random.nextDouble()
  def pick[T](from: Vector[T]): T = from(random.nextInt(from.size))

  /** One of several, each drawn when its turn comes, as often as its weight says. */
  def weighted[T](choices: (Int, () => T)*): T = {
    var left = random.nextInt(choices.map(_._1).sum)
    choices.find { case (weight, _) =>
      left -= weight
      left < 0
    }.get._2()
  }

  def shuffle[T](from: Vector[T]): Vector[T] = random.shuffle(from)
  def fill[T](count: Int)(one: => T): Vector[T] = Vector.fill(count)(one)
  def maybe[T](in: Int)(one: => T): Option[T] = if (chance(in)) Some(one) else None

  def fresh(prefix: String): String = {
    names += 1
    s"$prefix$names"
  }
}
