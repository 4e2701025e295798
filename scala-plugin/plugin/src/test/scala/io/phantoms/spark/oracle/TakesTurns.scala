package io.phantoms.spark.oracle

import io.phantoms.spark.Turns

import org.scalactic.source.Position
import org.scalatest.Tag
import org.scalatest.funsuite.AnyFunSuite

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
    turn.filterNot(_ => Turns.full).fold[Seq[Variant]](turns.flatten)(t =>
      turns(Math.floorMod(t + Turns.seed, turns.size))
    )

  protected def onTurn[T](t: Int)(body: => T): T = {
    turn = Some(t)
    try body
    finally turn = None
  }
}

/** Tests take turns at the variants in the order in which they are registered. */
trait TestsTakeTurns extends AnyFunSuite with TakesTurns {
  private var registered = 0

  override protected def test(name: String, tags: Tag*)(body: => Any)(implicit pos: Position): Unit = {
    val t = registered
    registered += 1
    super.test(name, tags: _*)(onTurn(t)(body))
  }
}

/**
 * Suites that hold the same tests, each under settings of its own, and share them out: of each `places` tests that
 * follow one another a suite runs one, another one with every commit; with `-Dphantoms.matrix.full=true` each runs all.
 */
trait SharesTests extends AnyFunSuite {

  /** Which of the suites this one is, of how many. */
  protected def place: Int
  protected def places: Int

  private var registered = 0

  override protected def test(name: String, tags: Tag*)(body: => Any)(implicit pos: Position): Unit = {
    val mine = Math.floorMod(registered + Turns.seed, places) == place
    registered += 1
    if (mine || Turns.full || tags.contains(EveryTurn)) super.test(name, tags: _*)(body)
  }
}

/** Marks a test that runs with every commit, in each of the suites that share the others out. */
object EveryTurn extends Tag("io.phantoms.spark.oracle.EveryTurn")

/** A long suite: every other test runs, those between them with other commits, whatever is whose turn inside a test. */
trait EverySecondTest extends SharesTests {
  override protected def place: Int = Math.floorMod(Turns.seed + Turns.slower(61), places)
  override protected def places: Int = 2
}
