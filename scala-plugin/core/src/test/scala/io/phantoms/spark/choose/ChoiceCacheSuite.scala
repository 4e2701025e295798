package io.phantoms.spark.choose

import scala.collection.immutable.BitSet

import org.scalatest.funsuite.AnyFunSuite

class ChoiceCacheSuite extends AnyFunSuite {

  /** Counts how often the search asks for anything beyond queries and single attributes. */
  private final class Counting(rowCount: Double, scale: Double, override val revision: Long = 0) extends Statistics {
    var unions = 0
    override def rows: Double = rowCount
    override def groups(keys: BitSet): Double = {
      if (keys.size > 2) unions += 1
      math.min(rowCount, math.pow(scale, keys.size.toDouble))
    }
    override def flowLength(keys: BitSet): Double = 1.0
  }

  private def problem(statistics: Statistics) = Problem(
    IndexedSeq("a", "b", "c", "d").map(KeyAttribute(_, 32)),
    IndexedSeq(BitSet(0, 1), BitSet(1, 2), BitSet(1, 3), BitSet(2, 3)),
    128,
    statistics,
    Machine(),
    8L << 20,
    8
  )

  test("the same problem is searched once, and answered the same") {
    val cache = new ChoiceCache(4)
    val first = new Counting(1e6, 20)
    val choice = cache.choose(problem(first), "auto", -1)
    assert(first.unions > 0)
    val again = new Counting(1e6, 20)
    assert(cache.choose(problem(again), "auto", -1) == choice)
    assert(again.unions == 0)
  }

  test("other statistics, another algorithm or other savings are other problems") {
    val cache = new ChoiceCache(8)
    cache.choose(problem(new Counting(1e6, 20)), "auto", -1)
    val others = Seq(
      (new Counting(2e6, 20), "auto", -1.0),
      (new Counting(1e6, 30), "auto", -1.0),
      (new Counting(1e6, 20), "gc", -1.0),
      (new Counting(1e6, 20), "auto", 0.5)
    )
    others.foreach { case (s, algorithm, savings) =>
      cache.choose(problem(s), algorithm, savings)
      assert(s.unions > 0, s"$algorithm $savings")
    }
  }

  test("another machine is another problem, whichever of its constants differs") {
    val cache = new ChoiceCache(16)
    cache.choose(problem(new Counting(1e6, 20)), "auto", -1)
    MachineConstants.of(Machine()).foreach { case (name, value) =>
      val statistics = new Counting(1e6, 20)
      val machine = MachineConstants.replaced(Machine(), Seq(name -> 2 * value)).toOption.get
      cache.choose(problem(statistics).copy(machine = machine), "auto", -1)
      assert(statistics.unions > 0, name)
    }
  }

  test("numbers that agree on all queries are others when their revision is") {
    val cache = new ChoiceCache(4)
    cache.choose(problem(new Counting(1e6, 20)), "auto", -1)
    val observed = new Counting(1e6, 20, revision = 1)
    cache.choose(problem(observed), "auto", -1)
    assert(observed.unions > 0)
    val again = new Counting(1e6, 20, revision = 1)
    cache.choose(problem(again), "auto", -1)
    assert(again.unions == 0)
  }

  test("the least recently used choice is forgotten first") {
    val cache = new ChoiceCache(1)
    cache.choose(problem(new Counting(1e6, 20)), "auto", -1)
    cache.choose(problem(new Counting(2e6, 20)), "auto", -1)
    val again = new Counting(1e6, 20)
    cache.choose(problem(again), "auto", -1)
    assert(again.unions > 0)
  }
}
