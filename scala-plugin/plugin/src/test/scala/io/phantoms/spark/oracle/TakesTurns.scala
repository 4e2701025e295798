package io.phantoms.spark.oracle

/**
 * A suite whose tests take turns at the variants: each runs those of one turn, and the next test those of the next one, so
 * that every variant meets every query and every form of the input, and all tests together run the product of the
 * settings two by two. Which test begins changes with the commit (`phantoms.matrix.seed`); with
 * `-Dphantoms.matrix.full=true`, as `make test-long` has it, each test runs all variants.
 */
trait TakesTurns extends DifferentialSuite { this: org.scalatest.Suite =>

  /** All variants, by turn. */
  protected def turns: IndexedSeq[Seq[Variant]]

  private var turn: Option[Int] = None

  /** Those of the turn while a test has one, else all. */
  override protected def variants: Seq[Variant] =
    turn.filterNot(_ => TakesTurns.full).fold[Seq[Variant]](turns.flatten)(t =>
      turns(Math.floorMod(t + TakesTurns.seed, turns.size))
    )

  protected def onTurn[T](t: Int)(body: => T): T = {
    turn = Some(t)
    try body
    finally turn = None
  }
}

object TakesTurns {
  private val full = sys.props.get("phantoms.matrix.full").contains("true")
  private val seed = sys.props.get("phantoms.matrix.seed").fold(0L)(_.toLong)
}
