package io.phantoms.spark.run.generated

import io.phantoms.spark.run.kernel.{ColumnArrays, StageRow}

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
 * @param form how the child's rows come
 * @param read all expressions the kernel evaluates on its input
 * @param values what the steps compute, in fields of its own; ordinals follow the columns'
 */
private[generated] final class InputCode(
    ctx: CodegenContext,
    columns: IndexedSeq[(DataType, Boolean)],
    form: InputForm,
    read: Seq[Expression],
    values: IndexedSeq[Expression]
) {

  private val columnar = form == InputForm.Batches
  private val stage = StageRowCode("rowWords", "rowObjects", "rowNulls")

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

  private val used: Seq[Int] = references(read ++ values).filter(_ < columns.size)

  /** Parameter and argument that name the row. */
  val (parameter, argument) = if (columnar) ("int i", "i") else ("", "")

  /** Declares the values' fields, and a method for each that computes it for the row. */
  def valueMethods: String = values.zipWithIndex.map { case (e, v) =>
    val loads = withColumns(Seq(e))
    val code = e.genCode(ctx)
    val nullField = if (e.nullable) s"private boolean yn_$v;" else ""
    val setNull = if (e.nullable) s"yn_$v = ${code.isNull};" else ""
    s"""
       |private ${CodeGenerator.javaType(e.dataType)} y_$v;
       |$nullField
       |private void value_$v($parameter) {
       |  $loads
       |  ${code.code}
       |  y_$v = ${code.value};
       |  $setNull
       |}""".stripMargin
  }.mkString("\n")

  /** Computes a value. */
  def compute(value: Int): String = s"value_$value($argument);"

  private def computed(value: Int): ExprCode = {
    val e = values(value)
    ExprCode(
      if (e.nullable) JavaCode.isNullExpression(s"yn_$value") else FalseLiteral,
      JavaCode.expression(s"y_$value", e.dataType)
    )
  }

  /** Declares the fields. */
  def fields: String = form match {
    case InputForm.Rows => s"private ${classOf[InternalRow].getName} row;"
    case InputForm.Stage =>
      s"private ${classOf[StageRow].getName} row; private long[] ${stage.words}; " +
        s"private Object[] ${stage.objects}; private boolean[] ${stage.nulls};"
    case InputForm.Batches => batchFields
  }

  private def batchFields: String = used.map { c =>
    val (t, nullable) = columns(c)
    val vector = s"private ${classOf[ColumnVector].getName} v_$c;"
    val nulls = if (nullable) s"private boolean n_$c;" else ""
    val arrays = classOf[ColumnArrays].getName
    val values =
      bulk(t).map(b => s"private final $arrays c_$c = new $arrays(); private ${b.javaType}[] a_$c;").getOrElse("")
    s"$vector $nulls $values"
  }.mkString("\n")

  /** Sets the fields from `row`. */
  def loadRow: String =
    if (form == InputForm.Rows) "this.row = row;"
    else
      s"""
         |if (row != this.row) {
         |  this.row = (${classOf[StageRow].getName}) row;
         |  ${stage.words} = this.row.words();
         |  ${stage.objects} = this.row.objects();
         |  ${stage.nulls} = this.row.nulls();
         |}""".stripMargin

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
    val value = form match {
      case InputForm.Rows => CodeGenerator.getValue("row", t, c.toString)
      case InputForm.Stage => stage.read(c, t)
      case InputForm.Batches =>
        bulk(t).map(_ => s"a_$c[i]").getOrElse(CodeGenerator.getValueFromVector(s"v_$c", t, "i"))
    }
    if (!nullable) ExprCode(code"final $javaType $name = $value;", FalseLiteral, JavaCode.variable(name, t))
    else {
      val isNull = ctx.freshName("isNull")
      val condition = form match {
        case InputForm.Rows => s"row.isNullAt($c)"
        case InputForm.Stage => stage.isNull(c)
        case InputForm.Batches => s"n_$c && v_$c.isNullAt(i)"
      }
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
    val vars = Array.fill[ExprCode](columns.size + values.size)(null)
    val (written, made) = references(es).partition(_ < columns.size)
    made.foreach(c => vars(c) = computed(c - columns.size))
    val declared = written.map { c =>
      val v = column(c)
      vars(c) = ExprCode(v.isNull, v.value)
      v.code.toString
    }
    ctx.INPUT_ROW = null
    ctx.currentVars = vars.toSeq
    declared.mkString("\n")
  }
}
