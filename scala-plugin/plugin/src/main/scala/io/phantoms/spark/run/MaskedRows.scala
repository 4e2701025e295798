package io.phantoms.spark.run

import io.phantoms.spark.run.kernel.{GroupParts, HftaKernel}
import io.phantoms.spark.spec.MaskedSpec

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.types.DataType

/**
 * The rows of a query whose columns are of parts of its groups: every value is made of the record of its part, and the row
 * is what the query says of these. All values are made, as Spark computes all aggregates: one may have left its range.
 *
 * @param first the kernel's ordinal of the query's values
 * @param rowOnEmptyInput whether there is a row even if there is no group
 */
private[run] final class MaskedRows(
    kernel: HftaKernel,
    first: Int,
    masked: MaskedSpec,
    parts: GroupParts,
    rowOnEmptyInput: Boolean
) extends ResultRows.Rows(kernel) {
  private val projection = UnsafeProjection.create(masked.results)
  private val keyTypes: Array[DataType] = masked.values.head.results.map(_.dataType).toArray
  private val valueOf: Array[Int] = masked.slots.map(_._1).toArray
  private val typeOf: Array[DataType] = valueOf.map(masked.values(_).results.head.dataType)

  /** By slot: the part that it is of; the last one is the whole group. */
  private val partOf: Array[Int] =
    masked.slots.map(_._2.fold(masked.parts.size)(masked.parts.indexOf(_))).toArray
  private val values = new Array[Any](keyTypes.length + valueOf.length)
  private val row = new GenericInternalRow(values)
  private var noGroup = true

  override protected def advance(): Boolean =
    if (parts.advance()) {
      noGroup = false
      if (keyTypes.nonEmpty) {
        val keys = kernel.emit(first, parts.group(), parts.groupAt()).copy()
        keyTypes.indices.foreach(k => values(k) = keys.get(k, keyTypes(k)))
      }
      make()
    } else if (noGroup && rowOnEmptyInput) {
      noGroup = false
      parts.clear()
      make()
    } else false

  private def make(): Boolean = {
    var slot = 0
    while (slot < valueOf.length) {
      val value = kernel.emit(first + valueOf(slot), parts.record(partOf(slot)), 0)
      // The row is made anew for the next value.
      val kept = if (MaskedRows.isInRow(typeOf(slot))) value.copy() else value
      values(keyTypes.length + slot) = kept.get(0, typeOf(slot))
      slot += 1
    }
    made = projection(row)
    true
  }
}

private object MaskedRows {

  /** Whether a value is a view of the row that it is read from. */
  private def isInRow(t: DataType): Boolean = !org.apache.spark.sql.catalyst.expressions.UnsafeRow.isFixedLength(t)
}
