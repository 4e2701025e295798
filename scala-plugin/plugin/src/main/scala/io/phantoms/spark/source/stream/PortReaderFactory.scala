package io.phantoms.spark.source.stream

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.read.{ReaderMetrics, RecordColumn, RecordRows}
import io.phantoms.spark.source.wire.{Policy, RecordReader}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

/** Makes the readers of datagrams, where they run. */
private[source] final class PortReaderFactory(
    address: String,
    columns: Array[RecordColumn],
    wanted: Array[Boolean],
    policy: Policy
) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val part = partition.asInstanceOf[DatagramPartition]
    val records = new DatagramReader(address, part.datagrams.iterator.asJava, policy, wanted, part.state)
    new RecordsReader(records, new RecordRows(columns))
  }
}

/** A row a record. */
private final class RecordsReader(records: RecordReader, rows: RecordRows) extends PartitionReader[InternalRow] {
  override def next(): Boolean = records.next()
  override def get(): InternalRow = rows.row(records.record)
  override def currentMetricsValues(): Array[CustomTaskMetric] = ReaderMetrics.of(records.counters, null)
  override def close(): Unit = records.close()
}
