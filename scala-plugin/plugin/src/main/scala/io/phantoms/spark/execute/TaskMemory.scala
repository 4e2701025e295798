package io.phantoms.spark.execute

import org.apache.spark.TaskContext
import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}

import io.phantoms.spark.lfta.{MemoryRefused, MemoryReserve}
import io.phantoms.spark.shims.SparkInternals

/**
 * Memory of one operator in one task, taken from Spark's task memory manager and given back when the task ends.
 *
 * Does not spill when another consumer asks: a table cannot be given up while its operator is in the middle of a row.
 * The operator is told instead ([[MemoryRefused]]) and frees memory at a place of its own choice.
 *
 * @param what named in the message of a refusal
 * @param overdraft bytes, in reservations of at most `largest`, that are taken even when refused: what a task cannot
 *   work without
 */
final class TaskMemory(context: TaskContext, manager: TaskMemoryManager, what: String, overdraft: Long, largest: Long)
    extends MemoryConsumer(manager, manager.pageSizeBytes(), MemoryMode.ON_HEAP)
    with MemoryReserve {
  def this(context: TaskContext, what: String, overdraft: Long, largest: Long = TaskMemory.Small) =
    this(context, SparkInternals.taskMemoryManager(context), what, overdraft, largest)

  context.addTaskCompletionListener[Unit](_ => freeMemory(getUsed))

  /** Most bytes held at any time. */
  var peak: Long = 0L
  private var overdrawn = 0L

  override def spill(size: Long, trigger: MemoryConsumer): Long = 0L

  override def reserve(bytes: Long): Unit =
    if (!tryReserve(bytes)) {
      if (bytes > largest || overdrawn + bytes > overdraft) {
        throw new MemoryRefused(bytes, s"no $bytes bytes more for $what, which holds $getUsed")
      }
      overdrawn += bytes
    }

  /** Reserves all of `bytes` or nothing. */
  def tryReserve(bytes: Long): Boolean = {
    val got = acquireMemory(bytes)
    if (got < bytes) freeMemory(got)
    peak = math.max(peak, getUsed)
    got >= bytes
  }

  override def release(bytes: Long): Unit = {
    val back = math.min(overdrawn, bytes)
    overdrawn -= back
    freeMemory(bytes - back)
  }
}

object TaskMemory {

  /** Bytes up to which a reservation may be overdrawn by an operator that can free memory instead. */
  val Small: Long = 512L << 10
}
