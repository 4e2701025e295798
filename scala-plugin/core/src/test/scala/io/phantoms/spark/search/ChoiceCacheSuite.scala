package io.phantoms.spark.search

import scala.collection.immutable.BitSet

import io.phantoms.spark.model.{Choice, KeyAttribute, Machine, MachineConstants, Problem, Query, Statistics}

import org.scalatest.funsuite.AnyFunSuite

class ChoiceCacheSuite extends AnyFunSuite {
  import ChoiceCacheSuite._

  /** Counts how often the search asks for anything beyond queries and single attributes. */
  private final class Counting(
      rowCount: Double,
      scale: Double,
      override val revision: Long = 0,
      override val subject: Option[String] = None
  ) extends Statistics {
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
    IndexedSeq(BitSet(0, 1), BitSet(1, 2), BitSet(1, 3), BitSet(2, 3)).map(Query(_)),
    128,
    statistics,
    Machine(),
    8L << 20,
    8
  )

  /** Of so many choices, each of 1000 bytes and Kept's own 80; a quarter is for configurations in use. */
  private def cache(choices: Int) = new ChoiceCache(choices * 1080L * 4 / 3, _ => 1000)

  test("the same problem is searched once, and answered the same") {
    val choices = cache(4)
    val first = new Counting(1e6, 20)
    val choice = choices.choose(problem(first), "auto", -1)
    assert(first.unions > 0)
    val again = new Counting(1e6, 20)
    assert(choices.choose(problem(again), "auto", -1) == choice)
    assert(again.unions == 0)
  }

  test("other statistics, another algorithm or other savings are other problems") {
    val choices = cache(8)
    choices.choose(problem(new Counting(1e6, 20)), "auto", -1)
    val others = Seq(
      (new Counting(2e6, 20), "auto", -1.0),
      (new Counting(1e6, 30), "auto", -1.0),
      (new Counting(1e6, 20), "gc", -1.0),
      (new Counting(1e6, 20), "auto", 0.5)
    )
    others.foreach { case (s, algorithm, savings) =>
      choices.choose(problem(s), algorithm, savings)
      assert(s.unions > 0, s"$algorithm $savings")
    }
  }

  test("another machine is another problem, whichever of its constants differs") {
    val choices = cache(16)
    choices.choose(problem(new Counting(1e6, 20)), "auto", -1)
    MachineConstants.of(Machine()).foreach { case (name, value) =>
      val statistics = new Counting(1e6, 20)
      val machine = MachineConstants.replaced(Machine(), Seq(name -> 2 * value)).toOption.get
      choices.choose(problem(statistics).copy(machine = machine), "auto", -1)
      assert(statistics.unions > 0, name)
    }
  }

  test("numbers that agree on all queries are others when their revision is") {
    val choices = cache(4)
    choices.choose(problem(new Counting(1e6, 20)), "auto", -1)
    val observed = new Counting(1e6, 20, revision = 1)
    choices.choose(problem(observed), "auto", -1)
    assert(observed.unions > 0)
    val again = new Counting(1e6, 20, revision = 1)
    choices.choose(problem(again), "auto", -1)
    assert(again.unions == 0)
  }

  test("the least recently used choice is forgotten first") {
    val choices = cache(1)
    choices.choose(problem(new Counting(1e6, 20)), "auto", -1)
    choices.choose(problem(new Counting(2e6, 20)), "auto", -1)
    val again = new Counting(1e6, 20)
    choices.choose(problem(again), "auto", -1)
    assert(again.unions > 0)
  }

  /** What is chosen as the numbers of one input grow with each execution, and what would be best each time. */
  private def growing(minGain: Double, subjects: Int => Option[String]): Seq[(Choice, Choice, Problem)] = {
    val choices = cache(64)
    Scales.zipWithIndex.map { case (scale, i) =>
      val now = problem(new Counting(1e6, scale, i.toLong, subjects(i)))
      (choices.choose(now, "auto", -1, minGain), Chooser.choose(now, "auto", -1), now)
    }
  }

  test("an observed workload keeps its configuration until another takes less time by enough") {
    val seen = growing(0.2, _ => Some("an input"))
    assert(seen.head._1 == seen.head._2)
    val steps = seen.zip(seen.tail).map { case ((before, _, _), (chosen, best, now)) =>
      val staying = Chooser.estimate(now, before.configuration.get).elapsed
      if (best.configuration == before.configuration || best.cost <= 0.8 * staying) {
        assert(chosen == best)
        "best"
      } else {
        assert(chosen.configuration == before.configuration)
        assert(chosen.cost == staying && chosen.costWithout == best.costWithout)
        assert(chosen.runnerUp.exists(r => r.cost == best.cost && r.description.startsWith("a new plan ")))
        assert(chosen.margin.get > -0.2)
        if (chosen.margin.get < 0) "kept" else "no better"
      }
    }
    // All three happen.
    assert(steps.contains("kept"))
    val configurations = seen.map(_._1.configuration)
    assert(configurations.distinct.size > 1)
    assert(configurations.distinct.size < seen.map(_._2.configuration).distinct.size)
  }

  test("without a least gain, without observations, and for several inputs the newest best is taken") {
    assert(growing(0.0, _ => Some("an input")).forall { case (chosen, best, _) => chosen == best })
    assert(growing(0.2, _ => None).forall { case (chosen, best, _) => chosen == best })
    assert(growing(0.2, i => Some(s"input $i")).forall { case (chosen, best, _) => chosen == best })
    val choices = cache(64)
    Scales.foreach { scale =>
      val now = problem(new Counting(1e6, scale, 0, Some("an input")))
      assert(choices.choose(now, "auto", -1, 0.2) == Chooser.choose(now, "auto", -1))
    }
  }

  test("what is forgotten makes room, and nothing is left after clear") {
    val choices = cache(8)
    Scales.foreach(scale =>
      choices.choose(problem(new Counting(1e6, scale, 1, Some(s"input $scale"))), "auto", -1, 0.2)
    )
    assert(choices.size == 8 && choices.held <= 8 * 1080L * 4 / 3)
    choices.clear()
    assert(choices.size == 0 && choices.held == 0)
    val again = new Counting(1e6, Scales.last, 1, Some("an input"))
    choices.choose(problem(again), "auto", -1, 0.2)
    assert(again.unions > 0)
  }

  test("what is not worth sharing by the newest numbers is not shared any more") {
    val choices = cache(8)
    val few = problem(new Counting(1e6, 5, 1, Some("an input")))
    val many = problem(new Counting(1e6, 1e6, 2, Some("an input")))
    val savings = Seq(few, many).map(Chooser.choose(_, "auto", -1).savings)
    assert(savings.head > savings.last)
    val between = savings.sum / 2
    assert(choices.choose(few, "auto", between, 0.2).configuration.nonEmpty)
    assert(choices.choose(many, "auto", between, 0.2).configuration.isEmpty)
  }
}

private object ChoiceCacheSuite {
  val Scales: Seq[Double] = (0 to 40).map(i => 4 * math.pow(1.15, i.toDouble))
}
