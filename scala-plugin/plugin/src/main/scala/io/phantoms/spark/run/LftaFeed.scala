package io.phantoms.spark.run

import java.util.ArrayDeque

import io.phantoms.spark.run.kernel.{LftaKernel, StageRow}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.DataType

/**
 * What the code of a stage calls to feed its rows to a kernel: it writes a row's columns into [[row]] and calls
 * [[process]]. The blocks are those that [[LftaTask.run]] makes of the same rows.
 *
 * A stage can be stopped between rows of its source only, and one of these may give any number of rows (a join does): what
 * comes while an epoch ends and enough blocks wait is put aside, as Spark puts rows aside there.
 *
 * @param reads whether there is a partition to read
 */
final class LftaFeed private[run] (running: LftaTask#Running, val row: StageRow, reads: Boolean) {
  private val kernel: LftaKernel = running.kernel
  private val waiting = new ArrayDeque[StageRow]

  /** The blocks that rows point at: nobody reads these any more once the next ones are asked for. */
  private val handedOn = new ArrayDeque[LftaKernel.Finished]
  private var reading = reads
  private var ending = false
  private var closed = false

  /** Takes the row at hand. */
  def process(): Unit = if (kernel.isEmptying || kernel.isFull) later() else kernel.process(row)

  private def later(): Unit = {
    if (!kernel.isEmptying) {
      kernel.startEmptying(false)
      kernel.resume()
    }
    if (kernel.isEmptying) waiting.addLast(row.kept) else kernel.process(row)
  }

  def hasBlock: Boolean = !kernel.ready.isEmpty

  def nextBlock(): UnsafeRow = {
    val block = new UnsafeRow(2)
    handedOn.addLast(running.take(block))
    block
  }

  /** Called when all blocks that were handed on have been read: goes on with what was left until others wait. */
  def resume(): Unit = {
    while (!handedOn.isEmpty) kernel.reuse(handedOn.poll())
    proceed()
  }

  /** Whether the stage has rows to come. */
  def isReading: Boolean = reading

  /** Called once no row is left. */
  def end(): Unit = if (!ending) {
    reading = false
    ending = true
    kernel.startEmptying(true)
    proceed()
  }

  private def proceed(): Unit = {
    while (kernel.ready.isEmpty && (kernel.isEmptying || !waiting.isEmpty)) {
      if (kernel.isEmptying) kernel.resume()
      else if (kernel.isFull) kernel.startEmptying(false)
      else kernel.process(waiting.poll())
    }
    if (ending && !closed && !kernel.isEmptying) {
      closed = true
      running.done()
    }
  }
}

/**
 * Makes the feed of each task of a stage. Serialized to executors with the stage's code.
 *
 * @param columns types of the columns that the stage makes
 */
final class LftaFeeds(columns: Array[DataType]) extends Serializable {
  private var task: LftaTask = _
  private var reads = false

  /**
   * Says what is not known before the stage is to run, and starts jobs to find out.
   *
   * @param hasPartitions whether there is a partition to read
   */
  def complete(hasPartitions: Boolean)(makeTask: => LftaTask): Unit = if (task == null) {
    task = makeTask
    reads = hasPartitions
  }

  def open(partition: Int): LftaFeed = new LftaFeed(task.start(partition), new StageRow(columns), reads)
}
