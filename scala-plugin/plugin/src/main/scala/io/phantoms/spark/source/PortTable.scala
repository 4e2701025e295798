package io.phantoms.spark.source

import java.util

import io.phantoms.spark.source.read.{ReaderMetrics, RecordColumn}
import io.phantoms.spark.source.stream._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, TableCapability}
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Flow exports that are sent to a UDP port of the driver: a stream only. */
private[source] final class PortTable(listen: String, options: CaseInsensitiveStringMap, wanted: Option[StructType])
    extends RecordsTable
    with SupportsRead {
  private val read = LftaOptions(options)
  private val known = new LftaColumns(Records.Flows.schema, read)
  if (read.records.exists(_ != Records.Flows))
    LftaOptions.refuse("records", s"'${read.records.get.name}' do not come to a port: listen receives flow exports.")
  // Refused now, rather than when the stream begins.
  locally {
    val _ = (StreamOptions.socket(listen), StreamOptions.ringBytes(options), StreamOptions.maxDatagrams(options))
  }
  wanted.foreach(known.require)

  override def name(): String = s"${LftaTable.Name} udp $listen"

  override def fields: StructType = wanted.getOrElse(known.schema)

  override def schema(): StructType = fields

  override def capabilities(): util.Set[TableCapability] = PortTable.Capabilities

  override def newScanBuilder(of: CaseInsensitiveStringMap): ScanBuilder =
    new ScanBuilder with SupportsPushDownRequiredColumns {
      private var required = fields
      override def pruneColumns(needed: StructType): Unit = required = needed
      override def build(): Scan = new PortScan(listen, options, read, known, required)
    }
}

private object PortTable {
  // Batches are refused in words of our own.
  private val Capabilities = util.EnumSet.of(TableCapability.MICRO_BATCH_READ, TableCapability.BATCH_READ)
}

private final class PortScan(
    listen: String,
    options: CaseInsensitiveStringMap,
    read: LftaOptions,
    columns: LftaColumns,
    required: StructType
) extends Scan {
  override def readSchema(): StructType = required

  override def description(): String = s"${LftaTable.Name} udp $listen"

  override def toBatch: Batch =
    throw new UnsupportedOperationException(
      s"A port can only be read as a stream, and listen is $listen: use spark.readStream, or give a path instead."
    )

  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = {
    val forms = required.map(f => columns.column(f.name).get).toArray
    val ring = new DatagramRing(StreamOptions.ringBytes(options))
    val readers = new StreamReaders {
      override val rows = new PortReaderFactory(listen, forms, columns.wanted(forms), read.mode, None)
      override def aggregate: Boolean = read.pushDownAggregate
      override def column(name: String): Option[(RecordColumn, DataType)] =
        columns.column(name, required, PortScan.NoPaths, SQLConf.get.resolver)
      override def groups(of: GroupedRead): PartitionReaderFactory =
        new PortReaderFactory(listen, Array.empty, columns.wanted(of.columns), read.mode, Some(of -> read.tables))
    }
    val context = SparkSession.active.sparkContext
    // A task has its datagrams in the message that starts it, and what exporters have said before besides.
    val message = context.getConf.getInt("spark.rpc.message.maxSize", PortScan.MessageMebibytes).toLong << 20
    val open = () => new UdpListener(StreamOptions.socket(listen), ring)
    val most = StreamOptions.maxDatagrams(options)
    new PortStream(open, ring, readers, most, message / 2, context.defaultParallelism, listen)
  }

  override def supportedCustomMetrics(): Array[CustomMetric] = ReaderMetrics.all(aggregates = false)
}

private object PortScan {

  private val NoPaths = StructType(Nil)

  /** Spark's own default. */
  private val MessageMebibytes = 128
}
