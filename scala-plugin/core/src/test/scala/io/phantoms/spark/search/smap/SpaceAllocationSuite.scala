package io.phantoms.spark.search.smap

import scala.util.Random

import io.phantoms.spark.cost.{CollisionModel, CollisionRate, ConfigurationTree, SmapCost}
import io.phantoms.spark.search.placement.TableSizes

import org.scalatest.funsuite.AnyFunSuite

class SpaceAllocationSuite extends AnyFunSuite {
  import SpaceAllocation.SupernodeLinear

  private val c1 = 1.0
  private val c2 = 15.0 // c2/c1 of the paper's experiments

  private def allocate(tree: ConfigurationTree, groups: Seq[Double], memory: Double): Vector[Double] =
    SupernodeLinear.allocate(plain(tree, groups), memory, c1, c2).toVector

  private def plain(tree: ConfigurationTree, groups: Int => Double): SpaceProblem =
    SpaceProblem(tree, groups, _ => 1.0, _ => 1.0, tree.isLeaf)

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

  test("two levels: eqs 18, 19 and 20 hold") {
    val groups = Vector(2837.0, 552.0, 1846.0, 2117.0)
    val memory = 40000.0
    val space = allocate(ConfigurationTree(Vector(-1, 0, 0, 0)), groups, memory)
    val mu = 0.354
    val left = (3 * c1 + mu * c2 * (1 to 3).map(i => groups(i) / space(i)).sum) / (memory - space.tail.sum)
    for (i <- 1 to 3) assert(math.abs(left / (mu * c2 * groups(i) / (space(i) * space(i))) - 1) < 1e-9, s"eq 18, $i")
    val nu = math.sqrt(groups(1)) / space(1)
    for (i <- 2 to 3) assert(math.abs(math.sqrt(groups(i)) / space(i) / nu - 1) < 1e-9, s"eq 19, $i")
    val roots = groups.tail.map(math.sqrt).sum
    assert(math.abs(mu * c2 * memory * nu * nu - 2 * mu * c2 * roots * nu - 3 * c1) < 1e-9, "eq 20")
  }

  test("eq 17 is eq 7 with x = mu g / b") {
    // e = mu g0 / b0 (f c1 + mu c2 (g1 / b1 + g2 / b2)) + c1
    val by17 = 0.354 * 2500 / 6000 * (2 + 0.354 * 15 * (900.0 / 1500 + 1600.0 / 2500)) + 1
    val tree = ConfigurationTree(Vector(-1, 0, 0))
    assert(math.abs(linearCost(tree, Vector(2500, 900, 1600), Vector(6000, 1500, 2500)) - by17) < 1e-12)
  }

  test("entries of different width: space in proportion to sqrt(g h), flow lengths to sqrt(g / l_a)") {
    val tree = ConfigurationTree(Vector(-1, -1))
    val problem = SpaceProblem(tree, Vector(900.0, 100.0), Vector(1.0, 4.0), Vector(1.0, 1.0), tree.isLeaf)
    assert(SupernodeLinear.allocate(problem, 500, c1, c2).toSeq === Seq(300.0, 200.0))
    val clustered = problem.copy(flowLength = Vector(9.0, 1.0))
    assert(SupernodeLinear.allocate(clustered, 300, c1, c2).map(math.round).toSeq === Seq(100L, 200L))
  }

  test("SR adds square roots, SL groups: ABC(AB(A B) C)") {
    val tree = ConfigurationTree(Vector(-1, 0, 1, 1, 0))
    val groups = Vector(900.0, 400.0, 100.0, 144.0, 64.0)
    // The supernode AB': sqrt(400 + 100 + 144) or 20 + 10 + 12.
    for ((a, ab) <- Seq(SupernodeLinear -> math.sqrt(644), SpaceAllocation.SupernodeRoot -> 42.0)) {
      val space = a.allocate(plain(tree, groups), 10000, c1, c2)
      val (root, factor) = SpaceAllocation.twoLevels(10000, 2, ab + 8, external = false, c1, c2)
      assert(math.abs(space(0) - root) < 1e-6, a.name)
      assert(math.abs(space(4) - factor * 8) < 1e-6, a.name)
      val (inner, below) = SpaceAllocation.twoLevels(factor * ab, 2, 22, external = false, c1, c2)
      assert(math.abs(space(1) - inner) < 1e-6, a.name)
      assert(math.abs(space(3) - below * 12) < 1e-6, a.name)
    }
  }

  test("PL and PR by hand, whatever the tree and the flow lengths") {
    val tree = ConfigurationTree(Vector(-1, 0, 0))
    val problem = SpaceProblem(tree, Vector(400.0, 100.0, 900.0), _ => 2.0, Vector(7.0, 1.0, 1.0), tree.isLeaf)
    val linear = SpaceAllocation.byName("pl").allocate(problem, 1400, c1, c2)
    assert(linear.map(math.round).toSeq === Seq(400L, 100L, 900L))
    val roots = SpaceAllocation.byName("pr").allocate(problem, 600, c1, c2)
    assert(roots.map(math.round).toSeq === Seq(200L, 100L, 300L))
  }

