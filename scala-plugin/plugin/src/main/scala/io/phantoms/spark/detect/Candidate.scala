package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project, Union}

/**
 * A logical operator of which at least one part can be computed by sharing.
 *
 * @param operator the operator as it stands in the plan
 * @param workloads each replaces some of the operator's work on its own, the operator being its only consumer; put out
 *   by what `assemble` makes of them
 * @param parts what of the plan each workload computes
 * @param leftOut what other parts of the operator cannot be shared, and why
 */
sealed trait Candidate {
  def operator: LogicalPlan
  def workloads: IndexedSeq[Workload]
  def parts: IndexedSeq[Seq[LogicalPlan]]
  def leftOut: Seq[LeftAlone]

  /**
   * The operator with some workloads computed by other plans.
   *
   * @param replaced one entry per workload: a plan that puts out the output of its consumer (same ids), or None to
   *   leave that part as it was
   * @param others what to make of inputs of the operator that no workload computes
   */
  def assemble(
      replaced: IndexedSeq[Option[LogicalPlan]],
      others: LogicalPlan => LogicalPlan = identity
  ): LogicalPlan
}

/**
 * One Aggregate over the Expand of its grouping sets, or of its windows, or with DISTINCT functions.
 *
 * @param finish what puts out the Aggregate's output, of what the workload's consumer puts out
 */
final case class AggregateCandidate(
    operator: LogicalPlan,
    workload: Workload,
    finish: LogicalPlan => LogicalPlan = identity
) extends Candidate {
  def workloads: IndexedSeq[Workload] = IndexedSeq(workload)
  def parts: IndexedSeq[Seq[LogicalPlan]] = IndexedSeq(Seq(operator))
  def leftOut: Seq[LeftAlone] = Nil
  def assemble(replaced: IndexedSeq[Option[LogicalPlan]], others: LogicalPlan => LogicalPlan): LogicalPlan =
    replaced.head.fold(operator)(finish)
}

/**
 * A union with one or more groups of branches that aggregate one input each.
 *
 * @param children the ordinals of the union's children that each workload computes
 * @param empty ordinals of children that never put out a row
 */
final case class UnionCandidate(
    operator: Union,
    workloads: IndexedSeq[Workload],
    children: IndexedSeq[Set[Int]],
    empty: Set[Int],
    leftOut: Seq[LeftAlone]
) extends Candidate {
  def parts: IndexedSeq[Seq[LogicalPlan]] =
    children.map(_.toSeq.sorted.map(i => UnionCandidate.aggregateIn(operator.children(i))))

  /** Rows are a multiset, so shared parts come first and what is left of the union follows. */
  def assemble(replaced: IndexedSeq[Option[LogicalPlan]], others: LogicalPlan => LogicalPlan): LogicalPlan = {
    val taken = empty ++ replaced.indices.filter(replaced(_).isDefined).flatMap(children)
    val rest = operator.children.zipWithIndex.collect { case (child, i) if !taken(i) => others(child) }
    val shared = replaced.flatten
    if (shared.isEmpty) operator
    else {
      val all = if (shared.size + rest.size == 1) shared.head else Union(shared ++ rest)
      if (all.output.zip(operator.output).forall { case (a, o) => a.exprId == o.exprId }) all
      else {
        // A union takes ids from its first child, which is another one now; the plan above knows the old ids.
        Project(
          all.output.zip(operator.output).map { case (a, o) =>
            Alias(a, o.name)(exprId = o.exprId, qualifier = o.qualifier, explicitMetadata = Some(o.metadata))
          },
          all
        )
      }
    }
  }
}

object UnionCandidate {

  /** What computes a branch, which may project and filter its results. */
  def aggregateIn(branch: LogicalPlan): LogicalPlan = branch.find(_.isInstanceOf[Aggregate]).getOrElse(branch)
}
