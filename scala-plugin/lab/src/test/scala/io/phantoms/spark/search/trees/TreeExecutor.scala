package io.phantoms.spark.search.trees

import scala.collection.immutable.BitSet
import scala.collection.mutable

/** Carries aggregate trees out on tuples, as section 4.1 says, and counts what it does. */
object TreeExecutor {

  /** Count and sum of the measure (the row number) by group. */
  type Groups = Map[Vector[Long], (Long, Long)]

  /** @param cost of all checks and hash operations, by the problem's costs */
  final case class Outcome(answers: Map[Int, Groups], cost: Double)

  // A tuple of a node: values of its attributes only, and the aggregates.
  private final case class Tuple(values: Map[Int, Long], count: Long, sum: Long)

  def direct(query: AggregateQuery, columns: IndexedSeq[Array[Long]]): Groups =
    grouped(stream(columns).filter(t => query.filter.accepts(t.values)), query.keys).map(entry(query.keys)).toMap

  def run(problem: TreeProblem, tree: AggregateTree, columns: IndexedSeq[Array[Long]]): Outcome = {
    var cost = 0.0
    val results = new Array[Vector[Tuple]](tree.nodes.size)
    results(0) = stream(columns)
    for (i <- 1 until tree.nodes.size) {
      val node = tree.nodes(i)
      def check(tuples: Vector[Tuple]): Vector[Tuple] = {
        cost += tuples.size * problem.costs.filter(node.filter)
        tuples.filter(t => node.filter.accepts(t.values))
      }
      def hash(tuples: Vector[Tuple]): Vector[Tuple] = {
        cost += tuples.size * problem.costs.hash(node.keys.get.size)
        grouped(tuples, node.keys.get)
      }
      val input = results(node.parent)
      results(i) = node.step.get match {
        case Step.Hash => hash(input)
        case Step.Check => check(input)
        case Step.CheckThenHash => hash(check(input))
        case Step.HashThenCheck => check(hash(input))
      }
    }
    val answers = tree.nodes.indices.flatMap { i =>
      tree.nodes(i).queries.map(q => q -> results(i).map(entry(problem.queries(q).keys)).toMap)
    }
    Outcome(answers.toMap, cost)
  }

  private def stream(columns: IndexedSeq[Array[Long]]): Vector[Tuple] =
    columns.head.indices.toVector.map(i => Tuple(columns.indices.map(a => a -> columns(a)(i)).toMap, 1, i.toLong))

  // A key the tuples no longer have is an error.
  private def grouped(tuples: Vector[Tuple], keys: BitSet): Vector[Tuple] = {
    val groups = mutable.LinkedHashMap.empty[Map[Int, Long], (Long, Long)]
    tuples.foreach { t =>
      val group = keys.iterator.map(a => a -> t.values(a)).toMap
      val (count, sum) = groups.getOrElse(group, (0L, 0L))
      groups(group) = (count + t.count, sum + t.sum)
    }
    groups.iterator.map { case (g, (count, sum)) => Tuple(g, count, sum) }.toVector
  }

  private def entry(keys: BitSet)(t: Tuple): (Vector[Long], (Long, Long)) =
    keys.toVector.map(t.values) -> ((t.count, t.sum))
}
