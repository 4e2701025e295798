package io.phantoms.spark.run

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, EOFException, RandomAccessFile}
import java.nio.{ByteBuffer, ByteOrder}

import scala.collection.mutable

import io.phantoms.spark.block.BlockBuilder
import io.phantoms.spark.run.kernel.HftaKernel

import org.apache.spark.{SparkEnv, TaskContext}

/**
 * Records that did not fit into memory, as blocks in one temporary file, in [[SpillFile.Fanout]] parts of each relation.
 * The file is one of Spark's own spill files by its name, and each block a stream as Spark writes them to such files:
 * compressed and encrypted as the application's confs say.
 *
 * @param level the part of a record is taken from other bits of its hash at each level
 */
final class SpillFile(kernel: HftaKernel, strides: Array[Int], level: Int) {
  import SpillFile._

  private val streams = SparkEnv.get.serializerManager
  private val (id, path) = SparkEnv.get.blockManager.diskBlockManager.createTempLocalBlock()
  private val file = new RandomAccessFile(path, "rw")
  private val builders = mutable.HashMap.empty[(Int, Int), BlockBuilder]
  private val pieces = mutable.HashMap.empty[(Int, Int), mutable.ArrayBuffer[Piece]]
  private var size = 0L

  TaskContext.get().addTaskCompletionListener[Unit](_ => close())

  // An encrypted stream has an initial vector, a compressed one a header: blocks are as large as so many open ones allow.
  private val blockBytes = math.max(SmallestBlock, math.min(LargestBlock, OpenBytes / (Fanout * strides.length)))

  /** Bytes written. */
  def bytes: Long = size

  def relations: Seq[Int] = (builders.keySet ++ pieces.keySet).map(_._1).toSeq.sorted

  def add(relation: Int, records: Array[Long], at: Int): Unit = {
    val part = ((kernel.contentHash(relation, records, at) >>> (level * Bits)) & (Fanout - 1)).toInt
    val builder = builders.getOrElseUpdate(
      (relation, part),
      new BlockBuilder(relation, strides(relation), 0, blockBytes, true)
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
    val encoded = new ByteArrayOutputStream(buffer.capacity)
    val stream = streams.wrapStream(id, encoded)
    try stream.write(buffer.array())
    finally stream.close()
    file.seek(size)
    file.write(encoded.toByteArray)
    pieces.getOrElseUpdate((relation, part), mutable.ArrayBuffer.empty) += Piece(size, encoded.size, 8 * words)
    size += encoded.size
  }

  /** Whether a part has any record. To be asked after [[flush]]. */
  def holds(relation: Int, part: Int): Boolean = pieces.contains((relation, part))

  /** The blocks of one part, one at a time. */
  def blocks(relation: Int, part: Int): Iterator[Array[Byte]] =
    pieces.getOrElse((relation, part), mutable.ArrayBuffer.empty).iterator.map { piece =>
      val encoded = new Array[Byte](piece.stored)
      file.seek(piece.offset)
      file.readFully(encoded)
      val data = new Array[Byte](piece.bytes)
      val stream = streams.wrapStream(id, new ByteArrayInputStream(encoded))
      try {
        if (stream.readNBytes(data, 0, data.length) < data.length) throw new EOFException(s"$path ends inside a block")
      } finally stream.close()
      data
    }

  /** Deletes the file. */
  def close(): Unit = {
    file.close()
    val _ = path.delete()
  }
}

object SpillFile {

  /** @param stored bytes in the file, where a block of `bytes` bytes is */
  private final case class Piece(offset: Long, stored: Int, bytes: Int)

  private val Bits = 4

  /** Parts of a relation at each level. */
  val Fanout: Int = 1 << Bits

  /** Levels there are hash bits for. */
  val Levels: Int = 64 / Bits

  private val SmallestBlock = 8 << 10
  private val LargestBlock = 32 << 10

  /** Bytes of the blocks of one file that are being filled, where these are not very many. */
  private val OpenBytes = 2 << 20
}
