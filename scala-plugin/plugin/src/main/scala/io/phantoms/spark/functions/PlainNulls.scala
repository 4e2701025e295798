package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/**
 * Writes the sums of Spark's aggregate functions in a way that compiles to less: `coalesce(coalesce(sum, 0) + x, sum)` as
 * `if(x is null, sum, if(sum is null, 0, sum) + x)`. The generated code of `coalesce` keeps whether it found something in
 * a field of the object and evaluates the addition as if it could be NULL; a test of local variables is all it takes.
 * Values, overflows and their errors are the same: what is added is the same, under the same condition.
 */
private[spark] object PlainNulls {

  /** @param e over bound references */
  def apply(e: Expression): Expression = e.transformUp {
    case Coalesce(Seq(x: BoundReference, default: Literal)) if default.value != null =>
      if (x.nullable) If(IsNull(x), default, x) else x
    case Coalesce(Seq(add @ Add(left, x, _), otherwise)) if total(add) && hasDefault(left) && cheap(x) =>
      if (x.nullable) If(IsNull(x), otherwise, add) else add
  }

  /** Whether the addition of two values is a value, or an error, but never NULL. */
  private def total(add: Add): Boolean = add.evalMode != EvalMode.TRY && (add.dataType match {
    case LongType | DoubleType => true
    case _ => false
  })

  /** Whether an expression is never NULL because of a default, whatever its `nullable` says. */
  private def hasDefault(e: Expression): Boolean = e match {
    case If(IsNull(x), default: Literal, y) => default.value != null && x == y
    case other => !other.nullable
  }

  /** What may be evaluated twice. */
  private def cheap(e: Expression): Boolean = e match {
    case _: BoundReference => true
    case c: Cast => c.child.isInstanceOf[BoundReference] && Cast.canUpCast(c.child.dataType, c.dataType)
    case _ => false
  }
}
