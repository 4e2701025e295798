package io.phantoms.spark.search.smap

import org.scalatest.funsuite.AnyFunSuite

class GcSuite extends AnyFunSuite {

  test("adds the phantom of largest benefit first, and stops when none has any") {
    // 1 saves 30; after it 2 saves 10 and 3 costs 5; alone 3 would save 20.
    val costs = Map(
      Set.empty[Int] -> 100.0,
      Set(1) -> 70.0,
      Set(2) -> 95.0,
      Set(3) -> 80.0,
      Set(1, 2) -> 60.0,
      Set(1, 3) -> 75.0,
      Set(2, 3) -> 50.0,
      Set(1, 2, 3) -> 65.0
    )
    assert(Gc.choose(Vector(1, 2, 3), c => costs(c.toSet), 100) === ((Vector(1, 2), 60.0)))
    assert(Gc.choose(Vector.empty, c => costs(c.toSet), 100) === ((Vector.empty, 100.0)))
  }

  test("few evaluations: the same choice where benefits shrink as phantoms are added") {
    val weights = Vector(9.0, 7.0, 12.0, 1.0, 4.0, 3.0, 8.0, 2.0)
    def cost(chosen: Vector[Int]): Double = 100 - math.sqrt(chosen.map(weights).sum) * 10 + 3 * chosen.size
    val all = weights.indices.toVector
    val exact = Gc.choose(all, cost, Int.MaxValue)
    val few = Gc.choose(all, cost, 30)
    assert(exact._1.size > 2)
    assert(few._1.toSet === exact._1.toSet)
    assert(math.abs(few._2 - exact._2) < 1e-9)
  }
}
