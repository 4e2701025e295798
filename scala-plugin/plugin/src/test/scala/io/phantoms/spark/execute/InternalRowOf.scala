package io.phantoms.spark.execute

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

private[execute] object InternalRowOf {
  def apply(values: Any*): InternalRow = new GenericInternalRow(values.toArray)
}
