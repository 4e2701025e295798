package io.phantoms.spark.search.trees

import scala.collection.immutable.BitSet

/**
 * An aggregate query (A_i, F_i).
 *
 * @param keys grouping attributes
 * @param filter may name attributes that are not grouped by: then no aggregate without them can feed the query
 */
final case class AggregateQuery(keys: BitSet, filter: Filter = Filter.All)

/**
 * One choice of an aggregate tree.
 *
 * @param attributes number of attributes of the stream
 */
final case class TreeProblem(
    attributes: Int,
    queries: IndexedSeq[AggregateQuery],
    statistics: TreeStatistics,
    costs: TreeCosts = TreeCosts()
) {
  require(
    queries.forall(q => (q.keys | q.filter.attributes).forall(_ < attributes)),
    "a query names an unknown attribute"
  )
}

/** How a node computes its tuples from its parent's (aggregate trees, section 4.1, cases 1 to 3). */
sealed trait Step

object Step {

  /** Case 1, equal filters: aggregates, without a check. */
  case object Hash extends Step

  /** Case 2, equal grouping: checks the filter, without aggregating. */
  case object Check extends Step

  /** Case 3, option 1: aggregates what passes the filter. */
  case object CheckThenHash extends Step

  /** Case 3, option 2: aggregates all, and checks the filter on the result. */
  case object HashThenCheck extends Step
}

/**
 * A node of an aggregate tree.
 *
 * @param keys its grouping; None, the patent's T: tuples pass it without being aggregated
 * @param queries the queries (ordinals into [[TreeProblem.queries]]) it answers
 * @param parent position of the node it is computed from, -1 for the stream
 * @param step None for the stream
 * @param cost of computing it from its parent, in nanoseconds: the cost of the edge
 */
final case class TreeNode(
    keys: Option[BitSet],
    filter: Filter,
    queries: Vector[Int],
    parent: Int,
    step: Option[Step],
    cost: Double
)

/**
 * A plan for all queries. The first node is the stream (T, T); parents precede children, and no two nodes are equal.
 *
 * While tuples stream in, each that passes the filters above it enters the first aggregating node of every path; the
 * other nodes are computed from those at the end of the period.
 */
final case class AggregateTree(nodes: Vector[TreeNode]) {

  /** Sum of the edges' costs, in nanoseconds per period. */
  val cost: Double = nodes.iterator.map(_.cost).sum

  def children(i: Int): Vector[Int] = nodes.indices.filter(nodes(_).parent == i).toVector

  /** Nodes that answer no query, the stream aside. */
  def intermediate: Vector[TreeNode] = nodes.drop(1).filter(_.queries.isEmpty)
}

object AggregateTree {

  /** No sharing: the stream computes every query, each by the cheaper order of filter and hashing. */
  def naive(problem: TreeProblem): AggregateTree = naive(new AggregateSpace(problem))

  private[spark] def naive(space: AggregateSpace): AggregateTree = space.tree(space.queries.map(_ -> space.root).toMap)
}