  test("ES is the least of all divisions, listed one by one") {
    val random = new Random(7)
    for (_ <- 1 to 60) {
      val n = 1 + random.nextInt(5)
      val tree = ConfigurationTree(Vector.tabulate(n)(i => if (i == 0) -1 else random.nextInt(i + 1) - 1))
      val groups = Vector.fill(n)(50 + 3000 * random.nextDouble())
      val inner = random.nextInt(n)
      val problem = SpaceProblem(
        tree,
        groups,
        r => 2.0 + r,
        r => 1.0 + r % 2,
        r => tree.isLeaf(r) || r == inner
      )
      val memory = 5000 + 40000 * random.nextDouble()
      val space = new ExhaustiveSpace(16).allocate(problem, memory, c1, c2)
      val least = compositions(16, n).map(p => problem.cost(p.map(_ * memory / 16).toArray, c1, c2)).min
      assert(math.abs(space.sum / memory - 1) < 1e-9)
      assert(math.abs(problem.cost(space, c1, c2) / least - 1) < 1e-9, s"$groups")
    }
  }

  test("ES where tables turn over: within 0.1 % of all divisions") {
    val random = new Random(8)
    for (_ <- 1 to 60) {
      val n = 2 + random.nextInt(4)
      val tree = ConfigurationTree(Vector.tabulate(n)(i => if (i == 0) -1 else random.nextInt(i + 1) - 1))
      val groups = Vector.fill(n)(50 + 3000 * random.nextDouble())
      val turnover = Vector.fill(n)(math.pow(10, -7 + 3.5 * random.nextDouble()))
      val problem = SpaceProblem(tree, groups, r => 2.0 + r, _ => 1.0, tree.isLeaf, turnover)
      val memory = 5000 + 40000 * random.nextDouble()
      val space = new ExhaustiveSpace(20).allocate(problem, memory, c1, c2)
      val least = compositions(20, n).map(p => problem.cost(p.map(_ * memory / 20).toArray, c1, c2)).min
      assert(problem.cost(space, c1, c2) <= least * 1.001, s"$groups, $turnover")
    }
  }

  test("tractable configurations: within 1 % of ES without phantoms, 2 % with one over all queries") {
    // Section 8.3.1, under exact, precomputed and linear rates.
    val random = new Random(12)
    for (rate <- Seq(CollisionRate.Exact, CollisionRate.Precomputed, CollisionRate.Linear); _ <- 1 to 20) {
      val groups = 2837.0 +: Vector.fill(4)(552 + 1500 * random.nextDouble())
      val memory = 30000 + 70000 * random.nextDouble()
      for ((parents, most) <- Seq(Vector(-1, -1, -1, -1) -> 1.01, Vector(-1, 0, 0, 0, 0) -> 1.02)) {
        val tree = ConfigurationTree(parents)
        val of = groups.takeRight(tree.size)
        val problem = SpaceProblem(tree, of, r => if (tree.isLeaf(r)) 2.0 else 5.0, _ => 1.0, tree.isLeaf, rate = rate)
        def cost(a: SpaceAllocation): Double = problem.cost(a.allocate(problem, memory, c1, c2), c1, c2)
        assert(cost(SupernodeLinear) <= most * cost(new ExhaustiveSpace(100)), s"$parents, $of, $memory")
      }
    }
  }

  test("SL within 5 % of ES on average over random configurations, and better than SR, PL and PR") {
    val random = new Random(11)
    val ratios = for (_ <- 1 to 250) yield {
      val leaves = 3 + random.nextInt(3)
      val tree = randomTree(random, leaves)
      val n = tree.size
      // Every relation has more groups than those it feeds, as a finer grouping has.
      val groups = new Array[Double](n)
      for (r <- n - 1 to 0 by -1) {
        val below = (r + 1 until n).filter(tree.parent(_) == r).map(groups(_))
        groups(r) = if (below.isEmpty) 552 + 1600 * random.nextDouble() else below.max * (1 + 0.5 * random.nextDouble())
      }
      val depth = Array.tabulate(n)(tree.depth)
      val deepest = depth.max
      val problem = SpaceProblem(tree, groups(_), r => 2.0 + deepest - depth(r), _ => 1.0, tree.isLeaf)
      val memory = (2 + random.nextInt(9)) * 10000.0
      def cost(name: String): Double =
        problem.cost(SpaceAllocation.byName(name).allocate(problem, memory, c1, c2), c1, c2)
      val exhaustive = cost("es")
      Seq("sl", "sr", "pl", "pr").map(cost(_) / exhaustive)
    }
    val averages = ratios.transpose.map(r => r.sum / r.size)
    assert(averages.head < 1.05, averages)
    assert(averages.tail.forall(_ > averages.head), averages)
    assert(ratios.forall(_.head > 0.99), "ES is never beaten by more than its steps of 1 %")
  }

  // Siblings joined under phantoms at random, until few roots are left; numbered from the top.
  private def randomTree(random: Random, leaves: Int): ConfigurationTree = {
    final case class Node(children: List[Node])
    var roots = List.fill(leaves)(Node(Nil))
    while (roots.size > 1 + random.nextInt(2)) {
      val (joined, rest) = random.shuffle(roots).splitAt(2 + random.nextInt(2))
      roots = Node(joined) :: rest
    }
    val parents = Vector.newBuilder[Int]
    var next = 0
    def number(node: Node, parent: Int): Unit = {
      val self = next
      next += 1
      parents += parent
      node.children.foreach(number(_, self))
    }
    roots.foreach(number(_, -1))
    ConfigurationTree(parents.result())
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
    val query = SupernodeLinear.allocate(plain(tree, groups).copy(external = _ => true), 10000, c1, c2)
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
