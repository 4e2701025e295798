package io.phantoms.spark.keep

import org.scalatest.funsuite.AnyFunSuite

class KeptSuite extends AnyFunSuite {
  private val Entry = Kept.EntryBytes

  test("what was not used for the longest time goes first, until the rest fits") {
    val kept = new Kept[Int, String](3 * (10 + Entry), (_, v) => v.length.toLong)
    (1 to 3).foreach(kept.put(_, "x" * 10))
    assert(kept.held == kept.bound)
    assert(kept.get(1).nonEmpty)
    kept.put(4, "y" * 10)
    assert((1 to 4).filter(kept.get(_).nonEmpty) == Seq(1, 3, 4))
    // Takes the room of two.
    kept.put(5, "z" * (20 + Entry.toInt))
    assert((1 to 5).filter(kept.get(_).nonEmpty) == Seq(4, 5))
    assert(kept.held == kept.bound && kept.size == 2)
  }

  test("a value that takes another's place is weighed anew") {
    val kept = new Kept[String, Array[Byte]](1000, (k, v) => k.length.toLong + v.length)
    kept.put("a", new Array(500))
    kept.put("a", new Array(100))
    assert(kept.held == 1 + 100 + Entry && kept.size == 1)
    assert(kept.remove("a").map(_.length).contains(100))
    assert(kept.held == 0 && kept.remove("a").isEmpty)
  }

  test("what alone is more than the bound is not kept, nor what it was to replace") {
    val kept = new Kept[Int, Array[Byte]](1000, (_, v) => v.length.toLong)
    kept.put(1, new Array(100))
    kept.put(2, new Array(100))
    kept.put(1, new Array(1001))
    assert(kept.get(1).isEmpty && kept.get(2).nonEmpty)
    kept.clear()
    assert(kept.held == 0 && kept.values.isEmpty)
  }
}
