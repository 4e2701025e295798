package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._

/**
 * A value as it is in a row of Spark's. Arrays of a column of a batch do not look for NULL when asked for an element whatever
 * it is, as programs ask them; plain Spark's programs never see one.
 */
final case class AsInRow(child: Expression) extends UnaryExpression {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  override def stateful: Boolean = true

  @transient private lazy val toRow =
    InterpretedUnsafeProjection.createProjection(Seq(BoundReference(0, dataType, nullable = true)))
  @transient private lazy val accessor = InternalRow.getAccessor(dataType)

  override def eval(row: InternalRow): Any = accessor(toRow(new GenericInternalRow(Array[Any](child.eval(row)))), 0)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    val before = (ctx.INPUT_ROW, ctx.currentVars)
    ctx.INPUT_ROW = null
    ctx.currentVars = Seq(ExprCode(value.isNull, value.value))
    val row = GenerateUnsafeProjection.createCode(ctx, Seq(BoundReference(0, dataType, nullable)))
    ctx.INPUT_ROW = before._1
    ctx.currentVars = before._2
    val javaType = CodeGenerator.javaType(dataType)
    ev.copy(code =
      code"""${value.code}
            |${row.code}
            |final boolean ${ev.isNull} = ${row.value}.isNullAt(0);
            |final $javaType ${ev.value} = ${ev.isNull} ? ($javaType) null : ${CodeGenerator.getValue(
          row.value,
          dataType,
          "0"
        )};""".stripMargin
    )
  }

  override protected def withNewChildInternal(c: Expression): AsInRow = copy(child = c)
}

object AsInRow {

  /** The value where it is of others, and as it is else. */
  def of(value: Expression): Expression = if (isNested(value.dataType)) AsInRow(value) else value

  private def isNested(t: DataType): Boolean = t match {
    case _: StructType | _: ArrayType | _: MapType => true
    case u: UserDefinedType[_] => isNested(u.sqlType)
    case _ => false
  }
}
