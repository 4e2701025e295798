package io.phantoms.spark.choose

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class SpaceAllocationSuite extends AnyFunSuite {
  import SpaceAllocation.SupernodeLinear

  private val c1 = 1.0
  private val c2 = 15.0 // c2/c1 of the paper's experiments

  private def allocate(tree: ConfigurationTree, groups: Seq[Double], memory: Double): Vector[Double] =
    SupernodeLinear.allocate(SpaceProblem(tree, groups, tree.isLeaf), memory, c1, c2).toVector

  private def linearCost(tree: ConfigurationTree, groups: Seq[Double], space: Seq[Double]): Double =
    new SmapCost(c1, c2).perTuple(tree, r => CollisionModel.Mu * groups(r) / space(r))

  test("one level: in proportion to the square root of the groups") {
    val space = allocate(ConfigurationTree(Vector(-1, -1, -1)), Seq(100.0, 400.0, 900.0), 6000)
    assert(space.zip(Seq(1000.0, 2000.0, 3000.0)).forall { case (s, e) => math.abs(s - e) < 1e-6 })
  }

  test("two levels: eqs 21 and 22 by hand") {
    // sum of roots 30 + 40 = 70; v' = M / (70 + sqrt(4900 + 2 * 1 * 10000 / (0.354 * 15))).
    val space = allocate(ConfigurationTree(Vector(-1, 0, 0)), Seq(2500.0, 900.0, 1600.0), 10000)
    val scale = 10000 / (70 + math.sqrt(4900 + 20000 / 5.31))
    assert(math.abs(space(1) - 30 * scale) < 1e-6)
    assert(math.abs(space(2) - 40 * scale) < 1e-6)
    assert(math.abs(space(0) - (10000 - 70 * scale)) < 1e-6)
    assert(space(0) > 5000, "the phantom always takes more than half")
  }

  test("two levels: no other division is cheaper while the rate is linear in g/b") {
    val random = new Random(5)
    val tree = ConfigurationTree(Vector(-1, 0, 0, 0))
    for (_ <- 1 to 50) {
      val groups = Seq.fill(4)(100 + 3000 * random.nextDouble())
      val memory = 4000 + 40000 * random.nextDouble()
      val best = allocate(tree, groups, memory)
      val cost = linearCost(tree, groups, best)
      for (from <- 0 until 4; to <- 0 until 4 if from != to) {
        val moved = best.updated(from, best(from) * 0.97).updated(to, best(to) + best(from) * 0.03)
        assert(linearCost(tree, groups, moved) >= cost, s"$groups, $memory: $from to $to")
      }
    }
  }

  test("a phantom that is a query too gets more") {
    val tree = ConfigurationTree(Vector(-1, 0, 0))
    val groups = Vector(2500.0, 900.0, 1600.0)
    val query = SupernodeLinear.allocate(SpaceProblem(tree, groups, _ => true), 10000, c1, c2)
    val phantom = allocate(tree, groups, 10000)
    assert(query(0) > phantom(0))
  }

  test("Fig 13: supernodes unfold level by level") {
    // ABCD(ABC(AB(A B) C) D)
    val tree = ConfigurationTree(Vector(-1, 0, 1, 2, 2, 1, 0))
    val groups = Vector(2837.0, 2117.0, 1846.0, 552.0, 600.0, 700.0, 800.0)
    val memory = 40000.0
    val space = allocate(tree, groups, memory)
    assert(math.abs(space.sum - memory) < 1e-6)
    // The supernodes AB' = 1846 + 552 + 600 and ABC' = 2117 + 2998 + 700 take part as leaves.
    val (abcd, factor) =
      SpaceAllocation.twoLevels(memory, 2, math.sqrt(5815) + math.sqrt(800), external = false, c1, c2)
    assert(math.abs(space(0) - abcd) < 1e-6)
    assert(math.abs(space(6) - factor * math.sqrt(800)) < 1e-6)
    val abcSpace = factor * math.sqrt(5815)
    val (abc, inner) =
      SpaceAllocation.twoLevels(abcSpace, 2, math.sqrt(2998) + math.sqrt(700), external = false, c1, c2)
    assert(math.abs(space(1) - abc) < 1e-6)
    assert(math.abs(space(5) - inner * math.sqrt(700)) < 1e-6)
  }

  test("SL within 5 % of exhaustive allocation on average, 15 % at most") {
    val trees = Seq(
      ConfigurationTree(Vector(-1, 0, 0, 2, 2)), // ABC(A BC(B C))
      ConfigurationTree(Vector(-1, 0, 0, -1)), // AB(A B) C
      ConfigurationTree(Vector(-1, 0, 0, -1, 3, 3).take(5)),
      ConfigurationTree(Vector(-1, 0, 0, 0))
    )
    val groups = Vector(2837.0, 1846.0, 2117.0, 552.0, 1200.0)
    val ratios = for (tree <- trees; memory <- Seq(20000.0, 40000.0, 100000.0)) yield {
      def cost(space: Seq[Double]): Double =
        new SmapCost(c1, c2).perTuple(tree, r => CollisionModel.clustered(groups(r), space(r) / 4, 1))
      val exhaustive = compositions(24, tree.size).map(p => cost(p.map(_ * memory / 24))).min
      cost(allocate(tree, groups, memory)) / exhaustive
    }
    assert(ratios.sum / ratios.size < 1.05, ratios)
    assert(ratios.max < 1.15, ratios)
  }

  private def compositions(units: Int, parts: Int): Iterator[Vector[Int]] =
    if (parts == 1) Iterator(Vector(units))
    else (1 to units - parts + 1).iterator.flatMap(u => compositions(units - u, parts - 1).map(u +: _))
}

