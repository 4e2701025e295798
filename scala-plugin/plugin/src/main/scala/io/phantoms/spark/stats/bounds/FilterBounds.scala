package io.phantoms.spark.stats.bounds

import io.phantoms.spark.stats.input.StatisticSource

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** What filters leave of the values of columns, where a column is compared with constants. */
private[bounds] object FilterBounds {

  /** Columns after all conjuncts hold. */
  def narrowed(columns: AttributeMap[ColumnBound], filters: Seq[Expression]): AttributeMap[ColumnBound] =
    filters.foldLeft(columns) { (known, filter) =>
      comparison(filter) match {
        case Some((a, test)) => known.get(a).fold(known)(c => known + (a -> test(c)))
        case None => known
      }
    }

  /**
   * The part of rows that conjuncts let through, told from columns whose range is known: of a range, as much as lies in
   * both if all values are equally frequent; of single values, never less than [[InputSize.UnknownSelectivity]], since
   * people ask for frequent ones. All others count as let through, null checks too: footers say whether there are NULLs.
   */
  def selectivity(columns: AttributeMap[ColumnBound], filters: Seq[Expression]): Double = {
    val (single, ranges) = filters.filterNot(_.isInstanceOf[IsNotNull]).partition(isSingle)
    part(columns, narrowed(columns, ranges)).product *
      part(columns, narrowed(columns, single)).map(math.max(InputSize.UnknownSelectivity, _)).product
  }

  private def part(before: AttributeMap[ColumnBound], after: AttributeMap[ColumnBound]): Seq[Double] =
    after.toSeq.flatMap { case (a, narrow) =>
      before.get(a).filter(wide => wide.range.nonEmpty && wide.most > narrow.most).map(narrow.most / _.most)
    }

  private def isSingle(filter: Expression): Boolean = filter match {
    case _: EqualTo | _: EqualNullSafe | _: In | _: InSet => true
    case _ => false
  }

  private type Test = ColumnBound => ColumnBound

  private def comparison(filter: Expression): Option[(Attribute, Test)] = filter match {
    case IsNotNull(a: Attribute) => Some(a -> notNull)
    case EqualTo(a: Attribute, l: Literal) => Some(a -> oneOf(a, Seq(l)))
    case EqualTo(l: Literal, a: Attribute) => Some(a -> oneOf(a, Seq(l)))
    case EqualNullSafe(a: Attribute, l: Literal) if l.value != null => Some(a -> oneOf(a, Seq(l)))
    case EqualNullSafe(l: Literal, a: Attribute) if l.value != null => Some(a -> oneOf(a, Seq(l)))
    case In(a: Attribute, list) if list.forall(_.isInstanceOf[Literal]) =>
      Some(a -> oneOf(a, list.collect { case l: Literal => l }))
    case InSet(a: Attribute, set) => Some(a -> oneOf(a, set.toSeq.map(Literal(_, a.dataType))))
    case GreaterThanOrEqual(a: Attribute, l: Literal) => Some(a -> from(a, l, 0))
    case GreaterThan(a: Attribute, l: Literal) => Some(a -> from(a, l, 1))
    case LessThanOrEqual(a: Attribute, l: Literal) => Some(a -> to(a, l, 0))
    case LessThan(a: Attribute, l: Literal) => Some(a -> to(a, l, 1))
    case GreaterThanOrEqual(l: Literal, a: Attribute) => Some(a -> to(a, l, 0))
    case GreaterThan(l: Literal, a: Attribute) => Some(a -> to(a, l, 1))
    case LessThanOrEqual(l: Literal, a: Attribute) => Some(a -> from(a, l, 0))
    case LessThan(l: Literal, a: Attribute) => Some(a -> from(a, l, 1))
    case _ => None
  }

  private val notNull: Test = c => c.range.fold(c)(r => within(c, r.copy(nulls = false)))

  private def oneOf(a: Attribute, values: Seq[Literal]): Test = c => {
    val numbers = values.filter(_.value != null).map(number(_, a.dataType))
    val narrow = c.range.filter(_ => numbers.nonEmpty && numbers.forall(_.nonEmpty)).fold(c) { r =>
      within(c, r.copy(math.max(r.min, numbers.flatten.min), math.min(r.max, numbers.flatten.max), nulls = false))
    }
    narrow.atMost(math.max(1.0, values.distinct.size.toDouble), StatisticSource.PlanBound)
  }

  private def from(a: Attribute, l: Literal, beyond: Int): Test = c =>
    both(c, number(l, a.dataType))((r, n) => r.copy(min = math.max(r.min, n + beyond), nulls = false))

  private def to(a: Attribute, l: Literal, beyond: Int): Test = c =>
    both(c, number(l, a.dataType))((r, n) => r.copy(max = math.min(r.max, n - beyond), nulls = false))

  private def both(c: ColumnBound, n: Option[Long])(narrow: (ValueRange, Long) => ValueRange): ColumnBound =
    c.range.zip(n).fold(c) { case (r, value) => within(c, narrow(r, value)) }

  private def within(c: ColumnBound, range: ValueRange): ColumnBound =
    c.copy(range = Some(range)).atMost(math.max(1.0, range.domain), StatisticSource.FooterBound)

  /** A constant as [[ValueRange]] has it; not those at the end of the longs, whose neighbours are none. */
  private def number(l: Literal, of: DataType): Option[Long] = if (l.dataType != of) None
  else
    ((l.value, of) match {
      case (v: Byte, ByteType) => Some(v.toLong)
      case (v: Short, ShortType) => Some(v.toLong)
      case (v: Int, IntegerType | DateType) => Some(v.toLong)
      case (v: Long, LongType) => Some(v)
      case (v: Decimal, d: DecimalType) if v.scale == d.scale && d.precision <= Decimal.MAX_LONG_DIGITS =>
        Some(v.toUnscaledLong)
      case _ => None
    }).filter(n => n > Long.MinValue && n < Long.MaxValue)
}
