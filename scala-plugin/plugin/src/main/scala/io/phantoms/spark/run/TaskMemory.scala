package io.phantoms.spark.run

import org.apache.spark.TaskContext
import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}

import io.phantoms.spark.memory.{MemoryRefused, MemoryReserve}
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
 * @param headroom bytes that are left to others of the task: operators above need some to start with, and unlike Spark's
 *   own maps this does not give memory up for them
 */
final class TaskMemory(
    context: TaskContext,
    manager: TaskMemoryManager,
    what: String,
    overdraft: Long,
    largest: Long,
    headroom: Long
) extends MemoryConsumer(manager, manager.pageSizeBytes(), MemoryMode.ON_HEAP)
    with MemoryReserve {
  def this(
      context: TaskContext,
      what: String,
      overdraft: Long,
      largest: Long = TaskMemory.Small,
      headroom: Long = 0L
  ) = this(context, SparkInternals.taskMemoryManager(context), what, overdraft, largest, headroom)

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
    val got = acquireMemory(bytes + headroom)
    val granted = got >= bytes + headroom
    freeMemory(if (granted) headroom else got)
    peak = math.max(peak, getUsed)
    granted
  }

  /** The same for what does without where it is refused: nothing of the overdraft goes there. */
  val granted: MemoryReserve = new MemoryReserve {
    override def reserve(bytes: Long): Unit = if (!tryReserve(bytes)) {
      throw new MemoryRefused(bytes, s"no $bytes bytes more for $what, which holds $getUsed")
    }
    override def release(bytes: Long): Unit = TaskMemory.this.release(bytes)
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

  /** What Spark's aggregation or sort starts with: an index, a page, and one more. */
  def headroom(context: TaskContext): Long = Small + 2 * SparkInternals.taskMemoryManager(context).pageSizeBytes()
}
