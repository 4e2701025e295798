package io.phantoms.spark.windows

import io.phantoms.spark.model.PeriodicWindow

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class SliceManagerSuite extends AnyFunSuite {
  import RandomWindows._

  private def cuts(manager: SliceManager, until: Long): Vector[Long] =
    Iterator.continually(manager.advance()).takeWhile(_.exists(_ <= until)).flatten.toVector

  test("Fig 3 on the fly: the edges of the composition of U(12, 3) and V(6, 3)") {
    val manager = new SliceManager()
    manager.join(1, SlicedWindow.of(12, 3))
    manager.join(2, SlicedWindow.of(6, 3))
    val edges = Vector(6, 9, 12, 15, 18, 24, 27, 30, 33, 36, 42, 45).map(_.toLong)
    assert(cuts(manager, 90) === edges ++ edges.map(_ + 45))
  }

  test("random windows: the cuts are those of the composition") {
    for (seed <- 1 to 300) {
      val rng = new Random(seed)
      val ws = windows(rng, 1 + rng.nextInt(6), 12, 40, phases = seed % 2 == 0)
      val from = rng.nextInt(200) - 100L
      val common = SlicedWindow.common(ws)
      val expected = (from + 1 to from + 300).filter(common.hasEdge).toVector
      assert(cuts(SliceManager.of(ws, from), from + 300) === expected, s"$ws from $from")
      assert(expected === edges(ws, from, from + 300))
    }
  }

  test("queries join and leave: each cut is one of a query that takes part, and none is left out") {
    for (seed <- 1 to 300) {
      val rng = new Random(seed)
      val manager = new SliceManager(rng.nextInt(50).toLong)
      val taking = mutable.LinkedHashMap.empty[Int, PeriodicWindow]
      var nextQuery = 0
      for (_ <- 1 to 120) rng.nextInt(5) match {
        case 0 =>
          val w = window(rng, 10, 30, phases = true)
          // Queries come back under their old number.
          val query = if (rng.nextBoolean()) nextQuery else rng.nextInt(nextQuery + 1)
          if (!taking.contains(query)) {
            manager.join(query, SlicedWindow.paired(w))
            taking(query) = w
            nextQuery = math.max(nextQuery, query + 1)
          }
        case 1 if taking.nonEmpty =>
          val query = taking.keys.toVector(rng.nextInt(taking.size))
          manager.leave(query)
          taking -= query
        case _ =>
          val now = manager.time
          val next = Iterator.iterate(now + 1)(_ + 1).takeWhile(_ => taking.nonEmpty)
            .find(t => taking.values.exists(_.hasEdge(t)))
          assert(manager.peek === next, s"seed $seed at $now: $taking")
          assert(manager.advance() === next)
          assert(manager.time === next.getOrElse(now))
          assert(manager.queries === taking.keySet)
      }
    }
  }

  test("a query that joins later than now, and one that counts time from then as in algorithm 1") {
    val manager = new SliceManager(100)
    manager.join(7, SlicedWindow.paired(PeriodicWindow(18, 15)), at = 104)
    assert(manager.peek === Some(105L)) // 7 * 15
    val counted = new SliceManager(100)
    counted.join(7, SlicedWindow.paired(PeriodicWindow(18, 15, 104 % 15)), at = 104)
    assert(cuts(counted, 134) === Vector(116, 119, 131, 134).map(_.toLong)) // 104 + 12, + 3, ...
    assertThrows[IllegalArgumentException](counted.join(7, SlicedWindow.of(5)))
    assertThrows[IllegalArgumentException](counted.join(8, SlicedWindow.of(5), at = 100))
    assertThrows[IllegalArgumentException](counted.leave(9))
    assert(new SliceManager().advance() === None)
  }

  test("windows whose common period fits no Long") {
    val ws = (1000000000L to 1000000019L).map(s => PeriodicWindow(s + s / 3, s))
    assertThrows[ArithmeticException](SlicedWindow.common(ws))
    val manager = SliceManager.of(ws)
    val found = Vector.fill(60)(manager.advance().get)
    val expected = ws.flatMap(w => (1L to 5L).flatMap(k => Seq(k * w.slide, k * w.slide - w.range % w.slide)))
      .distinct.sorted.take(60)
    assert(found === expected)
  }
}
