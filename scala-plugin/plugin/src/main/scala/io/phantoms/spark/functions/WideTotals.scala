package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._

/**
 * One of Spark's sums or averages, over a total that has room to leave the range of its type and to come back.
 *
 * Which values are added in which order differs between Spark's plan and ours: a finer relation may hold `2^63` where no
 * group that was asked for ever does. So running totals are exact here, and only the total of a result is judged, as
 * Spark judges its own: where that is out of range Spark fails (or answers NULL) in whatever order it adds, and where no
 * order of its additions can fail ours does not either.
 */
sealed abstract class WideTotal extends DeclarativeAggregate {

  /** The function that this one stands for. */
  def plain: DeclarativeAggregate

  protected def input: Expression = plain.children.head

  /**
   * Result of a global aggregate in whole-stage code. There Spark holds the total in a variable: an average may be in
   * range though the total would not fit into a row, as long as those of single tasks do.
   */
  def resultOfVariables: Expression = evaluateExpression

  /** Whether the total of a result that is out of range is an error. */
  def mayFail: Boolean

  override def children: Seq[Expression] = plain.children
  override def dataType: DataType = plain.dataType
  override def nullable: Boolean = plain.nullable
  override def prettyName: String = plain.prettyName

  /** NULL until there is a value. */
  protected def total: AttributeReference

  /** What a NULL input leaves as it was. */
  protected def unlessNull(old: Expression, updated: Expression): Expression =
    if (input.nullable) If(IsNull(input), old, updated) else updated

  /** Spark's own result, over our buffers. */
  protected def evaluated(over: (Attribute, Expression)*): Expression = plain.evaluateExpression.transform {
    case a: Attribute => over.collectFirst { case (b, e) if b.exprId == a.exprId => e }.getOrElse(a)
  }
}

object WideTotal {

  /** A function as it is run: over a wide total where its own may leave its range. */
  def apply(function: DeclarativeAggregate): DeclarativeAggregate = function match {
    case s: Sum => s.dataType match {
        case _: DecimalType => WideDecimalSum(s)
        case _: YearMonthIntervalType | _: DayTimeIntervalType => WideSum(s)
        // Without ANSI mode, additions wrap: their order does not matter.
        case LongType if s.evalContext.evalMode != EvalMode.LEGACY => WideSum(s)
        case _ => s
      }
    case a: Average => a.sumDataType match {
        case _: DecimalType => WideDecimalAverage(a)
        case _: YearMonthIntervalType | _: DayTimeIntervalType => WideIntervalAverage(a)
        case _ => a
      }
    case other => other
  }
}

/** Sums of integers and intervals: 64 bits that wrap around, and how often they did. */
sealed abstract class LongTotal extends WideTotal {
  protected def mode: EvalMode.Value

  /** Type of the total where it is in range. */
  protected def totalType: DataType

  override protected lazy val total: AttributeReference = AttributeReference("sum", LongType)()
  protected lazy val carry: AttributeReference =
    AttributeReference("carry", IntegerType, nullable = false, FieldType.CarryMark)()

  override def mayFail: Boolean = mode != EvalMode.TRY

  private def orZero(total: Attribute): Expression = If(IsNull(total), Literal(0L), KnownNotNull(total))

  private def add(left: Expression, right: Expression): Expression = Add(left, right, EvalMode.LEGACY)

  private def value: Expression = {
    val present = if (input.nullable) KnownNotNull(input) else input
    if (input.dataType == LongType) present else WholeNumber(present)
  }

  protected def updates: Seq[Expression] = Seq(
    unlessNull(total, add(orZero(total), value)),
    unlessNull(carry, Carry(carry, Literal(0), orZero(total), value))
  )

  protected def merges: Seq[Expression] = Seq(
    If(IsNull(total.right), total.left, add(orZero(total.left), KnownNotNull(total.right))),
    If(
      IsNull(total.right),
      carry.left,
      Carry(carry.left, carry.right, orZero(total.left), KnownNotNull(total.right))
    )
  )

  /** The total as a value of its type; out of range it is Spark's error, or NULL. */
  protected def inRange: Expression = totalType match {
    case _: YearMonthIntervalType =>
      val fits = And(
        EqualTo(carry, Literal(0)),
        And(
          GreaterThanOrEqual(total, Literal(Int.MinValue.toLong)),
          LessThanOrEqual(total, Literal(Int.MaxValue.toLong))
        )
      )
      If(Or(IsNull(total), fits), OfWholeNumber(total, totalType), outOfRange(Int.MaxValue, 1))
    case _: DayTimeIntervalType =>
      If(EqualTo(carry, Literal(0)), OfWholeNumber(total, totalType), outOfRange(Long.MaxValue, 1L))
    case _ => If(EqualTo(carry, Literal(0)), total, outOfRange(Long.MaxValue, 1L))
  }

