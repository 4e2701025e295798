package io.phantoms.spark.search.trees

import scala.collection.mutable

import io.phantoms.spark.model.Mask

/**
 * The nodes an aggregate tree of one problem may have, numbered as they are met, and the costs of the edges between
 * them. Node 0 is the stream (T, T).
 */
private[spark] final class AggregateSpace(val problem: TreeProblem) {
  import AggregateSpace._

  private val costs = problem.costs
  private val statistics = problem.statistics
  private val rows = math.max(0.0, statistics.rows)

  private val groupings = new Interned[Mask]
  private val filters = new Interned[Filter]
  private val filterAttributes = mutable.ArrayBuffer.empty[Mask]
  private val selectivities = mutable.ArrayBuffer.empty[Double]
  private val checkCosts = mutable.ArrayBuffer.empty[Double]

  // By node: its grouping (T: 0, others count from 1), its filter, and what follows from them.
  private val groupingOf = mutable.ArrayBuffer.empty[Int]
  private val filterOf = mutable.ArrayBuffer.empty[Int]
  private val hashCosts = mutable.ArrayBuffer.empty[Double]
  private val sizes = mutable.ArrayBuffer.empty[Double]
  private val ids = mutable.LongMap.empty[Int]
  private val edges = mutable.LongMap.empty[Edge]
  private val unions = mutable.LongMap.empty[Int]
  private val contained = mutable.LongMap.empty[Boolean]

  private val coalesce = new FilterUnion(f => selectivities(filterId(f)), costs)
  private val all = filterId(Filter.All)

  val root: Int = node(T, all)

  /** The nodes of the queries, without repetition. */
  val queries: Vector[Int] = problem.queries.map(queryNode).distinct.toVector

  val isQuery: Set[Int] = queries.toSet

  /** Whether no query has a filter. */
  val unfiltered: Boolean = problem.queries.forall(_.filter.isAll)

  /** The node of a tree of this problem. */
  def node(n: TreeNode): Int =
    node(n.keys.fold(T)(k => groupingId(Mask(k, problem.attributes))), filterId(n.filter))

  private def queryNode(q: AggregateQuery): Int = node(groupingId(Mask(q.keys, problem.attributes)), filterId(q.filter))

  private def groupingId(mask: Mask): Int = 1 + groupings.id(mask)

  private def filterId(filter: Filter): Int = {
    val id = filters.id(filter)
    if (id == selectivities.size) {
      filterAttributes += Mask(filter.attributes, problem.attributes)
      selectivities += (if (filter.isAll) 1.0 else math.min(1.0, math.max(0.0, statistics.selectivity(filter))))
      checkCosts += costs.filter(filter)
    }
    id
  }

  private def node(grouping: Int, filter: Int): Int = ids.getOrElseUpdate(
    pair(grouping, filter), {
      groupingOf += grouping
      filterOf += filter
      hashCosts += (if (grouping == T) 0.0 else costs.hash(mask(grouping).size))
      sizes += Double.NaN
      sizes.size - 1
    }
  )

  private def mask(grouping: Int): Mask = groupings(grouping - 1)

  def aggregates(node: Int): Boolean = groupingOf(node) != T
  def keys(node: Int): Option[Mask] = Option.when(aggregates(node))(mask(groupingOf(node)))
  def filter(node: Int): Filter = filters(filterOf(node))
  def hash(node: Int): Double = hashCosts(node)

  /** Result tuples of a node, sz(A, F); for grouping T the tuples that pass its filter. */
  def size(node: Int): Double = {
    if (sizes(node).isNaN) {
      val passing = rows * selectivities(filterOf(node))
      sizes(node) =
        if (!aggregates(node)) passing
        else math.min(passing, statistics.size(mask(groupingOf(node)).toBitSet, filter(node)))
    }
    sizes(node)
  }

  /**
   * Whether `b` can be computed from `a`, another node: grouping and filter of `a` contain those of `b`, and where a
   * filter is yet to be checked its attributes are still there.
   */
  def covers(a: Int, b: Int): Boolean = a != b && {
    val (ga, gb, fa, fb) = (groupingOf(a), groupingOf(b), filterOf(a), filterOf(b))
    (ga == T || (gb != T && (ga == gb || mask(gb).subsetOf(mask(ga))))) &&
    (fa == fb || (filterContains(fa, fb) && (ga == T || filterAttributes(fb).subsetOf(mask(ga)))))
  }

  private def filterContains(a: Int, b: Int): Boolean =
    a == all || contained.getOrElseUpdate(pair(a, b), filters(a).contains(filters(b)))

  /** Cost of computing `b` from `a`, which covers it, in nanoseconds (section 4.1, cases 1 to 3). */
  def cost(a: Int, b: Int): Double =
    if (filterOf(a) == filterOf(b)) size(a) * hash(b) else edge(a, b).cost

  def step(a: Int, b: Int): Step = edge(a, b).step

  private def edge(a: Int, b: Int): Edge = edges.getOrElseUpdate(
    pair(a, b),
    if (filterOf(a) == filterOf(b)) Edge(Step.Hash, size(a) * hash(b))
    else {
      val check = checkCosts(filterOf(b))
      if (groupingOf(a) == groupingOf(b)) Edge(Step.Check, size(a) * check)
      else {
        val passing = node(groupingOf(a), filterOf(b))
        val first = Edge(Step.CheckThenHash, size(a) * check + size(passing) * hash(b))
        // Checked on the result only if the result has what is checked.
        if (!filterAttributes(filterOf(b)).subsetOf(mask(groupingOf(b)))) first
        else {
          val hashed = node(groupingOf(b), filterOf(a))
          val last = Edge(Step.HashThenCheck, size(a) * hash(b) + size(hashed) * check)
          if (last.cost < first.cost) last else first
        }
      }
    }
  )

  /** The naive evaluation of section 2.3: every query checks each tuple, then hashes those that pass. */
  def naive: Double = queries.iterator.map { q =>
    val f = filterOf(q)
    (if (f == all) 0.0 else rows * checkCosts(f)) + rows * selectivities(f) * hash(q)
  }.sum

  /**
   * The union of nodes: the coarsest grouping and the filter that all of them can be computed from. Attributes of their
   * filters are kept where a filter remains to be checked.
   */
  def union(nodes: Seq[Int]): Int =
    if (nodes.size == 2) union(nodes.head, nodes.last) else united(nodes)

  def union(a: Int, b: Int): Int =
    if (a == b) a else unions.getOrElseUpdate(pair(math.min(a, b), math.max(a, b)), united(Seq(a, b)))

  private def united(nodes: Seq[Int]): Int = {
    val fs = nodes.map(filterOf(_)).distinct
    val f = if (fs.size == 1) fs.head else filterId(coalesce(fs.map(filters(_))))
    if (nodes.exists(!aggregates(_))) node(T, f)
    else {
      val kept = fs.filter(_ != f).map(filterAttributes(_))
      node(groupingId((nodes.map(n => mask(groupingOf(n))) ++ kept).reduce(_ | _)), f)
    }
  }

  /** Grouping attributes of the union of two nodes without filters. */
  def unionWidth(a: Int, b: Int): Int = mask(groupingOf(a)).unionSize(mask(groupingOf(b)))

  /** The union of two nodes without filters, if that node has been met. */
  def knownUnion(a: Int, b: Int): Option[Int] =
    groupings.known(mask(groupingOf(a)) | mask(groupingOf(b))).flatMap(g => ids.get(pair(1 + g, all)))

  /** The node with the grouping of one and the filter of the other. */
  def mixed(groupingFrom: Int, filterFrom: Int): Int = node(groupingOf(groupingFrom), filterOf(filterFrom))

  /**
   * The tree in which these nodes are computed from these parents.
   *
   * @param parents by node; the root is not among the keys
   */
  def tree(parents: collection.Map[Int, Int]): AggregateTree = {
    val children = parents.groupMap(_._2)(_._1).view.mapValues(_.toVector.sorted).toMap
    val position = mutable.LinkedHashMap(root -> 0)
    val found = mutable.ArrayBuffer(TreeNode(None, Filter.All, answered(root), -1, None, 0.0))
    def visit(parent: Int): Unit = children.getOrElse(parent, Vector.empty).foreach { n =>
      require(covers(parent, n), "a node is computed from one that does not cover it")
      position(n) = found.size
      found += TreeNode(
        keys(n).map(_.toBitSet),
        filter(n),
        answered(n),
        position(parent),
        Some(step(parent, n)),
        cost(parent, n)
      )
      visit(n)
    }
    visit(root)
    require(found.size == parents.size + 1, "a node that cannot be reached from the stream")
    AggregateTree(found.toVector)
  }

  private lazy val queriesOf: Map[Int, Vector[Int]] =
    problem.queries.indices.toVector.groupBy(i => queryNode(problem.queries(i)))

  private def answered(node: Int): Vector[Int] = queriesOf.getOrElse(node, Vector.empty)
}

private[spark] object AggregateSpace {
  private val T = 0

  private final case class Edge(step: Step, cost: Double)

  private final class Interned[A] {
    private val ids = mutable.HashMap.empty[A, Int]
    private val values = mutable.ArrayBuffer.empty[A]

    def id(value: A): Int = ids.getOrElseUpdate(value, { values += value; values.size - 1 })
    def known(value: A): Option[Int] = ids.get(value)
    def apply(id: Int): A = values(id)
  }

  private def pair(a: Int, b: Int): Long = (a.toLong << 32) | b
}
