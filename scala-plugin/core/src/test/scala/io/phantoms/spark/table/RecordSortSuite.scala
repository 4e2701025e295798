package io.phantoms.spark.table

import scala.util.Random

import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

class RecordSortSuite extends AnyFunSuite {

  /** Records of a mark, two words to sort by, and their ordinal. */
  private def records(count: Int, value: Int => (Long, Long)): Array[Long] = (0 until count).flatMap { i =>
    val (a, b) = value(i)
    Seq(i.toLong * 31, a, b, i.toLong)
  }.toArray

  private def check(of: Array[Long]): Assertion = {
    val before = of.grouped(4).map(_.toVector).toVector
    val expected = before.map(r => (r(1) & 0xff, r(2))).sorted
    // Words beyond the records that are sorted stay.
    val (array, count) = (of ++ Seq(1L, -2L, -3L, 4L), before.size)
    new RecordSort(array, 4, Array(1, 2), Array(0xffL, -1L)).sort(count)
    val after = array.grouped(4).map(_.toVector).toVector
    assert(after.init.map(r => (r(1) & 0xff, r(2))) == expected)
    assert(after.init.sorted(Ordering.by((r: Vector[Long]) => r(3))) == before)
    assert(after.last == Vector(1L, -2L, -3L, 4L))
  }

  test("random records, few values and many") {
    val random = new Random(1)
    for (count <- Seq(0, 1, 2, 3, 12, 13, 14, 100, 1000, 20000); values <- Seq(1, 2, 300, Int.MaxValue)) {
      check(records(count, _ => (random.nextInt(values).toLong, random.nextLong())))
      check(records(count, _ => (random.nextLong(), (random.nextInt(values) - values / 2).toLong)))
    }
  }

  test("sorted, reversed, and what leads quicksort astray") {
    for (count <- Seq(50, 3000)) {
      check(records(count, i => (7L, i.toLong)))
      check(records(count, i => (7L, -i.toLong)))
      check(records(count, i => (i.toLong % 3, 5L)))
      check(records(count, i => (0L, if (i % 2 == 0) i.toLong else count - i.toLong)))
      check(records(count, i => (0L, Integer.reverse(i).toLong)))
    }
  }

  test("words are compared as signed numbers") {
    check(records(40, i => (0L, if (i % 2 == 0) Long.MinValue + i else Long.MaxValue - i)))
  }
}
