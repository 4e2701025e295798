package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types._

/**
 * What evaluating an expression once takes, in nanoseconds: orders of magnitude of compiled code on values of a few dozen
 * bytes, by kind of expression. Good enough to tell a plus from a JSON path.
 */
object ExpressionCost {
  private val Cheap = 4.0

  /** Evaluating it again costs no more than keeping its value. */
  def isCheap(e: Expression): Boolean = nanos(e) <= Cheap

  def nanos(e: Expression): Double = e match {
    case s: SignatureWords => s.nanos
    case _ => own(e) + e.children.map(nanos).sum
  }

  private def own(e: Expression): Double = e match {
    case _: LeafExpression | _: Alias | _: StaysIf | _: Remembered => 0
    case _: KnownFloatingPointNormalized | _: NormalizeNaNAndZero => 1
    case _: IsNull | _: IsNotNull | _: And | _: Or | _: Not | _: UnaryMinus | _: If | _: Coalesce => 0.5
    case c: BinaryComparison => if (isPrimitive(c.left.dataType)) 0.5 else 10
    case _: Add | _: Subtract | _: Multiply | _: BitwiseAnd | _: BitwiseOr | _: BitwiseXor | _: ShiftLeft |
        _: ShiftRight | _: ShiftRightUnsigned => if (isPrimitive(e.dataType)) 0.5 else 30
    case _: Divide | _: IntegralDivide | _: Remainder | _: Pmod => if (isPrimitive(e.dataType)) 3 else 60
    case c: Cast if isPrimitive(c.dataType) && isPrimitive(c.child.dataType) => 1
    case _: GetStructField | _: UnscaledValue | _: SignatureWord | _: SignatureBit => 2
    case _: RegExpReplace | _: RLike | _: RegExpExtract | _: RegExpExtractAll | _: Like => 400
    case _: GetJsonObject | _: JsonPaths | _: JsonToStructs | _: JsonTuple | _: StructsToJson | _: ParseUrl => 400
    case _: Sha1 | _: Sha2 | _: Md5 => 500
    case _: ToTimestamp | _: DateFormatClass => 300
    case _: UserDefinedExpression => 150
    case _ => 40
  }

  /** Types of which every value has a text. */
  private def isWritten(t: DataType): Boolean = isNumber(t) || t == BooleanType || t == DateType

  /** Decimals of a result that was not cut to what decimals can have: they hold all that comes of their inputs' types. */
  private def isWideEnough(t: DataType): Boolean = t match {
    case d: DecimalType => d.precision < DecimalType.MAX_PRECISION
    case _ => false
  }

  private def isFloating(t: DataType): Boolean = t == DoubleType || t == FloatType

  private def isPrimitive(t: DataType): Boolean = t match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType | DateType | TimestampType |
        TimestampNTZType | NullType => true
    case _: YearMonthIntervalType | _: DayTimeIntervalType | _: TimeType => true
    case _ => false
  }

  private def divides(e: Expression): Boolean = e match {
    case _: Divide | _: IntegralDivide | _: Remainder | _: Pmod => true
    case _ => false
  }

  /** Neither zero nor what takes the smallest number out of its range. */
  private def isDivisor(e: Expression): Boolean = e match {
    case Literal(n: Number, _) => n.doubleValue != 0 && n.doubleValue != -1
    case Literal(d: Decimal, _) => !d.isZero
    case _ => false
  }

  private def isNumeric(t: DataType): Boolean = t.isInstanceOf[NumericType]

  private def isNumber(t: DataType): Boolean = isPrimitive(t) || t.isInstanceOf[DecimalType]

  /** Whether what an aggregate function reads may fail, or a program on what it reads, or its own condition; adding up apart. */
  def canFailOnInput(e: Expression): Boolean = e match {
    case f: AggregateFunction => f.children.exists(canFail) || ObjectAggregate.mayRefuse(f)
    case other => canFail(other)
  }

  /** Whether evaluating it may raise an error. Not known is yes. */
  def canFail(e: Expression): Boolean = e.exists {
    case _: Attribute | _: BoundReference | _: RowValue | _: Literal | _: Alias | _: StaysIf | _: Remembered => false
    case _: IsNotNull | _: IsNull | _: And | _: Or | _: Not | _: BinaryComparison => false
    case _: BitwiseAnd | _: BitwiseOr | _: BitwiseXor | _: BitwiseNot => false
    case _: In | _: InSet | _: StringPredicate | _: Coalesce | _: If | _: CaseWhen | _: IsNaN => false
    case _: KnownFloatingPointNormalized | _: NormalizeNaNAndZero | _: Upper | _: Lower => false
    case _: SignatureWords | _: SignatureWord | _: SignatureBit => false
    case a @ (_: Add | _: Subtract | _: Multiply | _: Abs | _: UnaryMinus) =>
      !isFloating(a.dataType) && !isWideEnough(a.dataType)
    case d: BinaryArithmetic if (isPrimitive(d.dataType) || isWideEnough(d.dataType)) && divides(d) =>
      !isDivisor(d.right)
    case c: Cast if c.dataType == StringType => !isWritten(c.child.dataType)
    // Of times and dates the widest does not hold all of another one.
    case c: Cast => !(c.child.dataType == NullType || (isNumeric(c.dataType) && isNumeric(c.child.dataType) &&
        Cast.canUpCast(c.child.dataType, c.dataType)))
    case _ => true
  }
}
