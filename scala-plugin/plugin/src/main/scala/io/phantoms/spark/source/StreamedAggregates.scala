package io.phantoms.spark.source

import io.phantoms.spark.source.read.{PartialAggregate, RecordColumn}
import io.phantoms.spark.source.read.PartialAggregate.Function

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._

/** Functions whose buffers readers fill: counts, sums, averages, minima and maxima of numbers. */
private[source] object StreamedAggregates {
  import StreamedGrouping.Refusal

  /**
   * A function's buffer.
   *
   * @param parts what readers aggregate, and the column that it is in
   * @param buffers the columns of the buffer, made of these
   */
  final case class Buffer(parts: Seq[(PartialAggregate, Attribute)], buffers: Seq[Expression])

  /** @param over makes an expression one over the columns of the scan */
  def of(f: AggregateFunction, over: Expression => Expression, columns: Columns): Either[Refusal, Buffer] = {
    val buffer = f match {
      case Count(Seq(Literal(value, _))) if value != null => Some(counted(null))
      case Count(Seq(child)) => column(over(child), columns).map(c => counted(c._1))
      case s: Sum => number(s.child, over, columns).map(c => same(Function.SUM, c._1, LongType))
      case a: Average =>
        number(a.child, over, columns).filter(_._2 == IntegerType).map { case (c, _) =>
          val (sum, count) = (part(Function.EXACT_SUM, c, LongType), part(Function.COUNT, c, LongType))
          Buffer(Seq(sum, count), Seq(Coalesce(Seq(Cast(sum._2, DoubleType), Literal(0.0))), count._2))
        }
      case m: Min => ordered(m.child, over, columns).map(c => same(Function.MIN, c._1, c._2))
      case m: Max => ordered(m.child, over, columns).map(c => same(Function.MAX, c._1, c._2))
      case _ => None
    }
    buffer.filter(_.buffers.map(_.dataType) == f.aggBufferAttributes.map(_.dataType))
      .toRight(s"the readers do not know ${f.sql}")
  }

  private def part(f: Function, of: RecordColumn, dataType: DataType): (PartialAggregate, Attribute) = {
    val nullable = f != Function.COUNT
    new PartialAggregate(f, of) -> AttributeReference(f.name.toLowerCase, dataType, nullable)()
  }

  private def counted(column: RecordColumn): Buffer = same(Function.COUNT, column, LongType)

  private def same(f: Function, column: RecordColumn, dataType: DataType): Buffer = {
    val made = part(f, column, dataType)
    Buffer(Seq(made), Seq(made._2))
  }

  private def column(e: Expression, columns: Columns): Option[(RecordColumn, DataType)] = e match {
    case a: Attribute => columns.column(a)
    case _ => None
  }

  private def ordered(e: Expression, over: Expression => Expression, columns: Columns) =
    column(over(e), columns).filter(_._1.form.isNumber)

  /** A column of numbers, widened or not. */
  private def number(e: Expression, over: Expression => Expression, columns: Columns) = {
    val bare = over(e) match {
      case Cast(child, LongType, _, _) if child.dataType == IntegerType => child
      case other => other
    }
    column(bare, columns).filter { case (c, t) => c.form.isNumber && (t == IntegerType || t == LongType) }
  }
}
