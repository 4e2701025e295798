package io.phantoms.spark.execute

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnVector

/**
 * Java text that reads a map-side kernel's input. The columns of the current batch, or the current row, are fields, so
 * that every method reaches them; in a batch, `i` names the row.
 *
 * @param columns the child's columns: type and nullability
 * @param columnar whether the child hands over batches
 * @param read all expressions the kernel evaluates on its input
 */
private[execute] final class InputCode(
    ctx: CodegenContext,
    columns: IndexedSeq[(DataType, Boolean)],
    columnar: Boolean,
    read: Seq[Expression]
) {

  /** Columns that expressions read. */
  def references(es: Seq[Expression]): Seq[Int] =
    es.flatMap(_.collect { case b: BoundReference => b.ordinal }).distinct.sorted

  private case class Bulk(javaType: String, method: String)
  private def bulk(t: DataType): Option[Bulk] = t match {
    case ByteType => Some(Bulk("byte", "bytes"))
    case ShortType => Some(Bulk("short", "shorts"))
    case IntegerType | DateType | _: YearMonthIntervalType => Some(Bulk("int", "ints"))
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType => Some(Bulk("long", "longs"))
    case FloatType => Some(Bulk("float", "floats"))
    case DoubleType => Some(Bulk("double", "doubles"))
    case _ => None
  }

  private val used: Seq[Int] = references(read)

  /** Declares the fields. */
  def fields: String =
    if (!columnar) s"private ${classOf[InternalRow].getName} row;"
    else used.map { c =>
      val (t, nullable) = columns(c)
      val vector = s"private ${classOf[ColumnVector].getName} v_$c;"
      val nulls = if (nullable) s"private boolean n_$c;" else ""
      val arrays = classOf[ColumnArrays].getName
      val values =
        bulk(t).map(b => s"private final $arrays c_$c = new $arrays(); private ${b.javaType}[] a_$c;").getOrElse("")
      s"$vector $nulls $values"
    }.mkString("\n")

  /** Declares locals of the same names as the fields of a batch: they need not be read again after a call. */
  def locals: String = used.map { c =>
    val (t, nullable) = columns(c)
    val vector = s"final ${classOf[ColumnVector].getName} v_$c = this.v_$c;"
    val nulls = if (nullable) s"final boolean n_$c = this.n_$c;" else ""
    val values = bulk(t).map(b => s"final ${b.javaType}[] a_$c = this.a_$c;").getOrElse("")
    s"$vector $nulls $values"
  }.mkString("\n")

  /** Sets the fields from `batch` of `n` rows. */
  def loadBatch: String = used.map { c =>
    val (t, nullable) = columns(c)
    val nulls = if (nullable) s"n_$c = v_$c.hasNull();" else ""
    val values = bulk(t).map(b => s"a_$c = c_$c.${b.method}(v_$c, n);").getOrElse("")
    s"v_$c = batch.column($c); $nulls $values"
  }.mkString("\n")

  /** Declares one column's value at row `i`. */
  private def column(c: Int): ExprCode = {
    val (t, nullable) = columns(c)
    val javaType = CodeGenerator.javaType(t)
    val name = ctx.freshName("col")
    val value =
      if (!columnar) CodeGenerator.getValue("row", t, c.toString)
      else bulk(t).map(_ => s"a_$c[i]").getOrElse(CodeGenerator.getValueFromVector(s"v_$c", t, "i"))
    if (!nullable) ExprCode(code"final $javaType $name = $value;", FalseLiteral, JavaCode.variable(name, t))
    else {
      val isNull = ctx.freshName("isNull")
      val condition = if (columnar) s"n_$c && v_$c.isNullAt(i)" else s"row.isNullAt($c)"
      ExprCode(
        code"""final boolean $isNull = $condition;
              |final $javaType $name = $isNull ? ($javaType) ${CodeGenerator.defaultValue(
            t
          )} : ($value);""".stripMargin,
        JavaCode.isNullVariable(isNull),
        JavaCode.variable(name, t)
      )
    }
  }

  /** Declares the columns that expressions read and makes them the current variables. */
  def withColumns(es: Seq[Expression]): String = {
    val vars = Array.fill[ExprCode](columns.size)(null)
    val declared = references(es).map { c =>
      val v = column(c)
      vars(c) = ExprCode(v.isNull, v.value)
      v.code.toString
    }
    ctx.INPUT_ROW = null
    ctx.currentVars = vars.toSeq
    declared.mkString("\n")
  }
}
