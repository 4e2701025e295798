package io.phantoms.spark.functions

import io.phantoms.spark.windows.{Cut, SliceIndex}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{DataType, LongType}

/** Windows `[start + k slide, start + k slide + range)`, microseconds. */
final case class WindowShape(range: Long, slide: Long, start: Long) {

  /** Times, from 1970, as far as which nothing that Spark computes of such windows can be too large a number. */
  def safe: Long = {
    val reach = BigInt(start).abs + BigInt(range) * 2 + BigInt(slide) * 4
    (BigInt(Long.MaxValue) - reach).max(0).toLong
  }
}

/**
 * The slice of many windows' common sliced window that a row falls into (On-the-fly sharing, section 3.3), by when that
 * begins: each of the windows is made up of such slices.
 *
 * Far from 1970, where Spark's own arithmetic fails or wraps around, its own expressions are asked instead.
 *
 * @param child time of the row, microseconds; rows are only asked about that have one
 * @param windows distinct
 * @param slices the slice of each window, as [[SliceStart]] has it, over a row whose only column is the time
 */
private[spark] final case class ComposedSlice(child: Expression, windows: Seq[WindowShape], slices: Seq[Expression])
    extends UnaryExpression {
  override def dataType: DataType = LongType
  override def nullable: Boolean = false
  override def prettyName: String = "slice"
  override def sql: String = s"slice(${child.sql})"
  override protected def withNewChildInternal(c: Expression): ComposedSlice = copy(child = c)

  private def index = new ComposedSlice.Index(windows, slices)

  override def eval(row: InternalRow): Any = child.eval(row) match {
    // An index is for one thread, and whoever interprets may be several.
    case t: Long => index.begin(t)
    case _ => 0L
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val name = classOf[ComposedSlice.Index].getName
    val made = ctx.addReferenceObj("slices", index, name)
    // One for each instance of the class: it keeps what it found last.
    val own = ctx.addMutableState(name, "sliceIndex", v => s"$v = $made.copy();", forceInline = true)
    val time = child.genCode(ctx)
    val begin = code"final long ${ev.value} = ${time.isNull} ? 0L : $own.begin(${time.value});"
    ev.copy(code = time.code + begin, isNull = FalseLiteral)
  }
}

private[spark] object ComposedSlice {

  /** Keeps what it found last: one for each thread. */
  final class Index(windows: Seq[WindowShape], slices: Seq[Expression]) extends Serializable {
    @transient private lazy val near = new SliceIndex(windows.flatMap(w => Cut.ofWindow(w.range, w.slide, w.start)))
    private val safe = windows.map(_.safe).min

    def copy(): Index = new Index(windows, slices)

    def begin(time: Long): Long =
      if (time <= safe && time >= -safe) near.begin(time)
      else {
        val row = InternalRow(time)
        slices.iterator.map(_.eval(row).asInstanceOf[Long]).max
      }
  }
}