  /** An addition that cannot be made: the error is Spark's own. */
  private def outOfRange(largest: Any, one: Any): Expression =
    if (mode == EvalMode.TRY) Literal(null, totalType)
    else Add(Literal(largest, totalType), Literal(one, totalType), mode)
}

final case class WideSum(plain: Sum) extends LongTotal {
  override protected def mode: EvalMode.Value = plain.evalContext.evalMode
  override protected def totalType: DataType = plain.dataType
  override lazy val aggBufferAttributes: Seq[AttributeReference] = Seq(total, carry)
  override lazy val initialValues: Seq[Expression] = Seq(Literal(null, LongType), Literal(0))
  override lazy val updateExpressions: Seq[Expression] = updates
  override lazy val mergeExpressions: Seq[Expression] = merges
  override lazy val evaluateExpression: Expression = inRange
  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): WideSum =
    copy(plain.withNewChildren(children).asInstanceOf[Sum])
}

final case class WideIntervalAverage(plain: Average) extends LongTotal {
  override protected def mode: EvalMode.Value = plain.evalMode
  override protected def totalType: DataType = plain.sumDataType
  private def count = plain.count
  override lazy val aggBufferAttributes: Seq[AttributeReference] = Seq(total, carry, count)
  override lazy val initialValues: Seq[Expression] = Seq(Literal(null, LongType), Literal(0), Literal(0L))
  override lazy val updateExpressions: Seq[Expression] =
    updates :+ unlessNull(count, Add(count, Literal(1L), EvalMode.LEGACY))
  override lazy val mergeExpressions: Seq[Expression] = merges :+ Add(count.left, count.right, EvalMode.LEGACY)
  override lazy val evaluateExpression: Expression = evaluated(plain.sum -> inRange)
  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): WideIntervalAverage =
    copy(plain.withNewChildren(children).asInstanceOf[Average])
}

/** Sums of decimals: 192 bits, enough for more values of 38 digits than there can be rows. */
sealed abstract class DecimalTotal extends WideTotal {
  protected def totalType: DecimalType

  override protected lazy val total: AttributeReference =
    AttributeReference("sum", totalType, nullable = true, FieldType.TotalMark)()

  private def add(left: Expression, right: Expression): Expression = DecimalAddNoOverflowCheck(left, right, totalType)

  protected def update: Expression = {
    val value = (if (input.nullable) KnownNotNull(input) else input).cast(totalType)
    unlessNull(total, If(IsNull(total), value, add(KnownNotNull(total), value)))
  }

  protected def merge: Expression = If(
    IsNull(total.right),
    total.left,
    If(IsNull(total.left), total.right, add(KnownNotNull(total.left), KnownNotNull(total.right)))
  )

  /** The total as it comes out of a row: NULL where it has too many digits. */
  protected def inRow: Expression =
    if (totalType.precision <= Decimal.MAX_LONG_DIGITS) total
    else CheckOverflow(total, totalType, nullOnOverflow = true)
}

final case class WideDecimalSum(plain: Sum) extends DecimalTotal {
  override protected def totalType: DecimalType = plain.dataType.asInstanceOf[DecimalType]
  override def mayFail: Boolean = plain.evalContext.evalMode == EvalMode.ANSI
  override lazy val aggBufferAttributes: Seq[AttributeReference] = Seq(total)
  override lazy val initialValues: Seq[Expression] = Seq(Literal(null, totalType))
  override lazy val updateExpressions: Seq[Expression] = Seq(update)
  override lazy val mergeExpressions: Seq[Expression] = Seq(merge)
  // The buffers of Spark's: the sum, and whether there was no value yet.
  override lazy val evaluateExpression: Expression =
    evaluated(plain.aggBufferAttributes.head -> inRow, plain.aggBufferAttributes(1) -> IsNull(total))
  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): WideDecimalSum =
    copy(plain.withNewChildren(children).asInstanceOf[Sum])
}

final case class WideDecimalAverage(plain: Average) extends DecimalTotal {
  override protected def totalType: DecimalType = plain.sumDataType.asInstanceOf[DecimalType]
  override def mayFail: Boolean = plain.evalMode == EvalMode.ANSI
  private def count = plain.count
  override lazy val aggBufferAttributes: Seq[AttributeReference] = Seq(total, count)
  override lazy val initialValues: Seq[Expression] = Seq(Literal(null, totalType), Literal(0L))
  override lazy val updateExpressions: Seq[Expression] =
    Seq(update, unlessNull(count, Add(count, Literal(1L), EvalMode.LEGACY)))
  override lazy val mergeExpressions: Seq[Expression] = Seq(merge, Add(count.left, count.right, EvalMode.LEGACY))
  override lazy val evaluateExpression: Expression = evaluated(plain.sum -> inRow)
  override lazy val resultOfVariables: Expression = evaluated(plain.sum -> total)
  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): WideDecimalAverage =
    copy(plain.withNewChildren(children).asInstanceOf[Average])
}
