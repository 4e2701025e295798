package io.phantoms.spark.execute

import java.io.RandomAccessFile
import java.nio.{ByteBuffer, ByteOrder}

import scala.collection.mutable

import io.phantoms.spark.lfta.BlockBuilder

import org.apache.spark.{SparkEnv, TaskContext}

/**
 * Records that did not fit into memory, as blocks in one temporary file, in [[SpillFile.Fanout]] parts of each relation.
 *
 * @param level the part of a record is taken from other bits of its hash at each level
 */
final class SpillFile(kernel: HftaKernel, strides: Array[Int], level: Int) {
  import SpillFile._

  private val (_, path) = SparkEnv.get.blockManager.diskBlockManager.createTempLocalBlock()
  private val file = new RandomAccessFile(path, "rw")
  private val builders = mutable.HashMap.empty[(Int, Int), BlockBuilder]
  private val pieces = mutable.HashMap.empty[(Int, Int), mutable.ArrayBuffer[Piece]]
  private var size = 0L

  TaskContext.get().addTaskCompletionListener[Unit](_ => close())

  /** Bytes written. */
  def bytes: Long = size

  def relations: Seq[Int] = (builders.keySet ++ pieces.keySet).map(_._1).toSeq.sorted

  def add(relation: Int, records: Array[Long], at: Int): Unit = {
    val part = ((kernel.contentHash(relation, records, at) >>> (level * Bits)) & (Fanout - 1)).toInt
    val builder = builders.getOrElseUpdate(
      (relation, part),
      new BlockBuilder(relation, strides(relation), 0, BlockBytes, true)
    )
    if (kernel.append(relation, builder, records, at)) write(relation, part, builder)
  }

  /** Writes what is still in memory: ids of the kernel's dictionary are used up to here. */
  def flush(): Unit = builders.foreach { case ((r, p), b) => if (b.records > 0) write(r, p, b) }

  private def write(relation: Int, part: Int, builder: BlockBuilder): Unit = {
    val data = builder.finish(kernel.dictionary())
    val words = builder.finishedWords()
    val buffer = ByteBuffer.allocate(8 * words).order(ByteOrder.nativeOrder())
    buffer.asLongBuffer().put(data, 0, words)
    file.seek(size)
    file.write(buffer.array())
    pieces.getOrElseUpdate((relation, part), mutable.ArrayBuffer.empty) += Piece(size, 8 * words)
    size += 8L * words
  }

  /** Whether a part has any record. To be asked after [[flush]]. */
  def holds(relation: Int, part: Int): Boolean = pieces.contains((relation, part))

  /** The blocks of one part, one at a time. */
  def blocks(relation: Int, part: Int): Iterator[Array[Byte]] =
    pieces.getOrElse((relation, part), mutable.ArrayBuffer.empty).iterator.map { piece =>
      val data = new Array[Byte](piece.bytes)
      file.seek(piece.offset)
      file.readFully(data)
      data
    }

  /** Deletes the file. */
  def close(): Unit = {
    file.close()
    val _ = path.delete()
  }
}

object SpillFile {
  private final case class Piece(offset: Long, bytes: Int)

  private val Bits = 4

  /** Parts of a relation at each level. */
  val Fanout: Int = 1 << Bits

  /** Levels there are hash bits for. */
  val Levels: Int = 64 / Bits

  private val BlockBytes = 8 << 10
}
