package io.phantoms.spark.source.read

import io.phantoms.spark.source.table.{ReaderTable, TableKind}

import org.apache.spark.sql.catalyst.InternalRow

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
 * Groups of records: the rows are those that leave the table of the reader, the same group several times.
 *
 * @param records of which those of an epoch of the table come together
 * @param whole whether there are no grouping columns: one row at least
 */
private[source] final class GroupReader(
    records: TaskRecords,
    groups: RecordGroups,
    held: ReaderTable,
    flush: Flush,
    whole: Boolean
) extends TaskReader[InternalRow](records) {
  private var epoch = 0
  private var waiting = false // the record that is stood at is yet to be added
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
      groups.add(records.record)
    } else if (records.next()) {
      if (epoch != records.epoch) newFile() else groups.add(records.record)
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
    epoch = records.epoch
    waiting = true
  }

  override def get(): InternalRow = groups.evicted()
}

/**
 * The tables that readers have.
 *
 * @param bytes of a task's table
 */
private[source] final case class ReaderTables(bytes: Long, kind: TableKind, flush: Flush) {

  /**
   * Groups of records in a table that is empty yet.
   *
   * @param whole whether there is a group even of no records
   */
  def reader(
      records: TaskRecords,
      by: Array[GroupColumn],
      aggregates: Array[PartialAggregate],
      whole: Boolean
  ): GroupReader = {
    val (keyWords, valueWords) = (RecordGroups.keyWords(by), RecordGroups.valueWords(aggregates.length))
    val slots = if (by.isEmpty) 1 else ReaderTable.slotsIn(bytes, keyWords, valueWords)
    val table = new ReaderTable(kind, slots, keyWords, valueWords)
    new GroupReader(records, new RecordGroups(by, aggregates, table), table, flush, whole)
  }
}
