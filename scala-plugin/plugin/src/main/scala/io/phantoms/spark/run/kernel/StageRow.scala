package io.phantoms.spark.run.kernel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator
import org.apache.spark.sql.types._

/**
 * The row that a stage's code hands to a kernel, column by column: nothing is copied into a buffer and read back.
 *
 * Primitive values lie in `words` as [[io.phantoms.spark.run.generated.StageRowCode]] writes them, others in `objects` as
 * the stage has them. These may change with the stage's next row, as those in a reused row do.
 */
final class StageRow(types: Array[DataType]) extends BaseGenericInternalRow {
  val words: Array[Long] = new Array(types.length)
  val objects: Array[AnyRef] = new Array(types.length)
  val nulls: Array[Boolean] = new Array(types.length)

  /** A row of its own that holds these values for good. */
  def kept: StageRow = {
    val row = new StageRow(types)
    System.arraycopy(words, 0, row.words, 0, words.length)
    System.arraycopy(nulls, 0, row.nulls, 0, nulls.length)
    // What lies beside a NULL is left of no value.
    objects.indices.foreach(i => if (!nulls(i)) row.objects(i) = StageRow.copied(objects(i)))
    row
  }

  override def numFields: Int = types.length
  override def isNullAt(i: Int): Boolean = nulls(i)
  override def getBoolean(i: Int): Boolean = words(i) != 0L
  override def getByte(i: Int): Byte = words(i).toByte
  override def getShort(i: Int): Short = words(i).toShort
  override def getInt(i: Int): Int = words(i).toInt
  override def getLong(i: Int): Long = words(i)
  override def getFloat(i: Int): Float = java.lang.Float.intBitsToFloat(words(i).toInt)
  override def getDouble(i: Int): Double = java.lang.Double.longBitsToDouble(words(i))

  override protected def genericGet(i: Int): Any = if (nulls(i)) null else StageRow.value(this, i, types(i))

  override def setNullAt(i: Int): Unit = StageRow.readOnly()
  override def update(i: Int, value: Any): Unit = StageRow.readOnly()
}

private object StageRow {
  private def value(row: StageRow, i: Int, t: DataType): Any = t match {
    case BooleanType => row.getBoolean(i)
    case ByteType => row.getByte(i)
    case ShortType => row.getShort(i)
    case IntegerType | DateType | _: YearMonthIntervalType => row.getInt(i)
    case FloatType => row.getFloat(i)
    case DoubleType => row.getDouble(i)
    case u: UserDefinedType[_] => value(row, i, u.sqlType)
    case _ if CodeGenerator.isPrimitiveType(t) => row.getLong(i)
    case _ => row.objects(i)
  }

  private def copied(value: AnyRef): AnyRef = value match {
    case bytes: Array[Byte] => bytes.clone()
    case other => InternalRow.copyValue(other).asInstanceOf[AnyRef]
  }

  private def readOnly(): Nothing = throw new UnsupportedOperationException("the stage writes its rows")
}
