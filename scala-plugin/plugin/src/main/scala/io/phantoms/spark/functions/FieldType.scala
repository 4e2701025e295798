package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator
import org.apache.spark.sql.types._

/**
 * How values of a Spark type lie in the words of a record. Values shorter than a word are zero-extended; what has no
 * fixed width lies in the task's dictionary, the record holds its id.
 *
 * @param bits width in bits: 8, 16, 32, 64, or 128 and 192 for wide decimals in a buffer
 */
sealed abstract class FieldType(val dataType: DataType, val bits: Int) extends Product with Serializable {
  def isDictionary: Boolean = false

  /** Java expression of the bits of a non-null value. */
  def toBits(value: String): String

  /** Java expression of the value of the given bits. */
  def fromBits(bits: String): String
}

object FieldType {
  final case class Fixed(t: DataType, width: Int, to: String, from: String) extends FieldType(t, width) {
    def toBits(value: String): String = to.replace("$", value)
    def fromBits(bits: String): String = from.replace("$", bits)
  }

  /** A decimal of at most 18 digits: its unscaled value. */
  final case class ShortDecimal(t: DecimalType) extends FieldType(t, 64) {
    def toBits(value: String): String = s"$support.unscaled($value, ${t.precision}, ${t.scale})"
    def fromBits(bits: String): String = s"${classOf[Decimal].getName}.apply($bits, ${t.precision}, ${t.scale})"
  }

  /** A decimal of more than 18 digits in an aggregate buffer: two words, moved by [[RecordCode]]. */
  final case class WideDecimal(t: DecimalType) extends FieldType(t, 128) {
    def toBits(value: String): String = throw new IllegalStateException("two words")
    def fromBits(bits: String): String = throw new IllegalStateException("two words")
  }

  /** A running total of decimals, whatever its digits: three words, moved by [[RecordCode]]. */
  final case class Total(t: DecimalType) extends FieldType(t, 192) {
    def toBits(value: String): String = throw new IllegalStateException("three words")
    def fromBits(bits: String): String = throw new IllegalStateException("three words")
  }

  /** The carry of a running total, see [[io.phantoms.spark.functions.Carry]]. Never NULL; shares a word with others. */
  case object CarryField extends FieldType(IntegerType, 32) {
    def toBits(value: String): String = s"($value & 0xFFFFFFFFL)"
    def fromBits(bits: String): String = s"((int) $bits)"
  }

  /** The state of a [[WordsAggregate]]: so many words, zero at first and changed in place. Never NULL. */
  final case class Words(count: Int) extends FieldType(WordsType, 64 * count) {
    def toBits(value: String): String = throw new IllegalStateException("several words")
    def fromBits(bits: String): String = throw new IllegalStateException("several words")
  }

  /** The state of an [[ObjectAggregate]]: the id of a [[GroupObject]] of the task. Never NULL. */
  case object ObjectField extends FieldType(ObjectType(classOf[GroupObject]), 64) {
    def toBits(value: String): String = throw new IllegalStateException("changed in place")
    def fromBits(bits: String): String = s"objects.get($bits)"
  }

  /** The type of what a record's words are handed to expressions as. */
  val WordsType: DataType = ObjectType(classOf[RecordWords])

  private val WordsKey = "phantoms.words"

  /** Marks a buffer field of so many words. */
  def wordsMark(count: Int): Metadata = new MetadataBuilder().putLong(WordsKey, count).build()

  /** Marks of buffer fields that lie in records in a way of their own. */
  val CarryMark: Metadata = new MetadataBuilder().putString("phantoms.field", "carry").build()
  val TotalMark: Metadata = new MetadataBuilder().putString("phantoms.field", "total").build()

  sealed abstract class Dictionary(t: DataType) extends FieldType(t, 32) {
    override def isDictionary: Boolean = true
  }

  final case class StringField(t: DataType) extends Dictionary(t) {
    def toBits(value: String): String = s"(long) $support.intern(dictionary, $value)"
    def fromBits(bits: String): String = s"$support.string(dictionary, $bits)"
  }

  final case class BinaryField(t: DataType) extends Dictionary(t) {
    def toBits(value: String): String = s"(long) $support.intern(dictionary, $value)"
    def fromBits(bits: String): String = s"$support.binary(dictionary, $bits)"
  }

  final case class WideDecimalField(t: DecimalType) extends Dictionary(t) {
    def toBits(value: String): String =
      s"(long) $support.internDecimal(dictionary, $value, ${t.precision}, ${t.scale})"
    def fromBits(bits: String): String = s"$support.decimal(dictionary, $bits, ${t.precision}, ${t.scale})"
  }

  /** Anything else: the bytes of an UnsafeRow of this one field. */
  final case class RowField(t: DataType) extends Dictionary(t) {
    def toBits(value: String): String = s"(long) $support.intern(dictionary, $value)"
    def fromBits(bits: String): String =
      CodeGenerator.getValue(s"$support.row(dictionary, $bits)", t, "0")
  }

  private val support = classOf[KernelSupport].getName

  /** The layout of a grouping key of this type. */
  def ofKey(t: DataType): FieldType = t match {
    case d: DecimalType if d.precision > Decimal.MAX_LONG_DIGITS => WideDecimalField(d)
    case other => of(other).getOrElse(RowField(other))
  }

  /** The layout of a field of an aggregate buffer. */
  def ofBuffer(field: AttributeReference): FieldType = field.dataType match {
    case d: DecimalType if field.metadata == TotalMark => Total(d)
    case IntegerType if field.metadata == CarryMark => CarryField
    case t if t == ObjectField.dataType => ObjectField
    case _: ObjectType => Words(field.metadata.getLong(WordsKey).toInt)
    case d: DecimalType if d.precision > Decimal.MAX_LONG_DIGITS => WideDecimal(d)
    case other => of(other).getOrElse(RowField(other))
  }

  private def of(t: DataType): Option[FieldType] = t match {
    case NullType => Some(Fixed(t, 8, "0L", "null"))
    case BooleanType => Some(Fixed(t, 8, "($ ? 1L : 0L)", "($ != 0L)"))
    case ByteType => Some(Fixed(t, 8, "($ & 0xFFL)", "((byte) $)"))
    case ShortType => Some(Fixed(t, 16, "($ & 0xFFFFL)", "((short) $)"))
    case IntegerType | DateType | _: YearMonthIntervalType => Some(Fixed(t, 32, "($ & 0xFFFFFFFFL)", "((int) $)"))
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType | _: TimeType =>
      Some(Fixed(t, 64, "$", "$"))
    case FloatType =>
      Some(Fixed(t, 32, "(Float.floatToRawIntBits($) & 0xFFFFFFFFL)", "Float.intBitsToFloat((int) $)"))
    case DoubleType => Some(Fixed(t, 64, "Double.doubleToRawLongBits($)", "Double.longBitsToDouble($)"))
    case d: DecimalType => Some(ShortDecimal(d))
    case s: StringType => Some(StringField(s))
    case BinaryType => Some(BinaryField(t))
    case _ => None
  }
}
