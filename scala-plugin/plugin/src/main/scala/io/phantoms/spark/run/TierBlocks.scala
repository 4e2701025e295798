package io.phantoms.spark.run

import io.phantoms.spark.block.BlockBuilder
import io.phantoms.spark.run.kernel.{HftaKernel, LftaKernel}
import io.phantoms.spark.spec.SharedSpec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.metric.SQLMetric

/**
 * Groups of the relations of the second tier, partial ones as one task has them, as rows (partition, block).
 *
 * @param announced relations of which their merge must hear even when there is no group
 */
private[spark] final class TierBlocks(spec: SharedSpec, announced: Set[Int], packed: Boolean, kernel: HftaKernel)
    extends MergeOutput {
  private var shipped, blocks, words, saved = 0L

  override def of(relation: Int): Iterator[Iterator[InternalRow]] = spec.relations(relation).ship match {
    case Some(ship) if spec.relations(relation).derived =>
      Iterator.single(new Blocks(relation, ship.partitions.toArray))
    case _ => Iterator.empty
  }

  override def report(metrics: Map[String, SQLMetric]): Unit = {
    metrics("shipped") += shipped
    metrics("blocks") += blocks
    metrics("blockBytes") += 8L * words
    metrics("bytesSaved") += 8L * saved
  }

  /** Ends with all blocks finished: the ids of variable-length values are good for one table only. */
  private final class Blocks(relation: Int, partitions: Array[Int]) extends Iterator[InternalRow] {
    private val table = kernel.table(relation)
    private val (records, count, stride) = (table.records, table.size, spec.layouts(relation).stride)
    private val bytes = LftaTask.blockBytes(partitions.length)
    private val builders = new Array[BlockBuilder](partitions.length)
    private val row = new UnsafeRow(2)
    private var i = 0
    private var closing = 0
    private var ready: LftaKernel.Finished = _

    override def hasNext: Boolean = {
      while (ready == null && i < count) {
        val shard = if (partitions.length == 1) 0 else kernel.shard(relation, records, i * stride)
        if (kernel.append(relation, builder(shard), records, i * stride)) finish(shard)
        i += 1
      }
      while (ready == null && closing < partitions.length) {
        val builder = builders(closing)
        if (if (builder == null) announced(relation) else builder.records > 0) finish(closing)
        if (builder != null) saved += builder.saved
        closing += 1
      }
      ready != null
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException("no more blocks")
      blocks += 1
      words += ready.words
      LftaTask.point(row, ready)
      ready = null
      row
    }

    private def builder(shard: Int): BlockBuilder = {
      if (builders(shard) == null)
        builders(shard) = new BlockBuilder(relation, stride, LftaKernel.ROW_PREFIX, bytes, packed)
      builders(shard)
    }

    private def finish(shard: Int): Unit = {
      shipped += builder(shard).records
      val data = builder(shard).finish(kernel.dictionary())
      ready = new LftaKernel.Finished(partitions(shard), data, builder(shard).finishedWords())
    }
  }
}
