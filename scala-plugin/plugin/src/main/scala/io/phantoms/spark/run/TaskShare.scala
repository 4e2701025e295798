package io.phantoms.spark.run

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.network.util.ByteUnit

/**
 * What one task may take of an executor's heap, granted by Spark or not. Small tables and dictionaries are taken even when
 * refused, so that a task that runs again makes the same blocks; that is only sound if the heap has as much for every task
 * that an executor runs at once. Decided on the driver, from the confs, for all tasks of a query alike.
 *
 * @param bytes of the heap, for each task
 */
final case class TaskShare(bytes: Long) {
  import TaskShare._

  /** Most bytes of tables, whatever `spark.phantoms.lfta.memory` says. */
  def tables: Long = math.max(SmallestTables, bytes / 4)

  /** Bytes of strings and other variable-length values after which a map task's tables are flushed. */
  def dictionary: Long = math.max(SmallestDictionary, math.min(LftaTask.DictionaryBudget, bytes / 4))

  /** Bytes of the blocks that a map task has open. */
  def blocks: Long = math.max(SmallestDictionary, math.min(LftaTask.BlockBudget.toLong, bytes / 8))

  /** Bytes that a merge takes even when refused. */
  def merge: Long = math.max(SmallestMerge, math.min(MergeTask.Overdraft, bytes / 4))
}

object TaskShare {
  private val SmallestTables = 64L << 10
  private val SmallestDictionary = 1L << 20
  private val SmallestMerge = 8L << 20

  /** What Spark itself sets aside of a heap. */
  private val Reserved = 300L << 20

  private val Local = """local\[(\d+|\*)(?:\s*,\s*\d+)?\]""".r
  private val LocalCluster = """local-cluster\[\s*\d+\s*,\s*(\d+)\s*,\s*\d+\s*\]""".r

  def of(context: SparkContext): TaskShare = {
    val conf = context.getConf
    val processors = Runtime.getRuntime.availableProcessors
    val (heap, cores) = context.master match {
      case "local" => (Runtime.getRuntime.maxMemory, 1)
      case Local("*") => (Runtime.getRuntime.maxMemory, processors)
      case Local(n) => (Runtime.getRuntime.maxMemory, n.toInt)
      case LocalCluster(n) => (executorHeap(conf), n.toInt)
      case master => (executorHeap(conf), executorCores(conf, master, processors))
    }
    of(heap, math.max(1, cores / math.max(1, conf.getInt("spark.task.cpus", 1))))
  }

  /** @param tasks that run in it at once */
  private[spark] def of(heap: Long, tasks: Int): TaskShare = TaskShare(math.max(heap - Reserved, heap / 2) / tasks)

  private def executorHeap(conf: SparkConf): Long =
    ByteUnit.MiB.toBytes(conf.getSizeAsMb("spark.executor.memory", "1g"))

  // Executors of a standalone cluster have all cores of their worker unless told otherwise: taken for one like the driver's.
  private def executorCores(conf: SparkConf, master: String, processors: Int): Int =
    conf.getInt("spark.executor.cores", if (master.startsWith("spark://")) processors else 1)
}
