package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, LeafExpression, UnaryExpression, Unevaluable}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.types.{BooleanType, DataType}

/**
 * The value that a step before has computed for the row at hand.
 *
 * By ordinal and not by attribute, so that copies of one plan compare equal and can share one exchange.
 *
 * @param ordinal among the steps that compute a value
 */
final case class RowValue(ordinal: Int, dataType: DataType, nullable: Boolean) extends LeafExpression with Unevaluable {
  override def toString: String = s"value$ordinal"
}

/** A step that drops the row unless the condition is true. */
final case class StaysIf(child: Expression) extends UnaryExpression {
  override def dataType: DataType = BooleanType

  /** Where Spark folds its condition, it stays a step that drops rows: a constant would be one that computes a value. */
  override def foldable: Boolean = false
  override def eval(row: InternalRow): Any = child.eval(row)
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = child.genCode(ctx)
  override protected def withNewChildInternal(newChild: Expression): StaysIf = StaysIf(newChild)
}
