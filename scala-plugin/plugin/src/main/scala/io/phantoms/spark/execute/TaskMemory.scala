package io.phantoms.spark.execute

import org.apache.spark.TaskContext
import org.apache.spark.memory.{MemoryConsumer, MemoryMode, SparkOutOfMemoryError, TaskMemoryManager}

import io.phantoms.spark.lfta.MemoryReserve
import io.phantoms.spark.shims.SparkInternals

/**
 * Memory of one operator in one task, taken from Spark's task memory manager and given back when the task ends.
 *
 * Never spills: a table cannot be given up while its operator is in the middle of a row.
 */
final class TaskMemory(context: TaskContext, manager: TaskMemoryManager, what: String)
    extends MemoryConsumer(manager, manager.pageSizeBytes(), MemoryMode.ON_HEAP)
    with MemoryReserve {
  def this(context: TaskContext, what: String) = this(context, SparkInternals.taskMemoryManager(context), what)

  context.addTaskCompletionListener[Unit](_ => freeMemory(getUsed))

  override def spill(size: Long, trigger: MemoryConsumer): Long = 0L

  override def reserve(bytes: Long): Unit =
    if (!tryReserve(bytes)) {
      throw new SparkOutOfMemoryError(
        "UNABLE_TO_ACQUIRE_MEMORY",
        java.util.Map.of("requestedBytes", bytes.toString, "receivedBytes", s"0 (for $what, which holds $getUsed)")
      )
    }

  /** Most bytes held at any time. */
  var peak: Long = 0L

  /** Reserves all of `bytes` or nothing. */
  def tryReserve(bytes: Long): Boolean = {
    val got = acquireMemory(bytes)
    if (got < bytes) freeMemory(got)
    peak = math.max(peak, getUsed)
    got >= bytes
  }

  override def release(bytes: Long): Unit = freeMemory(bytes)
}
