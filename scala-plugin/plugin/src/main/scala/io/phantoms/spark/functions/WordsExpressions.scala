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
    val rowClass = classOf[GenericInternalRow].getName
    val row = ctx.addMutableState(rowClass, "inputs", v => s"$v = new $rowClass(${inputs.size});")
    val into = words.genCode(ctx)
    val sets = inputs.zipWithIndex.map { case (input, i) =>
      val value = input.genCode(ctx)
      val boxed =
        if (CodeGenerator.isPrimitiveType(input.dataType))
          s"${CodeGenerator.boxedType(input.dataType)}.valueOf(${value.value})"
        else s"${value.value}"
      val set = s"$row.update($i, $boxed);"
      if (value.isNull == FalseLiteral) s"${value.code}\n$set"
      else s"${value.code}\nif (${value.isNull}) { $row.setNullAt($i); } else { $set }"
    }.mkString("\n")
    ev.copy(
      code = code"""${into.code}
                   |$sets
                   |${Words.program(ctx, program)}.update(${into.value}, $row);
                   |final ${CodeGenerator.javaType(dataType)} ${ev.value} = ${into.value};""".stripMargin,
      isNull = FalseLiteral
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
    ev.copy(
      code = code"""${into.code}
                   |${from.code}
                   |${Words.program(ctx, program)}.merge(${into.value}, ${from.value});
                   |final ${CodeGenerator.javaType(dataType)} ${ev.value} = ${into.value};""".stripMargin,
      isNull = FalseLiteral
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
    val (boxed, javaType) = (CodeGenerator.boxedType(dataType), CodeGenerator.javaType(dataType))
    val result = ctx.freshName("result")
    ev.copy(code =
      code"""${of.code}
            |final $boxed $result = ($boxed) ${Words.program(ctx, program)}.eval(${of.value});
            |final boolean ${ev.isNull} = $result == null;
            |final $javaType ${ev.value} = ${ev.isNull} ? ${CodeGenerator.defaultValue(
          dataType
        )} : $result;""".stripMargin
    )
  }

  override protected def withNewChildInternal(c: Expression): WordsResult = copy(child = c)
}

private object Words {

  /** Java text of the function. */
  def program(ctx: CodegenContext, function: ImperativeAggregate): String =
    ctx.addReferenceObj("program", function, classOf[ImperativeAggregate].getName)
}
