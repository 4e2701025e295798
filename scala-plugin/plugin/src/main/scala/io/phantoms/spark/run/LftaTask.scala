package io.phantoms.spark.run

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.unsafe.Platform

import io.phantoms.spark.block.ByteDictionary
import io.phantoms.spark.run.kernel.LftaKernel
import io.phantoms.spark.spec.SharedSpec

/**
 * What one map task of [[LftaExec]] does. Serialized to executors, so it holds no plan.
 *
 * @param counts what is observed for later plans
 * @param evaluationsSaved predicates of a row that are not evaluated one by one
 */
final class LftaTask(
    spec: SharedSpec,
    kernels: Kernels[LftaKernel],
    options: LftaOptions,
    metrics: Map[String, SQLMetric],
    counts: Option[PartCounts],
    evaluationsSaved: Long
) extends Serializable
    with Logging {
  import LftaTask._

  /** Blocks of all the input of a partition, as rows (reduce partition, block). The row and its bytes are reused. */
  def run(part: Int, input: Iterator[_], columnar: Boolean): Iterator[InternalRow] = {
    val running = start(part)
    val kernel = running.kernel
    new Iterator[InternalRow] {
      private val row = new UnsafeRow(2)
      private var ended = false
      private var closed = false

      // The batch that the kernel is in the middle of.
      private var batch: ColumnarBatch = _

      // The block the row points at: nobody may read it any more once the next one is asked for.
      private var handedOn: LftaKernel.Finished = _

      override def hasNext: Boolean = {
        while (kernel.ready.isEmpty && !closed) advance()
        !kernel.ready.isEmpty
      }

      /** Feeds a row or as much of a batch as goes, or goes on with the end of an epoch. */
      private def advance(): Unit =
        if (kernel.isEmptying) {
          kernel.resume()
          closed = ended && !kernel.isEmptying
          if (closed) running.done()
        } else if (batch == null && !input.hasNext) {
          ended = true
          kernel.startEmptying(true)
        } else if (kernel.isFull) kernel.startEmptying(false)
        else if (columnar) feed(if (batch == null) input.next().asInstanceOf[ColumnarBatch] else batch)
        else kernel.process(input.next().asInstanceOf[InternalRow])

      private def feed(to: ColumnarBatch): Unit = {
        kernel.process(to)
        batch = if (kernel.isInBatch) to else null
        if (batch == null) to.closeIfFreeable()
      }

      override def next(): InternalRow = {
        if (!hasNext) throw new NoSuchElementException("no more blocks")
        if (handedOn != null) kernel.reuse(handedOn)
        handedOn = running.take(row)
        row
      }
    }
  }

  private[run] def start(part: Int): Running = new Running(part)

  /** A kernel at work on a partition. */
  private[run] final class Running(part: Int) {
    val kernel: LftaKernel = kernels.make()
    private val asChosen = open(kernel, TaskContext.get())
    kernel.pauseWhenCrowded()

    /** Points a row at the next finished block, which the caller gives back. */
    def take(row: UnsafeRow): LftaKernel.Finished = {
      val block = kernel.ready.poll()
      metrics("blocks") += 1
      metrics("blockBytes") += 8L * block.words
      point(row, block)
      block
    }

    /** Called when the last block is made. */
    def done(): Unit = {
      report(kernel)
      counts.foreach(_.add(PartCounts.Part(part, ObservedCounts.ofMapTask(spec, kernel, asChosen))))
    }
  }

  /** Answers whether the tables have the chosen sizes. */
  private def open(kernel: LftaKernel, context: TaskContext): Boolean = {
    // The index of a dictionary of many short values grows in large steps: those have to be granted too.
    val overdraft = FixedTables + Overdraft * options.share.dictionary / DictionaryBudget
    val memory = new TaskMemory(context, "the LFTA tables of spark-phantoms", overdraft, largest = overdraft)
    val log2 = reserveTables(memory)
    metrics("tableBytes") += tableBytes(log2)
    val slots = spec.relations.indices.flatMap { r =>
      spec.relations(r).ship.toSeq.flatMap(_.partitions.map(p => (r, p, spec.isAnnounced(r))))
    }
    StateObjects.hold(spec, kernel, memory.granted)
    kernel.open(
      new ByteDictionary(memory),
      options.share.dictionary,
      slots.map(_._1).toArray,
      slots.map(_._2).toArray,
      slots.map(_._3).toArray,
      spec.layouts.map(_.stride).toArray,
      log2,
      blockBytes(slots.size, options.share.blocks.toInt),
      options.packed,
      if (options.adaptive) LftaKernel.WINDOW else 0
    )
    log2.sameElements(chosenSizes)
  }

  private def tableBytes(log2: Array[Int]): Long =
    spec.mapSide.map(r => (spec.layouts(r).stride.toLong << log2(r)) * 8L).sum

  /**
   * Sizes as chosen. Up to [[LftaTask.FixedTables]] bytes they are taken granted or not, so that a task ships the same when
   * it runs again. Beyond, where the task's memory does not allow them, every table has one fixed small size, and
   * [[BlockExchange]] knows that blocks may differ.
   */
  private def reserveTables(memory: TaskMemory): Array[Int] = {
    val chosen = chosenSizes
    val bytes = tableBytes(chosen)
    if (bytes <= FixedTables) {
      memory.reserve(bytes)
      chosen
    } else if (memory.tryReserve(bytes)) chosen
    else {
      val small = chosen.map(math.min(_, SmallTable))
      logWarning(
        s"spark-phantoms: no memory for LFTA tables of $bytes bytes in this task, " +
          s"running with ${tableBytes(small)}; lower spark.phantoms.lfta.memory to plan for that"
      )
      // Little enough to go without a grant.
      memory.tryReserve(tableBytes(small))
      small
    }
  }

  private def chosenSizes: Array[Int] = spec.relations.map(r => log2(r.buckets)).toArray

  private def log2(buckets: Int): Int = if (buckets <= 1) 0 else 31 - Integer.numberOfLeadingZeros(buckets)

  private def report(kernel: LftaKernel): Unit = {
    val evictions = kernel.evictions
    val probes = spec.mapSide.map { r =>
      val parent = spec.relations(r).parent
      r -> (if (parent < 0) kernel.rows else evictions(parent))
    }.toMap
    val (tables, bypasses) = spec.mapSide.partition(spec.relations(_).buckets > 0)
    metrics("rows") += kernel.rows
    metrics("dropped") += kernel.dropped
    metrics("evaluationsSaved") += evaluationsSaved * (kernel.rows + kernel.dropped)
    metrics("bytesSaved") += 8L * kernel.savedWords
    metrics("probes") += tables.map(r => probes(r) - kernel.passed(r)).sum
    metrics("hits") += tables.map(r => probes(r) - kernel.passed(r) - kernel.misses(r)).sum
    metrics("collisions") += tables.map(r => evictions(r) - kernel.passed(r) - kernel.evictedAtEnd(r)).sum
    metrics("bypassed") += bypasses.map(probes).sum + tables.map(kernel.passed(_)).sum
    metrics("externalEvictions") += kernel.shipped
    metrics("internalEvictions") += spec.mapSide.filter(spec.relations(_).parent >= 0).map(probes).sum
  }
}

