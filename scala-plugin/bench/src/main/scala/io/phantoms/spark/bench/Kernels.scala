package io.phantoms.spark.bench

import java.nio.{ByteBuffer, ByteOrder}

import scala.collection.mutable

import io.phantoms.spark.block.ByteDictionary
import io.phantoms.spark.functions.WideTotal
import io.phantoms.spark.memory.MemoryReserve
import io.phantoms.spark.run.generated.{HftaCode, InputForm, LftaCode}
import io.phantoms.spark.run.kernel.{HftaKernel, LftaKernel}
import io.phantoms.spark.run.LftaTask
import io.phantoms.spark.spec.{AggregateSpec, KeySpec, RelationSpec, RowSteps, SharedSpec, ShipSpec}

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.{Count, Sum}
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.types.{DataType, IntegerType, LongType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/**
 * The kernels of `select k0, k1, ..., count(*), sum(v) ... group by k0, k1, ...` over int keys and a bigint, all of them
 * nullable, as columns of files are; nothing is NULL in the data.
 */
object Kernels {

  /** Reduce partitions that the map side ships to. */
  private val Shards = 4

  private object Unlimited extends MemoryReserve {
    override def reserve(bytes: Long): Unit = ()
    override def release(bytes: Long): Unit = ()
  }

  private def spec(words: Int, buckets: Int, groups: Long): SharedSpec = {
    val keys = 0 until 2 * words
    val value = BoundReference(keys.size, LongType, nullable = true)
    val relation = RelationSpec(
      keys = keys,
      aggregates = Seq(0, 1),
      parent = -1,
      buckets = buckets,
      ship = Some(ShipSpec(keys, 0 until Shards)),
      derived = false,
      expectedGroups = groups
    )
    SharedSpec(
      keys = keys.map(_ => KeySpec(IntegerType, nullable = true)),
      aggregates = IndexedSeq(AggregateSpec(Count(Literal(1)), None), AggregateSpec(WideTotal(Sum(value)), None)),
      relations = IndexedSeq(relation),
      queries = IndexedSeq.empty,
      numPartitions = Shards,
      notation = ""
    )
  }

  /** @param packed whether finished blocks are packed, as for the exchange, or records left as they lie in the table */
  def lfta(words: Int, buckets: Int, packed: Boolean): LftaKernel = {
    val s = spec(words, buckets, 0)
    val types: IndexedSeq[DataType] = s.keys.map(_.dataType) :+ LongType
    val inputs = types.zipWithIndex.map { case (t, i) => BoundReference(i, t, nullable = true) }
    val (source, references) =
      new LftaCode(
        s,
        RowSteps(IndexedSeq.empty, inputs),
        types.map((_, true)),
        InputForm.Batches,
        secondChance = false
      ).generate()
    val kernel = CodeGenerator.compile(source)._1.generate(references).asInstanceOf[LftaKernel]
    kernel.open(
      new ByteDictionary(Unlimited),
      LftaTask.DictionaryBudget,
      Array.fill(Shards)(0),
      Array.range(0, Shards),
      Array.fill(Shards)(false),
      s.layouts.map(_.stride).toArray,
      Array(Integer.numberOfTrailingZeros(math.max(1, buckets))),
      LftaTask.LargestBlock,
      packed,
      LftaKernel.WINDOW
    )
    kernel
  }

  def hfta(words: Int, groups: Int): HftaKernel = {
    val s = spec(words, 0, groups.toLong)
    val (source, references) = new HftaCode(s).generate()
    val kernel = CodeGenerator.compile(source)._1.generate(references).asInstanceOf[HftaKernel]
    kernel.open(Unlimited, s.layouts.map(_.stride).toArray, Array(groups.toLong))
    kernel
  }

  def batches(rows: Rows): Array[ColumnarBatch] = rows.keys.zip(rows.values).map { case (keys, values) =>
    val n = values.length
    val vectors = keys.map { k =>
      val v = new OnHeapColumnVector(n, IntegerType)
      v.putInts(0, n, k, 0)
      v
    } :+ {
      val v = new OnHeapColumnVector(n, LongType)
      v.putLongs(0, n, values, 0)
      v
    }
    new ColumnarBatch(vectors.toArray[ColumnVector], n)
  }

  /** The rows as the map side ships them where it has no table: a record a row. */
  def blocks(words: Int, rows: Rows, packed: Boolean): Array[Array[Byte]] = {
    val kernel = lfta(words, buckets = 0, packed)
    val blocks = mutable.ArrayBuffer.empty[Array[Byte]]
    def drain(): Unit = while (!kernel.ready.isEmpty) {
      val done = kernel.ready.poll()
      val bytes = ByteBuffer.allocate(8 * done.words).order(ByteOrder.nativeOrder())
      bytes.asLongBuffer().put(done.data, LftaKernel.ROW_PREFIX, done.words)
      blocks += bytes.array()
    }
    batches(rows).foreach { b =>
      kernel.process(b)
      drain()
    }
    kernel.close()
    drain()
    blocks.toArray
  }

  /** The rows as records of key words, count and sum. */
  def records(words: Int, rows: Rows): Array[Long] = {
    val stride = words + 2
    val records = new Array[Long](rows.values.length * Rows.BATCH * stride)
    for (b <- rows.values.indices; i <- 0 until Rows.BATCH) {
      val at = (b * Rows.BATCH + i) * stride
      val keys = rows.keys(b)
      for (w <- 0 until words) {
        records(at + w) = (keys(2 * w)(i) & 0xffffffffL) | (keys(2 * w + 1)(i).toLong << 32)
      }
      records(at + words) = 1L
      records(at + words + 1) = rows.values(b)(i)
    }
    records
  }
}
