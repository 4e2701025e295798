package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

private[functions] object InternalRowOf {
  def apply(values: Any*): InternalRow = new GenericInternalRow(values.toArray)
}
