package io.phantoms.spark.source.read

import io.phantoms.spark.source.table.ReaderTable
import io.phantoms.spark.source.wire.WireCounters

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** What the readers of a scan count, added up over its tasks. Spark makes these again by their classes' names. */
private[spark] sealed abstract class ReaderMetric(override val name: String, override val description: String)
    extends CustomSumMetric

private[spark] class PacketsMetric extends ReaderMetric("packets", "packets in the files")
private[spark] class DecodedMetric extends ReaderMetric("decoded", "packets decoded")
private[spark] class MalformedMetric extends ReaderMetric("malformed", "packets malformed")
private[spark] class SkippedMetric extends ReaderMetric("skipped", "packets of no use to the reader")
private[spark] class TruncatedMetric extends ReaderMetric("truncated", "packets truncated by the capture")
private[spark] class FlowsMetric extends ReaderMetric("flows", "flow records")
private[spark] class WithoutTemplateMetric extends ReaderMetric("withoutTemplate", "data sets without template")
private[spark] class BytesMetric extends ReaderMetric("bytes", "bytes after decompression")
private[spark] class UnreadableBytesMetric extends ReaderMetric("unreadableBytes", "bytes passed over as unreadable")
private[spark] class ProbesMetric extends ReaderMetric("probes", "probes of the reader's table")
private[spark] class EvictionsMetric extends ReaderMetric("evictions", "groups that left the reader's table")

private[spark] object ReaderMetrics {
  private final case class Value(name: String, value: Long) extends CustomTaskMetric

  private val ofFiles: Seq[(ReaderMetric, WireCounters => Long)] = Seq(
    new PacketsMetric -> (_.packets),
    new DecodedMetric -> (_.decoded),
    new MalformedMetric -> (_.malformed),
    new SkippedMetric -> (_.skipped),
    new TruncatedMetric -> (_.truncated),
    new FlowsMetric -> (_.flows),
    new WithoutTemplateMetric -> (_.withoutTemplate),
    new BytesMetric -> (_.bytes),
    new UnreadableBytesMetric -> (_.unreadableBytes)
  )
  private val ofTable: Seq[(ReaderMetric, ReaderTable => Long)] =
    Seq(new ProbesMetric -> (_.probes), new EvictionsMetric -> (_.evictions))

  /** @param aggregates whether the readers have tables */
  def all(aggregates: Boolean): Array[CustomMetric] =
    (ofFiles.map(_._1) ++ (if (aggregates) tables else Nil)).toArray

  /** Of the readers' tables. */
  def tables: Seq[CustomMetric] = ofTable.map(_._1)

  /** Rows, as Spark calls what a scan hands out. */
  val Rows = "numOutputRows"

  def rows(n: Long): CustomTaskMetric = Value(Rows, n)

  /** @param table of the reader; null where it has none */
  def of(counters: WireCounters, table: ReaderTable): Array[CustomTaskMetric] = {
    val read = ofFiles.map { case (metric, value) => Value(metric.name, value(counters)) }
    val grouped =
      if (table == null) Nil else ofTable.map { case (metric, value) => Value(metric.name, value(table)) }
    (read ++ grouped).toArray
  }
}
