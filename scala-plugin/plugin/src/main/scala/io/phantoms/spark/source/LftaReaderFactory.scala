package io.phantoms.spark.source

import io.phantoms.spark.source.read._
import io.phantoms.spark.source.table.ReaderTable
import io.phantoms.spark.source.wire.{Policy, RecordReader}

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.util.SerializableConfiguration

/** Opens files of a Hadoop file system. */
private[source] final case class OpenedFiles(
    conf: Broadcast[SerializableConfiguration],
    records: Records,
    policy: Policy,
    wanted: Array[Boolean],
    ports: Set[Int]
) extends OpensFiles {
  override def open(part: FilePart): RecordReader = {
    val file = new HadoopFile(part.file.toPath, part.file.fileSize, conf.value.value)
    Formats.open(file, part.split, records, policy, wanted, ports)
  }
}

/** Makes the readers of a scan, where they run. */
private[source] final case class LftaReaderFactory(
    files: OpensFiles,
    condition: Condition,
    columns: Array[RecordColumn],
    schema: StructType,
    partitionColumns: Int,
    aggregate: Option[PushedAggregate],
    limit: Long,
    options: LftaOptions,
    inBatches: Boolean
) extends PartitionReaderFactory {
  import LftaReaderFactory._

  override def supportColumnarReads(partition: InputPartition): Boolean = inBatches

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val read = recordsOf(partition)
    aggregate match {
      case Some(a) => grouped(read, a)
      case None => new RowReader(read, columns, schema, partitionColumns)
    }
  }

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new BatchReader(recordsOf(partition), columns, schema, math.min(limit, BatchRows.toLong).toInt, BatchBytes)

  private def recordsOf(partition: InputPartition): RecordFiles =
    new RecordFiles(partition.asInstanceOf[LftaPartition].parts, files, condition, limit, options.skipped)

  private def grouped(read: RecordFiles, a: PushedAggregate): GroupReader = {
    val by = a.columns.toArray
    val (keyWords, valueWords) = (RecordGroups.keyWords(by), RecordGroups.valueWords(a.aggregates.size))
    val slots = if (by.isEmpty) 1 else ReaderTable.slotsIn(options.tableBytes, keyWords, valueWords)
    val table = new ReaderTable(options.tableKind, slots, keyWords, valueWords)
    new GroupReader(read, new RecordGroups(by, a.aggregates.toArray, table), table, options.flush, by.isEmpty)
  }
}

private object LftaReaderFactory {
  private val BatchRows = 4096
  private val BatchBytes = 4L << 20
}
