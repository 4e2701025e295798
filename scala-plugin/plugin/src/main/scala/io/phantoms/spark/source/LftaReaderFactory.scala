package io.phantoms.spark.source

import io.phantoms.spark.source.read._
import io.phantoms.spark.source.stream.GroupedRead
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
      case Some(a) =>
        options.tables.reader(read, a.columns.map(GroupColumn.of).toArray, a.aggregates.toArray, a.columns.isEmpty)
      case None => new RowReader(read, columns, schema, partitionColumns)
    }
  }

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new BatchReader(recordsOf(partition), columns, schema, math.min(limit, BatchRows.toLong).toInt, BatchBytes)

  private def recordsOf(partition: InputPartition): RecordFiles =
    new RecordFiles(partition.asInstanceOf[LftaPartition].parts, files, condition, limit, options.skipped)
}

/** Makes readers of groups of a stream's files, where they run. */
private[source] final case class GroupsOfFiles(files: OpensFiles, read: GroupedRead, options: LftaOptions)
    extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val parts = partition.asInstanceOf[LftaPartition].parts
    read.reader(new RecordFiles(parts, files, null, Long.MaxValue, options.skipped), options.tables)
  }
}

private object LftaReaderFactory {
  private val BatchRows = 4096
  private val BatchBytes = 4L << 20
}
