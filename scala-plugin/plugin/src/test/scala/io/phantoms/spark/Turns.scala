package io.phantoms.spark

/**
 * Which of the settings that a test combines are its turn: others with every commit (`phantoms.matrix.seed`), and all of them
 * with `-Dphantoms.matrix.full=true`, as `make test-long` has it.
 */
object Turns {
  val full: Boolean = sys.props.get("phantoms.matrix.full").contains("true")
  val seed: Long = sys.props.get("phantoms.matrix.seed").fold(0L)(_.toLong)

  /** For what takes turns beside settings of which one of so many has its turn: moves on when these have been through. */
  def slower(than: Int): Int = Math.floorDiv(seed, than.toLong).toInt

  /** Of all, as many as that, which follow one another. Who asks for turns 0, 1, 2 ... gets all of them in the end. */
  def some[T](all: Seq[T], few: Int, turn: Int = 0): Seq[T] =
    if (full || few >= all.size) all
    else Seq.tabulate(few)(i => all(Math.floorMod((turn + seed) * few + i, all.size)))
}