object LftaTask {

  /** Bytes of a block: dense enough to compress, small enough that one a partition stays affordable. */
  val LargestBlock: Int = 32 << 10
  val SmallestBlock: Int = 2 << 10
  val BlockBudget: Int = 16 << 20

  /** About how large each of so many open blocks may grow: they share one budget, so that the task stays small. */
  def blockBytes(open: Int, budget: Int = BlockBudget): Int =
    math.max(SmallestBlock, math.min(LargestBlock, budget / math.max(1, open)))

  /** Most bytes of strings and other variable-length values after which a task's tables are flushed: [[TaskShare]]. */
  val DictionaryBudget: Long = 32L << 20

  /**
   * The dictionary is emptied at a fixed size, so that a task makes the same blocks when it runs again; until then it has
   * to grow, granted or not.
   */
  val Overdraft: Long = 2 * DictionaryBudget

  /**
   * Bytes of tables that a task has at any rate: twice the default of `spark.phantoms.lfta.memory`, since relations
   * without a table count a bucket each.
   */
  val FixedTables: Long = 16L << 20

  /** Buckets (as a power of two) of every table of a task that was refused the chosen sizes. */
  val SmallTable: Int = 8

  /** Lays the two-column row over the block's own array: null bits, partition, offset and size, block. */
  private[run] def point(row: UnsafeRow, block: LftaKernel.Finished): Unit = {
    val (prefix, bytes) = (LftaKernel.ROW_PREFIX, 8 * block.words)
    block.data(0) = 0L
    block.data(1) = block.partition.toLong
    block.data(2) = (8L * prefix << 32) | bytes
    row.pointTo(block.data, Platform.LONG_ARRAY_OFFSET, 8 * prefix + bytes)
  }
}
