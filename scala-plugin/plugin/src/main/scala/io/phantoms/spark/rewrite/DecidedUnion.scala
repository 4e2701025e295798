package io.phantoms.spark.rewrite

import io.phantoms.spark.decide.Shared
import io.phantoms.spark.detect.UnionCandidate

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Union}
import org.apache.spark.sql.catalyst.trees.TreePattern

/**
 * Stands for a union of which it is decided what is shared, and not yet what becomes of the inputs: aggregates in these,
 * and in what is left of the union, may have something in common with others of the query. Of copies that the union read
 * it holds the one input that is left.
 *
 * @param candidate with the union's children as they are where nothing shared replaces them
 * @param shared what was decided of its workloads; None: left alone
 */
private[rewrite] final case class DecidedUnion(
    candidate: UnionCandidate,
    shared: IndexedSeq[Option[Shared]],
    children: Seq[LogicalPlan]
) extends LogicalPlan {
  override def output: Seq[Attribute] = candidate.operator.output

  /** Looked at even where nothing below aggregates. */
  override val nodePatterns: Seq[TreePattern.TreePattern] = Seq(TreePattern.AGGREGATE)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[LogicalPlan]): DecidedUnion =
    copy(children = newChildren)

  /** By workload: what it reads, where it is shared. */
  def inputs: IndexedSeq[Option[(Shared, LogicalPlan)]] = {
    val each = children.iterator
    shared.map(_.map(s => (s, each.next())))
  }
}

private[rewrite] object DecidedUnion {

  /**
   * @param input what to look at of an input that is left
   * @param other what to look at of the others
   */
  def of(
      candidate: UnionCandidate,
      shared: IndexedSeq[Option[Shared]],
      input: LogicalPlan => LogicalPlan,
      other: LogicalPlan => LogicalPlan
  ): DecidedUnion = {
    val taken = candidate.empty ++ shared.indices.filter(shared(_).isDefined).flatMap(candidate.parts)
    val union = candidate.operator
    val children = union.children.zipWithIndex.map { case (child, i) => if (taken(i)) child else other(child) }
    val rest = children.zipWithIndex.collect { case (child, i) if !taken(i) => child }
    val left = candidate.copy(operator = union.copy(children = children))
    // Several that are left have one consumer together, as they had.
    val others = if (rest.size > 1) Seq(Union(rest)) else rest
    DecidedUnion(left, shared, shared.flatten.map(s => input(s.workload.base)) ++ others)
  }
}
