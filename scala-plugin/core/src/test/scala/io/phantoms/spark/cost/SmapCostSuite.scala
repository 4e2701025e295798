package io.phantoms.spark.cost

import org.scalatest.funsuite.AnyFunSuite

class SmapCostSuite extends AnyFunSuite {
  private val cost = new SmapCost(c1 = 1, c2 = 10)

  // ABCD(AB BCD(BC BD CD)), the configuration of Fig 3(c).
  private val fig3c = ConfigurationTree(Vector(-1, 0, 0, 2, 2, 2))
  private val x = Vector(0.5, 0.2, 0.25, 0.1, 0.3, 0.4)
  private val m = Vector(100.0, 20.0, 40.0, 10.0, 12.0, 14.0)

  private def near(actual: Double, expected: Double): Unit = {
    assert(math.abs(actual - expected) < 1e-9, s"$actual, by hand $expected")
    ()
  }

  test("Fig 2: eqs 1 and 2") {
    val n = 1000.0
    val (x1, x2, y1) = (0.3, 0.05, 0.4)
    near(cost.intraEpoch(ConfigurationTree(Vector(-1, -1, -1)), _ => x1, n), 3 * n * 1 + 3 * x1 * n * 10)
    near(
      cost.intraEpoch(ConfigurationTree(Vector(-1, 0, 0, 0)), Vector(x2, y1, y1, y1), n),
      n * 1 + 3 * x2 * n * 1 + 3 * y1 * x2 * n * 10
    )
  }

  test("Fig 3(a): two raw leaves beside a phantom") {
    // ABC(AB BC) BD CD: probes 1 + 2 * 0.5 + 1 + 1, evictions 0.5 * (0.2 + 0.4) + 0.1 + 0.3.
    near(cost.perTuple(ConfigurationTree(Vector(-1, 0, 0, -1, -1)), Vector(0.5, 0.2, 0.4, 0.1, 0.3)), 4 + 7)
  }

  test("Fig 3(c): eq 7 on three levels") {
    // Probes 1 + 0.5 + 0.5 + 3 * 0.125; evictions 0.5 * 0.2 + 0.125 * (0.1 + 0.3 + 0.4).
    near(cost.perTuple(fig3c, x), 2.375 + 10 * 0.2)
  }

  test("Fig 3(c): eq 8 on three levels") {
    // AB and BCD receive M_ABCD; BC, BD, CD receive M_BCD and what of M_ABCD collides in BCD: 40 + 100 * 0.25.
    // Out of the leaves: 20 + 100 * 0.2, 10 + 65 * 0.1, 12 + 65 * 0.3, 14 + 65 * 0.4.
    near(cost.endOfEpoch(fig3c, x, m), 100 + 100 + 3 * 65 + 10 * (40 + 16.5 + 31.5 + 40))
  }

  test("eq 8 of a single table is its eviction") {
    near(cost.endOfEpoch(ConfigurationTree(Vector(-1)), _ => 0.7, _ => 50.0), 500)
  }

  test("a query that feeds another pays c2 for its own evictions too") {
    val tree = ConfigurationTree(Vector(-1, 0))
    near(cost.perTuple(tree, Vector(0.5, 0.2), (_: Int) => true), 1 + 0.5 + 10 * (0.5 + 0.1))
    near(cost.endOfEpoch(tree, Vector(0.5, 0.2), Vector(8.0, 4.0), (_: Int) => true), 8 + 10 * (8 + 4 + 8 * 0.2))
  }

  test("Fig 3(c): eq 27 on three levels") {
    // An entry out of BCD: 3 probes, evictions 0.1 + 0.3 + 0.4. Out of ABCD: 2 probes, what collides in AB, and in BCD.
    val bcd = 3 + 10 * 0.8
    val abcd = 2 + 0.2 * 10 + 0.25 * bcd
    val expected = Seq(100 * abcd, 20 * 10.0, 40 * bcd, 100.0, 120.0, 140.0)
    cost.evictionCosts(fig3c, x, m, fig3c.isLeaf).zip(expected).foreach { case (a, e) => near(a, e) }
  }

  test("eq 27 of all relations is eq 8") {
    near(cost.evictionCosts(fig3c, x, m, fig3c.isLeaf).sum, cost.endOfEpoch(fig3c, x, m))
  }

  test("eq 29: ABC(AB(A B) C) with epochs of 2, 3 and 5 in a cycle of 30") {
    val tree = ConfigurationTree(Vector(-1, 0, 1, 1, 0)) // Fig 14(b)
    val y = Vector(0.5, 0.25, 0.1, 0.2, 0.3)
    val size = Vector(50.0, 20.0, 8.0, 6.0, 4.0)
    // Evictions of ABC, AB, A, B, C by counting: 22, 20, 15, 10, 6.
    val n = Vector(22.0, 20.0, 15.0, 10.0, 6.0)
    val ab = 2 + 10 * (0.1 + 0.2)
    val abc = 2 + 0.25 * ab + 0.3 * 10
    val each = 22 * 50 * abc + 20 * 20 * ab + 15 * 8 * 10 + 10 * 6 * 10 + 6 * 4 * 10
    near(cost.perCycle(tree, y, size, tree.isLeaf, 1000, n), 1000 * (1 + 0.5 * abc) + each)
    near(cost.perCycle(tree, y, size, tree.isLeaf, 1000, _ => 0.0), cost.intraEpoch(tree, y, 1000))
  }

  test("shape") {
    assert((0 until 6).map(fig3c.depth) === Seq(1, 2, 2, 3, 3, 3))
    assert((0 until 6).map(fig3c.fanOut) === Seq(2, 0, 3, 0, 0, 0))
    assert((0 until 6).filter(fig3c.isLeaf) === Seq(1, 3, 4, 5))
    assertThrows[IllegalArgumentException](ConfigurationTree(Vector(-1, 2, 0)))
  }
}
