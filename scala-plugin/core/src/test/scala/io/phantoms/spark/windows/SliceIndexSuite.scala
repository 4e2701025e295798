package io.phantoms.spark.windows

import scala.util.Random

import io.phantoms.spark.model.PeriodicWindow
import org.scalatest.funsuite.AnyFunSuite

class SliceIndexSuite extends AnyFunSuite {

  private def index(windows: (Long, Long, Long)*): SliceIndex =
    new SliceIndex(windows.flatMap { case (range, slide, begin) => Cut.ofWindow(range, slide, begin) })

  test("one window: its paired slices") {
    // [0, 18), [12, 30) ...: cut at 0, 6, 12, 18 ...
    val one = index((18, 12, 0))
    assert((-1L to 13L).map(one.begin) == Seq(-6L) ++ Seq.fill(6)(0L) ++ Seq.fill(6)(6L) ++ Seq.fill(2)(12L))
  }

  test("a window as long as its slide has one slice") {
    val one = index((10, 10, 3))
    assert(Seq(-8L, -7L, 2L, 3L, 12L, 13L).map(one.begin) == Seq(-17L, -7L, -7L, 3L, 3L, 13L))
  }

  test("U(12, 3) and V(6, 3) of the paper, and windows that another one's cuts cover") {
    val both = index((12, 3, 0), (6, 3, 0), (60, 30, 0))
    assert((0L until 12L).map(both.begin) == (0L until 12L).map(t => t - t % 3))
    assert(both.unit == 3)
  }

  test("the slice manager's cuts, for times in any order, whatever the grid") {
    val rng = new Random(7)
    for (round <- 0 until 60) {
      val scale = Seq(1L, 1000L, 60L * 1000 * 1000)(round % 3)
      val windows = Seq.fill(1 + rng.nextInt(12)) {
        (scale * (1 + rng.nextInt(40)), scale * (1 + rng.nextInt(30)), scale * rng.nextInt(50) + rng.nextInt(2))
      }
      val manager =
        SliceManager.of(windows.map { case (r, s, b) => PeriodicWindow.startingAt(r, s, b) }, start = -1)
      val cuts = Iterator.continually(manager.advance().get).takeWhile(_ < 200 * scale).toVector
      val fast = index(windows: _*)
      val times = rng.shuffle(Vector.fill(300)(rng.between(cuts.head, 200 * scale)) ++ cuts ++ cuts.map(_ - 1).tail)
      times.foreach(t => assert(fast.begin(t) == cuts.filter(_ <= t).last, s"at $t of $windows"))
    }
  }

  test("before 1970, and far apart") {
    val many = index((7, 3, 1), (10, 4, 2))
    for (t <- Seq(-1000003L, -1L, 0L, 1L << 50, -(1L << 50))) {
      val slow = (0L to 12L).map(t - _).find(c =>
        Seq((7, 3, 1), (10, 4, 2)).exists { case (r, s, b) =>
          Math.floorMod(c - b, s) == 0 || Math.floorMod(c - b - r, s) == 0
        }
      )
      assert(slow.contains(many.begin(t)))
      assert(many.begin(t) == slow.get)
    }
  }
}
