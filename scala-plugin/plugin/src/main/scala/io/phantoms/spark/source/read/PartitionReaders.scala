package io.phantoms.spark.source.read

import io.phantoms.spark.source.table.ReaderTable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{JoinedRow, UnsafeProjection}
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/** Closes the files of a task and tells what was counted in them. */
private[source] abstract class FilesReader[T](files: RecordFiles) extends PartitionReader[T] {
  override def currentMetricsValues(): Array[CustomTaskMetric] = ReaderMetrics.of(files.counters, table.orNull)
  override def close(): Unit = files.close()

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
) extends FilesReader[InternalRow](files) {
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
) extends FilesReader[ColumnarBatch](files) {
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

/** When groups leave the table that no other group sends away. */
sealed abstract class Flush(val name: String) extends Serializable

object Flush {

  /** At the end of a task's input. */
  case object End extends Flush("end")

  /** At the end of each file, all of them. */
  case object Eager extends Flush("eager")

  /** After the end of each file, one with each record of the next. */
  case object Lazy extends Flush("lazy")

  val all: Seq[Flush] = Seq(End, Eager, Lazy)
}

/**
 * Groups of records: the rows are those that leave the table of the reader, the same group several times. An epoch of the
 * table is a file.
 *
 * @param whole whether there are no grouping columns: one row at least
 */
private[source] final class GroupReader(
    files: RecordFiles,
    groups: RecordGroups,
    held: ReaderTable,
    flush: Flush,
    whole: Boolean
) extends FilesReader[InternalRow](files) {
  private var epoch = 0
  private var waiting = false // the record that files stand at is yet to be added
  private var aging = false // old groups leave before others become old
  private var ended = false
  if (whole) groups.addNothing()

  override protected def table: Option[ReaderTable] = Some(held)

  override def next(): Boolean = {
    while (!held.nextEvicted()) {
      if (ended) return false
      step()
    }
    true
  }

  private def step(): Unit =
    if (aging) {
      aging = false
      held.age()
    } else if (waiting) {
      waiting = false
      groups.add(files.record)
    } else if (files.next()) {
      if (epoch != files.ordinal) newFile() else groups.add(files.record)
    } else if (held.hasOld) held.sweep()
    else {
      ended = true
      held.flush()
    }

  private def newFile(): Unit = {
    if (epoch > 0) flush match {
      case Flush.End =>
      case Flush.Eager => held.flush()
      case Flush.Lazy =>
        held.sweep()
        aging = true
    }
    epoch = files.ordinal
    waiting = true
  }

  override def get(): InternalRow = groups.evicted()
}
