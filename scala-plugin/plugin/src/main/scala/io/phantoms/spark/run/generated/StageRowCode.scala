package io.phantoms.spark.run.generated

import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator
import org.apache.spark.sql.types._

/**
 * Java text that writes a column of a [[io.phantoms.spark.run.kernel.StageRow]] and reads it.
 *
 * @param words names the row's array of primitive values
 * @param objects names its array of others
 * @param nulls names its array of what is NULL
 */
private[spark] final case class StageRowCode(words: String, objects: String, nulls: String) {

  /** @param isNull None: the column has no NULLs */
  def write(c: Int, t: DataType, isNull: Option[String], value: String): String = {
    val written = stored(t) match {
      case _ if !isPrimitive(t) => s"$objects[$c] = $value;"
      case BooleanType => s"$words[$c] = $value ? 1L : 0L;"
      case FloatType => s"$words[$c] = Float.floatToRawIntBits($value);"
      case DoubleType => s"$words[$c] = Double.doubleToRawLongBits($value);"
      case _ => s"$words[$c] = $value;"
    }
    isNull.fold("")(n => s"$nulls[$c] = $n;\n") + written
  }

  def read(c: Int, t: DataType): String = stored(t) match {
    case NullType => "null"
    case _ if !isPrimitive(t) => s"((${CodeGenerator.boxedType(t)}) $objects[$c])"
    case BooleanType => s"($words[$c] != 0L)"
    case FloatType => s"Float.intBitsToFloat((int) $words[$c])"
    case DoubleType => s"Double.longBitsToDouble($words[$c])"
    case _ => s"((${CodeGenerator.javaType(t)}) $words[$c])"
  }

  def isNull(c: Int): String = s"$nulls[$c]"

  private def isPrimitive(t: DataType): Boolean = CodeGenerator.isPrimitiveType(t)

  @scala.annotation.tailrec
  private def stored(t: DataType): DataType = t match {
    case u: UserDefinedType[_] => stored(u.sqlType)
    case other => other
  }
}
