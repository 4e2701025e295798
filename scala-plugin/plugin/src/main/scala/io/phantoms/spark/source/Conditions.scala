package io.phantoms.spark.source

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.ip.{InSubnet, IpText, Subnet}
import io.phantoms.spark.source.read.{AddressOneOf, ColumnForm, Condition, RecordColumn}
import io.phantoms.spark.source.read.Condition.Comparison

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Conditions that a reader tests on records, of Spark's. What is not understood to the last case is left to Spark: there is
 * no condition that lets through a little more.
 *
 * @param column how records give a column
 */
private[source] final class Conditions(column: String => Option[RecordColumn]) {

  def of(e: Expression): Option[Condition] = e match {
    case Literal(value, BooleanType) =>
      Some(new Condition.Always(value match {
        case null => Condition.UNKNOWN
        case b => if (b.asInstanceOf[Boolean]) Condition.TRUE else Condition.FALSE
      }))
    case And(left, right) => for (l <- of(left); r <- of(right)) yield new Condition.All(listed(l, r))
    case Or(left, right) => for (l <- of(left); r <- of(right)) yield new Condition.Any(listed(l, r))
    case Not(child) => of(child).map(new Condition.Not(_))
    case IsNull(Column(c)) => Some(new Condition.IsNull(c))
    case IsNotNull(Column(c)) => Some(new Condition.Not(new Condition.IsNull(c)))
    case EqualNullSafe(Column(c), Literal(null, _)) => Some(new Condition.IsNull(c))
    case EqualNullSafe(left, right) => of(EqualTo(left, right)).map(new Condition.Surely(_))
    case EqualTo(l, r) => compared(l, r, Comparison.EQUAL, Comparison.EQUAL)
    case LessThan(l, r) => compared(l, r, Comparison.LESS, Comparison.GREATER)
    case LessThanOrEqual(l, r) => compared(l, r, Comparison.LESS_OR_EQUAL, Comparison.GREATER_OR_EQUAL)
    case GreaterThan(l, r) => compared(l, r, Comparison.GREATER, Comparison.LESS)
    case GreaterThanOrEqual(l, r) => compared(l, r, Comparison.GREATER_OR_EQUAL, Comparison.LESS_OR_EQUAL)
    case In(value, list) if list.forall(_.isInstanceOf[Literal]) =>
      oneOf(value, list.map(_.asInstanceOf[Literal].value))
    case InSet(value, set) => oneOf(value, set.toSeq)
    case s: InSubnet => inSubnet(s)
    case _ => None
  }

  // Conditions ask lists by index for each record; of Scala's own lists that is a walk from the head.
  private def listed(some: Condition*): java.util.List[Condition] = new java.util.ArrayList(some.asJava)

  private object Column {
    def unapply(e: Expression): Option[RecordColumn] = e match {
      case a: Attribute => column(a.name)
      case _ => None
    }
  }

  /** A column whose values are numbers, widened or not. */
  private object Number {
    def unapply(e: Expression): Option[RecordColumn] = e match {
      case Column(c) if isNumber(c) => Some(c)
      case Cast(child @ Column(c), LongType, _, _) if isNumber(c) && child.dataType == IntegerType => Some(c)
      case _ => None
    }
  }

  private def isNumber(c: RecordColumn): Boolean = c.form match {
    case ColumnForm.INT | ColumnForm.LONG | ColumnForm.ADDRESS_INT => true
    case _ => false
  }

  private def compared(l: Expression, r: Expression, how: Comparison, flipped: Comparison): Option[Condition] =
    (l, r) match {
      case (_: Literal, _: Literal) => None
      case (e, Literal(value, _)) => compared(e, value, how)
      case (Literal(value, _), e) => compared(e, value, flipped)
      case _ => None
    }

  private def compared(e: Expression, value: Any, how: Comparison): Option[Condition] = (e, value) match {
    case (_, null) => None
    case (Number(c), number) => whole(number).map(new Condition.Compared(c, how, _))
    case (Column(c), address) if how == Comparison.EQUAL => isAddress(c, address)
    case _ => None
  }

  private def whole(value: Any): Option[Long] = value match {
    case i: Int => Some(i.toLong)
    case l: Long => Some(l)
    case _ => None
  }

  /** An address that equals a constant; a constant that is none equals no address. */
  private def isAddress(c: RecordColumn, constant: Any): Option[Condition] = address(c, constant).map {
    case Some(one) => new Condition.InSubnet(c, one)
    case None => new Condition.Never(c)
  }

  /** The address that a constant is, or that it is none; None where the column or the constant is something else. */
  private def address(c: RecordColumn, constant: Any): Option[Option[Subnet]] = (c.form, constant) match {
    case (ColumnForm.ADDRESS_BINARY, bytes: Array[Byte]) => Some(Option(IpText.of(bytes)).map(one))
    case (ColumnForm.ADDRESS_STRING, text: UTF8String) =>
      val written = Option(IpText.parse(text.getBytes)).map(IpText.of)
      Some(written.filter(_.sameElements(text.getBytes)).map(one))
    case _ => None
  }

  private def one(text: Array[Byte]): Subnet = Subnet.parse(UTF8String.fromBytes(text).toString)

  /** A NULL in the list makes what is found nowhere in it unknown. */
  private def oneOf(value: Expression, list: Seq[Any]): Option[Condition] = {
    val constants = list.filter(_ != null)
    val found = value match {
      case Number(c) =>
        val numbers = constants.flatMap(whole)
        Option.when(numbers.size == constants.size)(new Condition.OneOf(c, numbers.toArray))
      case Column(c) =>
        val each = constants.flatMap(address(c, _))
        Option.when(each.size == constants.size && each.nonEmpty)(
          new AddressOneOf(c, new java.util.ArrayList(each.flatten.asJava))
        )
      case _ => None
    }
    found.map { f =>
      if (constants.size == list.size) f
      else new Condition.Any(listed(f, new Condition.Always(Condition.UNKNOWN)))
    }
  }

  private def inSubnet(s: InSubnet): Option[Condition] = (s.left, s.subnet) match {
    case (Column(c), Some(subnet)) =>
      c.form match {
        case ColumnForm.ADDRESS_BINARY | ColumnForm.ADDRESS_INT | ColumnForm.ADDRESS_STRING =>
          Some(new Condition.InSubnet(c, subnet))
        case _ => None
      }
    case _ => None
  }
}
