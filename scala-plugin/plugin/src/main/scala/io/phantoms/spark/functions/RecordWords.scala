package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow

/**
 * Some words of a record as a row of bigints, for functions of Spark that keep their buffer in such a row. A view: what is set
 * is set in the record.
 */
final class RecordWords(words: Int) extends BaseGenericInternalRow {
  private var record: Array[Long] = _
  private var first = 0

  /** Makes it a view of other words. */
  def of(record: Array[Long], first: Int): RecordWords = {
    this.record = record
    this.first = first
    this
  }

  override def numFields: Int = words
  override def isNullAt(ordinal: Int): Boolean = false
  override def getLong(ordinal: Int): Long = record(first + ordinal)
  override def setLong(ordinal: Int, value: Long): Unit = record(first + ordinal) = value
  override def update(ordinal: Int, value: Any): Unit = setLong(ordinal, value.asInstanceOf[Long])
  override def setNullAt(ordinal: Int): Unit =
    throw new UnsupportedOperationException("a word of a record is never NULL")
  override protected def genericGet(ordinal: Int): Any = getLong(ordinal)
}
