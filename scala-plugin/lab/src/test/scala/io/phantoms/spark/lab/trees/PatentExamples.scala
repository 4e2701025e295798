package io.phantoms.spark.lab.trees

import scala.collection.immutable.BitSet

import io.phantoms.spark.search.trees.{
  AggregateQuery,
  AggregateSpace,
  AggregateTree,
  Filter,
  FilterUnion,
  TreeCosts,
  TreeNode,
  TreeProblem,
  TreeStatistics,
  UniformStatistics
}

/** The examples of the patent's sections 3.1 and 4.1 as problems and trees, for the suite and the reproduction. */
object PatentExamples {
  private val (a, b, c, d) = (0, 1, 2, 3)

  /** Hashing costs in proportion to the attributes, as both examples assume. */
  private val Proportional = TreeCosts(hashPerAttribute = 50, hashFixed = 0, rangeCheck = 5)

  /** A tree written as (grouping, filter) of each node with the position of its parent; node 0 is the stream. */
  def tree(problem: TreeProblem, nodes: (Option[BitSet], Filter, Int)*): AggregateTree = {
    val space = new AggregateSpace(problem)
    val ids = space.root +: nodes.map { case (k, f, _) => space.node(TreeNode(k, f, Vector.empty, 0, None, 0.0)) }
    space.tree(nodes.indices.map(i => ids(i + 1) -> ids(nodes(i)._3)).toMap)
  }

  /** Example 1: {a, b}, {a, c} and {c, d} over a stream of N tuples. */
  object One {
    val N: Double = 1e6
    val B1: BitSet = BitSet(a, b, c, d)
    val B2: BitSet = BitSet(a, b, c)
    val B3: BitSet = BitSet(a, c, d)
    private val asked = Vector(BitSet(a, b), BitSet(a, c), BitSet(c, d))

    /** @param sizes those not named are a hundredth of N for two attributes, N for more */
    def problem(sizes: Map[BitSet, Double]): TreeProblem = TreeProblem(
      4,
      asked.map(AggregateQuery(_)),
      new TreeStatistics {
        override val rows: Double = N
        override def selectivity(filter: Filter): Double = 1.0
        override def size(keys: BitSet, filter: Filter): Double =
          sizes.getOrElse(keys, if (keys.size <= 2) N / 100 else N)
      },
      Proportional
    )

    /** sz(B1) = N, sz(B2) much smaller and below sz(B3). */
    val wideIsLarge: TreeProblem = problem(Map(B1 -> N, B2 -> N / 50, B3 -> N / 25))

    /** N much larger than sz(B1), and that than sz(B2). */
    val wideIsSmall: TreeProblem =
      problem(Map(B1 -> N / 50, B2 -> N / 1000, B3 -> N / 60) ++ asked.map(_ -> N / 5000))

    private def nodes(groupings: (BitSet, Int)*): Seq[(Option[BitSet], Filter, Int)] =
      groupings.map { case (k, p) => (Some(k), Filter.All, p) }

    /** Figs 3(a) to 3(d). */
    val strategies: Seq[Seq[(Option[BitSet], Filter, Int)]] = Seq(
      nodes(asked(0) -> 0, asked(1) -> 0, asked(2) -> 0),
      nodes(B1 -> 0, asked(0) -> 1, asked(1) -> 1, asked(2) -> 1),
      nodes(B2 -> 0, asked(0) -> 1, asked(1) -> 1, asked(2) -> 0),
      nodes(B1 -> 0, B2 -> 1, asked(0) -> 2, asked(1) -> 2, asked(2) -> 1)
    )

    def costs(problem: TreeProblem): Seq[Double] = strategies.map(s => tree(problem, s: _*).cost)
  }

  /** Example 2: three queries with filters on one attribute of four, all uniform over 0 to 1000. */
  object Two {
    val N: Double = 1e11
    val F1: Filter = Filter.range((a, 0, 95))
    val F2: Filter = Filter.range((a, 50, 100))
    val F3: Filter = Filter.range((a, 200, 300))
    val A1: BitSet = BitSet(a, b)
    val A2: BitSet = BitSet(a, c)
    val A3: BitSet = BitSet(a, d)
    val B1: BitSet = BitSet(a, b, c)

    val statistics = new UniformStatistics(N, Vector.fill(4)((0L, 1000L)))

    /** @param costs the example takes C_H(A1) for 10 C_F(F1) */
    def problem(costs: TreeCosts): TreeProblem =
      TreeProblem(4, Vector(AggregateQuery(A1, F1), AggregateQuery(A2, F2), AggregateQuery(A3, F3)), statistics, costs)

    val tenfold: TreeCosts = TreeCosts(hashPerAttribute = 25, hashFixed = 0, rangeCheck = 5)

    private val union = new FilterUnion(statistics.selectivity(_), tenfold)
    val G1: Filter = union(Seq(F1, F2))
    val G2: Filter = union(Seq(G1, F3))

    /** Figs 6(a), 6(b) with 6(c), which are one tree in two orders, and 6(d). */
    val strategies: Seq[Seq[(Option[BitSet], Filter, Int)]] = Seq(
      Seq((Some(A1), F1, 0), (Some(A2), F2, 0), (Some(A3), F3, 0)),
      Seq((None, G1, 0), (Some(A1), F1, 1), (Some(A2), F2, 1), (Some(A3), F3, 0)),
      Seq((None, G2, 0), (Some(B1), G1, 1), (Some(A1), F1, 2), (Some(A2), F2, 2), (Some(A3), F3, 1))
    )
  }
}
