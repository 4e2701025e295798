package io.phantoms.spark.source.stream

import io.phantoms.spark.source.read.RecordColumn

import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.types.DataType

/** The readers that the tasks of a stream may have. */
trait StreamReaders {

  /** Of rows, with all columns of the stream. */
  def rows: PartitionReaderFactory

  /** Whether readers may aggregate. */
  def aggregate: Boolean

  /** How records give a column of the stream, and its type; None: they do not. */
  def column(name: String): Option[(RecordColumn, DataType)]

  /** Of groups: grouping columns, then aggregates. */
  def groups(read: GroupedRead): PartitionReaderFactory
}

/** A stream whose readers may do more than hand out records. */
trait HasReaders {
  def readers: StreamReaders
}
