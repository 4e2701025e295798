package io.phantoms.spark.source.stream

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.read._
import io.phantoms.spark.source.wire.{Policy, RecordReader, WireCounters, WireRecord}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

/**
 * Makes the readers of datagrams, where they run.
 *
 * @param columns of the rows, where they are of records
 * @param wanted the columns that are read, by ordinal
 * @param groups what the rows are groups of, and the tables for these; None: of records
 */
private[source] final class PortReaderFactory(
    address: String,
    columns: Array[RecordColumn],
    wanted: Array[Boolean],
    policy: Policy,
    groups: Option[(GroupedRead, ReaderTables)]
) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val part = partition.asInstanceOf[DatagramPartition]
    val datagrams = new DatagramReader(address, part.datagrams.iterator.asJava, policy, wanted, part.state)
    val records = new DatagramRecords(datagrams)
    groups match {
      case Some((read, tables)) => read.reader(records, tables)
      case None => new RecordsReader(records, new RecordRows(columns))
    }
  }
}

/** The records of a task's datagrams. */
private final class DatagramRecords(records: RecordReader) extends TaskRecords {
  private var begun = 0
  override def next(): Boolean = {
    begun = 1
    records.next()
  }
  override def record: WireRecord = records.record
  override def epoch: Int = begun
  override def counters: WireCounters = records.counters
  override def close(): Unit = records.close()
}

/** A row a record. */
private final class RecordsReader(records: TaskRecords, rows: RecordRows) extends TaskReader[InternalRow](records) {
  override def next(): Boolean = records.next()
  override def get(): InternalRow = rows.row(records.record)
}
