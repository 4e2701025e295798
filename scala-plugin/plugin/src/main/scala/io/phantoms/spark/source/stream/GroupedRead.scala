package io.phantoms.spark.source.stream

import io.phantoms.spark.source.read._
import io.phantoms.spark.source.wire.{WireCounters, WireRecord}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.PartitionReader

/** Is told the time of each record that a watermark is made of, in milliseconds since 1970. */
trait EventTimes extends Serializable {
  def add(millis: Long): Unit
}

/**
 * What is done with the records of a stream up to the first part of an aggregation.
 *
 * @param below conditions on records before their times are looked at
 * @param time the column that a watermark is made of
 * @param times who is told of it
 * @param above conditions on records after that
 * @param by grouping columns
 * @param aggregates of each group
 * @param whole whether there is a group even of no records
 * @param columns all columns that are read
 */
final case class GroupedRead(
    below: Seq[Condition],
    time: Option[RecordColumn],
    times: Option[EventTimes],
    above: Seq[Condition],
    by: Array[GroupColumn],
    aggregates: Array[PartialAggregate],
    whole: Boolean,
    columns: Set[RecordColumn]
) {

  /** The groups of a task's records. */
  private[source] def reader(records: TaskRecords, tables: ReaderTables): PartitionReader[InternalRow] = {
    val passing = new PassingRecords(records, this)
    new PassingGroups(passing, tables.reader(passing, by, aggregates, whole))
  }
}

/** Records that pass the conditions; the others are counted and their times told, as far as they come. */
private final class PassingRecords(records: TaskRecords, read: GroupedRead) extends TaskRecords {
  private val below = read.below.toArray
  private val above = read.above.toArray
  private val time = read.time.orNull
  private val times = read.times.orNull
  private var looked = 0L

  /** How many records there were. */
  def seen: Long = looked

  override def next(): Boolean = {
    while (records.next()) {
      looked += 1
      if (passes(below)) {
        if (times != null) tell()
        if (passes(above)) return true
      }
    }
    false
  }

  private def passes(conditions: Array[Condition]): Boolean = {
    var i = 0
    while (i < conditions.length && conditions(i).test(record) == Condition.TRUE) i += 1
    i == conditions.length
  }

  // Spark takes a time that is NULL for the first of 1970.
  private def tell(): Unit =
    times.add(if (time.isNull(record)) 0L else Math.floorDiv(record.number(time.field), PassingRecords.MicrosOfMilli))

  override def record: WireRecord = records.record
  override def epoch: Int = records.epoch
  override def counters: WireCounters = records.counters
  override def close(): Unit = records.close()
}

private object PassingRecords {
  private val MicrosOfMilli = 1000L
}

/** Tells how many records there were, by the name that Spark has for what a scan hands out: these are a stream's input. */
private final class PassingGroups(records: PassingRecords, groups: GroupReader) extends PartitionReader[InternalRow] {
  override def next(): Boolean = groups.next()
  override def get(): InternalRow = groups.get()
  override def close(): Unit = groups.close()
  override def currentMetricsValues(): Array[CustomTaskMetric] =
    groups.currentMetricsValues() :+ ReaderMetrics.rows(records.seen)
}
