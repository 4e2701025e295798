package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.DataType

/** Adds a row to the object of a group. */
final case class ObjectUpdate(state: Expression, inputs: Seq[Expression]) extends Expression {
  override def children: Seq[Expression] = state +: inputs
  override def dataType: DataType = state.dataType
  override def nullable: Boolean = false

  override def eval(row: InternalRow): Any = {
    val into = state.eval(row).asInstanceOf[GroupObject]
    into.update(new GenericInternalRow(inputs.map(_.eval(row)).toArray))
    into
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val into = state.genCode(ctx)
    val (row, fill) = ProgramInputs.row(ctx, inputs)
    ProgramInputs.changed(ev, into, code"$fill", s"${into.value}.update($row)", dataType)
  }

  override protected def withNewChildrenInternal(c: IndexedSeq[Expression]): ObjectUpdate = ObjectUpdate(c.head, c.tail)
}

/** Merges the object of a group into that of another one. */
final case class ObjectMerge(left: Expression, right: Expression) extends BinaryExpression {
  override def dataType: DataType = left.dataType
  override def nullable: Boolean = false

  override def eval(row: InternalRow): Any = {
    val into = left.eval(row).asInstanceOf[GroupObject]
    into.merge(right.eval(row).asInstanceOf[GroupObject])
    into
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val (into, from) = (left.genCode(ctx), right.genCode(ctx))
    ProgramInputs.changed(ev, into, from.code, s"${into.value}.merge(${from.value})", dataType)
  }

  override protected def withNewChildrenInternal(l: Expression, r: Expression): ObjectMerge = copy(l, r)
}

/** The result that the object of a group stands for. */
final case class ObjectResult(child: Expression, dataType: DataType, override val nullable: Boolean)
    extends UnaryExpression {
  override def eval(row: InternalRow): Any = child.eval(row).asInstanceOf[GroupObject].result()

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val of = child.genCode(ctx)
    ProgramInputs.result(ctx, ev, of.code, s"${of.value}.result()", dataType)
  }

  override protected def withNewChildInternal(c: Expression): ObjectResult = copy(child = c)
}