class TableSizesSuite extends AnyFunSuite {

  test("tables are powers of two, within the memory, and use it") {
    val random = new Random(3)
    for (i <- 1 to 300) {
      val n = 1 + random.nextInt(12)
      val memory = 100 + random.nextInt(1 << (8 + random.nextInt(16))).toDouble
      val entry = Array.fill(n)(16 + 8 * random.nextInt(8))
      val groups = Array.fill(n)(math.pow(10, 6 * random.nextDouble()))
      val shares = Array.fill(n)(random.nextDouble() + 1e-3)
      val space = shares.map(_ * memory / shares.sum)
      val buckets = TableSizes.round(space, entry(_), groups(_), memory)
      val bytes = buckets.indices.map(r => buckets(r).toDouble * entry(r))
      assert(bytes.sum <= memory, s"case $i")
      assert(buckets.forall(b => b == 0 || (b >= TableSizes.MinBuckets && Integer.bitCount(b) == 1)), s"case $i")
      val growable = buckets.indices.filter(r => buckets(r) > 0 && buckets(r) < TableSizes.ceiling(groups(r)))
      assert(growable.forall(r => bytes.sum + bytes(r) > memory), s"case $i: memory left")
    }
  }

  test("what is left after rounding down goes first to the table furthest below its share") {
    val buckets = TableSizes.round(Array(1000.0, 520.0, 480.0), _ => 1, _ => 1e6, 2000)
    assert(buckets.toSeq === Seq(1024, 512, 256)) // 1000 / 512 first, then 480 / 256 no longer fits beside 512
  }

  test("no table larger than its groups can use, and the rest goes to others") {
    assert(TableSizes.ceiling(1) === 32)
    assert(TableSizes.ceiling(100) === 4096)
    assert(TableSizes.ceiling(1e12) === TableSizes.MaxBuckets)
    val space = Array(800.0, 100.0, 100.0)
    TableSizes.respread(space, r => if (r == 0) 400.0 else 1000.0)
    assert(space.toSeq === Seq(400.0, 300.0, 300.0))
  }
}
