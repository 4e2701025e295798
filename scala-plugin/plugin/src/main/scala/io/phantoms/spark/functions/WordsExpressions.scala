package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.DataType

/**
 * Adds a row to the words of a group, in place.
 *
 * @param program of the function, over a row of its inputs
 */
final case class WordsUpdate(program: ImperativeAggregate, words: Expression, inputs: Seq[Expression])
    extends Expression {
  override def children: Seq[Expression] = words +: inputs
  override def dataType: DataType = words.dataType
  override def nullable: Boolean = false

  override def eval(row: InternalRow): Any = {
    val into = words.eval(row).asInstanceOf[RecordWords]
    program.update(into, new GenericInternalRow(inputs.map(_.eval(row)).toArray))
    into
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val into = words.genCode(ctx)
    val (row, sets) = ProgramInputs.row(ctx, inputs)
    ProgramInputs.changed(
      ev,
      into,
      code"$sets",
      s"${Words.program(ctx, program)}.update(${into.value}, $row)",
      dataType
    )
  }

  override protected def withNewChildrenInternal(c: IndexedSeq[Expression]): WordsUpdate =
    WordsUpdate(program, c.head, c.tail)
}

/** Merges the words of a group into those of another one, in place. */
final case class WordsMerge(program: ImperativeAggregate, left: Expression, right: Expression)
    extends BinaryExpression {
  override def dataType: DataType = left.dataType
  override def nullable: Boolean = false

  override def eval(row: InternalRow): Any = {
    val into = left.eval(row).asInstanceOf[RecordWords]
    program.merge(into, right.eval(row).asInstanceOf[RecordWords])
    into
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val (into, from) = (left.genCode(ctx), right.genCode(ctx))
    ProgramInputs.changed(
      ev,
      into,
      from.code,
      s"${Words.program(ctx, program)}.merge(${into.value}, ${from.value})",
      dataType
    )
  }

  override protected def withNewChildrenInternal(l: Expression, r: Expression): WordsMerge =
    copy(left = l, right = r)
}

/** The result that the words of a group stand for. */
final case class WordsResult(program: ImperativeAggregate, child: Expression) extends UnaryExpression {
  override def dataType: DataType = program.dataType
  override def nullable: Boolean = program.nullable
  override def eval(row: InternalRow): Any = program.eval(child.eval(row).asInstanceOf[RecordWords])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val of = child.genCode(ctx)
    ProgramInputs.result(ctx, ev, of.code, s"${Words.program(ctx, program)}.eval(${of.value})", dataType)
  }

  override protected def withNewChildInternal(c: Expression): WordsResult = copy(child = c)
}

private object Words {

  /** Java text of the function. */
  def program(ctx: CodegenContext, function: ImperativeAggregate): String =
    ctx.addReferenceObj("program", function, classOf[ImperativeAggregate].getName)
}
