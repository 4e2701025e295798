package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{DataType, LongType}

/**
 * The slice that a row falls into, by when that begins, in microseconds: its paired window's (On-the-fly sharing, section
 * 3.2) for windows whose begin and end cut each slide in two, or in one.
 *
 * Spark's own expressions say where the last window begins that the row is in. What else Spark computes of the row's
 * windows is evaluated for its errors: far enough from 1970 a window's begin or end is no number any more.
 *
 * @param time of the row, microseconds; only rows are asked about that have one
 * @param start where the last window that may hold the row begins
 * @param edges begins and ends of other windows
 * @param first how long the first of two slices of a slide is; 0: there is one
 */
private[spark] final case class SliceStart(time: Expression, start: Expression, edges: Seq[Expression], first: Long)
    extends Expression {
  override def children: Seq[Expression] = Seq(time, start) ++ edges
  override def dataType: DataType = LongType
  override def nullable: Boolean = false
  override def prettyName: String = "slice"
  override def sql: String = s"slice(${time.sql})"
  override protected def withNewChildrenInternal(c: IndexedSeq[Expression]): SliceStart =
    copy(time = c(0), start = c(1), edges = c.drop(2))

  override def eval(row: InternalRow): Any = {
    val begins = start.eval(row).asInstanceOf[Long]
    edges.foreach(_.eval(row))
    if (first == 0 || time.eval(row).asInstanceOf[Long] - begins < first) begins else begins + first
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val (begins, others) = (start.genCode(ctx), edges.map(_.genCode(ctx)))
    val evaluated = others.map(_.code).foldLeft(begins.code)(_ + _)
    if (first == 0)
      ev.copy(code = evaluated + code"final long ${ev.value} = ${begins.value};", isNull = FalseLiteral)
    else {
      val at = time.genCode(ctx)
      ev.copy(
        code = evaluated + at.code +
          code"final long ${ev.value} = ${at.value} - ${begins.value} < ${first}L ? ${begins.value} : ${begins.value} + ${first}L;",
        isNull = FalseLiteral
      )
    }
  }
}
