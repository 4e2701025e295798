package io.phantoms.spark.source.read

import io.phantoms.spark.source.table.ReaderTable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{JoinedRow, UnsafeProjection}
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/** Closes the records of a task and tells what was counted in them. */
private[source] abstract class TaskReader[T](records: TaskRecords) extends PartitionReader[T] {
  override def currentMetricsValues(): Array[CustomTaskMetric] = ReaderMetrics.of(records.counters, table.orNull)
  override def close(): Unit = records.close()

  protected def table: Option[ReaderTable] = None
}

/**
 * A row a record.
 *
 * @param partitions what the paths of files say, behind the columns of the record
 */
private[source] final class RowReader(
    files: RecordFiles,
    columns: Array[RecordColumn],
    schema: StructType,
    partitions: Int
) extends TaskReader[InternalRow](files) {
  private val rows = new RecordRows(columns)
  private val joined = new JoinedRow
  private lazy val projection = UnsafeProjection.create(schema)

  override def next(): Boolean = files.next()

  override def get(): InternalRow = {
    val row = rows.row(files.record)
    if (partitions == 0) row else projection(joined(row, files.file.partitionValues))
  }
}

/**
 * Records in batches of columns. A batch is of one file, and the next file is opened when the batch has been read:
 * `input_file_name()` tells of the file that was opened last.
 *
 * @param rows the most of a batch
 * @param bytes a batch ends with the record that brings it to this many: payloads may be large
 */
private[source] final class BatchReader(
    files: RecordFiles,
    columns: Array[RecordColumn],
    schema: StructType,
    rows: Int,
    bytes: Long
) extends TaskReader[ColumnarBatch](files) {
  private val vectors = OnHeapColumnVector.allocateColumns(rows, schema)
  private val filling = new RecordBatch(columns, vectors.toArray[WritableColumnVector])
  private val batch = new ColumnarBatch(vectors.toArray[ColumnVector])

  override def next(): Boolean = {
    filling.reset()
    var n = 0
    var held = 0L
    var more = files.next()
    while (more) {
      held += filling.put(n, files.record)
      n += 1
      more = n < rows && held < bytes && files.nextOfFile()
    }
    batch.setNumRows(n)
    n > 0
  }

  override def get(): ColumnarBatch = batch

  override def close(): Unit =
    try batch.close()
    finally super.close()
}
