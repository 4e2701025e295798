package io.phantoms.spark.physical

import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeSet,
  ExprId,
  NamedExpression,
  ScalarSubquery
}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, BinaryNode, LogicalPlan, Statistics}

import io.phantoms.spark.verify.{ComparedColumn, FingerprintOf}

/**
 * What is compared, for people.
 *
 * @param subject the operators of the plan that it is about
 * @param configuration by which they were shared, in the notation
 * @param query its text, or the plan
 */
final case class About(subject: String, configuration: String, query: String)

/**
 * The rows of `plain`, and proof that those of `shared` are the same. Both are parts of the plan as long as it is
 * optimised; the second is planned as a subquery that gives its fingerprint: it has jobs of its own, whose failure is not
 * the query's, and Spark runs a shuffle once that several of them read.
 *
 * @param shared puts out as many columns, under ids of their own
 * @param columns how each is compared
 * @param id of the subquery: the same whenever it is planned
 */
final case class Verified(
    plain: LogicalPlan,
    shared: LogicalPlan,
    columns: IndexedSeq[ComparedColumn],
    about: About,
    id: ExprId = NamedExpression.newExprId
) extends BinaryNode {
  override def nodeName: String = "PhantomsVerified"
  override protected def stringArgs: Iterator[Any] = Iterator(about.configuration)
  override def left: LogicalPlan = plain
  override def right: LogicalPlan = shared
  override def output: Seq[Attribute] = plain.output

  /** Everything: columns that nobody reads are compared, too. */
  @transient override lazy val references: AttributeSet = AttributeSet(plain.output ++ shared.output)
  override def maxRows: Option[Long] = plain.maxRows
  override def stats: Statistics = plain.stats

  def fingerprint: ScalarSubquery = {
    val rows = FingerprintOf(shared.output, columns).toAggregateExpression()
    ScalarSubquery(Aggregate(Nil, Seq(Alias(rows, "fingerprint")()), shared), exprId = id)
  }

  override protected def withNewChildrenInternal(newLeft: LogicalPlan, newRight: LogicalPlan): Verified =
    copy(plain = newLeft, shared = newRight)
}
