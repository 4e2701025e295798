package io.phantoms.spark.physical

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression, ExpressionSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Statistics, UnaryNode}

import io.phantoms.spark.spec.SharedSpec

/**
 * Blocks of partial groups, partitioned: what the map side makes of its input.
 *
 * A node of its own below [[SharedMerge]], so that the row count which adaptive execution sees for a finished shuffle (of
 * blocks) is never taken for a count of result rows.
 *
 * @param inputs keys first, then what the aggregate functions read; over `child` and the values of the steps
 * @param steps what is done with a row before, see [[io.phantoms.spark.spec.RowSteps]]
 * @param output reduce partition (int) and block (binary), fresh
 */
final case class SharedExchange(
    inputs: Seq[Expression],
    steps: Seq[Expression],
    spec: SharedSpec,
    output: Seq[Attribute],
    child: LogicalPlan
) extends UnaryNode {
  override def nodeName: String = "PhantomsExchange"
  override protected def stringArgs: Iterator[Any] = Iterator(spec.notation, inputs, steps)
  override def producedAttributes: AttributeSet = AttributeSet(output)
  override protected lazy val validConstraints: ExpressionSet = ExpressionSet()
  override def maxRows: Option[Long] = None
  override protected def withNewChildInternal(newChild: LogicalPlan): SharedExchange = copy(child = newChild)
}

/**
 * Blocks of partial groups for the second tier, partitioned: what tasks between the shuffles make of complete groups of
 * the first.
 *
 * @param spec the relations as these tasks see them
 * @param announced relations that are shipped even when no row came in
 * @param output reduce partition (int) and block (binary), fresh
 * @param child the exchange of the first tier
 */
final case class TierExchange(spec: SharedSpec, announced: Seq[Int], output: Seq[Attribute], child: LogicalPlan)
    extends UnaryNode {
  override def nodeName: String = "PhantomsTierExchange"
  override protected def stringArgs: Iterator[Any] = Iterator(spec.notation)
  override def producedAttributes: AttributeSet = AttributeSet(output)

  /** Everything the child makes: blocks are read whole. */
  @transient override lazy val references: AttributeSet = AttributeSet(child.output)
  override protected lazy val validConstraints: ExpressionSet = ExpressionSet()
  override def maxRows: Option[Long] = None
  override protected def withNewChildInternal(newChild: LogicalPlan): TierExchange = copy(child = newChild)
}

/**
 * The rows of the queries, merged from blocks.
 *
 * @param expectedRows result rows the chooser expects
 * @param output fresh attributes: none of the input's, whose constraints and nullability do not hold here
 */
final case class SharedMerge(spec: SharedSpec, expectedRows: BigInt, output: Seq[Attribute], child: LogicalPlan)
    extends UnaryNode {
  override def nodeName: String = "PhantomsMerge"
  override protected def stringArgs: Iterator[Any] = Iterator(spec.notation, output)
  override def producedAttributes: AttributeSet = AttributeSet(output)

  /** Everything the child makes: blocks are read whole, nothing may be pruned from them. */
  @transient override lazy val references: AttributeSet = AttributeSet(child.output)
  override protected lazy val validConstraints: ExpressionSet = ExpressionSet()
  override def maxRows: Option[Long] = None

  // Not the child's: dense blocks understate the rows that come out of them, and a join would broadcast too much.
  override def stats: Statistics = {
    val width = 8 + output.map(_.dataType.defaultSize).sum
    Statistics(sizeInBytes = (expectedRows * width).max(1), rowCount = Some(expectedRows))
  }
  override protected def withNewChildInternal(newChild: LogicalPlan): SharedMerge = copy(child = newChild)
}
