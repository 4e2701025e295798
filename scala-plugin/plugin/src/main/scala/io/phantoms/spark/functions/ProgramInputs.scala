package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.DataType

/** Java text that hands values to a program of Spark's, and takes its result. */
private[functions] object ProgramInputs {

  /** A row of the inputs, used again for every row, and what fills it. */
  def row(ctx: CodegenContext, inputs: Seq[Expression]): (String, String) = {
    val rowClass = classOf[GenericInternalRow].getName
    val row = ctx.addMutableState(rowClass, "inputs", v => s"$v = new $rowClass(${inputs.size});")
    val sets = inputs.zipWithIndex.map { case (input, i) =>
      val value = input.genCode(ctx)
      val boxed =
        if (CodeGenerator.isPrimitiveType(input.dataType))
          s"${CodeGenerator.boxedType(input.dataType)}.valueOf(${value.value})"
        else s"${value.value}"
      val set = s"$row.update($i, $boxed);"
      if (value.isNull == FalseLiteral) s"${value.code}\n$set"
      else s"${value.code}\nif (${value.isNull}) { $row.setNullAt($i); } else { $set }"
    }
    (row, sets.mkString("\n"))
  }

  /** A state that a call changes in place: it is the value then. */
  def changed(ev: ExprCode, state: ExprCode, before: Block, call: String, dataType: DataType): ExprCode = ev.copy(
    code = code"""${state.code}
                 |$before
                 |$call;
                 |final ${CodeGenerator.javaType(dataType)} ${ev.value} = ${state.value};""".stripMargin,
    isNull = FalseLiteral
  )

  /** The value of a result that comes as an object. */
  def result(ctx: CodegenContext, ev: ExprCode, before: Block, call: String, dataType: DataType): ExprCode = {
    val (boxed, javaType) = (CodeGenerator.boxedType(dataType), CodeGenerator.javaType(dataType))
    val result = ctx.freshName("result")
    ev.copy(code =
      code"""$before
            |final $boxed $result = ($boxed) $call;
            |final boolean ${ev.isNull} = $result == null;
            |final $javaType ${ev.value} = ${ev.isNull} ? ${CodeGenerator.defaultValue(dataType)} : $result;"""
        .stripMargin
    )
  }
}
