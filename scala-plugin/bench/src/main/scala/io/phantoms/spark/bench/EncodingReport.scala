package io.phantoms.spark.bench

import java.nio.file.{Files, Paths}
import java.util.Locale

import io.phantoms.spark.block.{BlockBuilder, BlockFormat}
import io.phantoms.spark.physical.LftaExec
import io.phantoms.spark.run.LftaTask
import net.jpountz.lz4.LZ4Factory

import org.apache.spark.sql.SparkSession

/**
 * What the blocks of a query weigh in several encodings, with and without the compression that Spark's shuffle adds, and
 * what encoding and decoding them costs: real blocks, taken from the map side of the query's plan.
 *
 * Usage: `EncodingReport PARQUET SQL_FILE JSON_FILE`; the query reads the view `t`.
 */
object EncodingReport {

  /** Every so many blocks are measured. */
  private val Sampled = 8
  private val Rounds = 7

  /** Records of one block, not encoded. */
  private final case class Records(stride: Int, count: Int, words: Array[Long])

  /** Rewrites records so that packing finds smaller numbers, and back; answers bytes that have to travel beside them. */
  private trait Encoding {
    def name: String
    def packs: Boolean = true
    def encode(r: Records, into: Array[Long]): Int
    def decode(r: Records, words: Array[Long]): Unit
  }

  private final class AsIs(val name: String, override val packs: Boolean) extends Encoding {
    override def encode(r: Records, into: Array[Long]): Int = {
      System.arraycopy(r.words, 0, into, 0, r.words.length)
      0
    }
    override def decode(r: Records, words: Array[Long]): Unit = ()
  }

  /** The difference of every half word to the one before it, small ones of either sign as small numbers. */
  private object Delta extends Encoding {
    override def name: String = "delta, packed"
    private def zigzag(d: Int): Int = (d << 1) ^ (d >> 31)
    override def encode(r: Records, into: Array[Long]): Int = {
      var i = 0
      while (i < r.words.length) {
        val before = if (i < r.stride) 0L else r.words(i - r.stride)
        val low = zigzag(r.words(i).toInt - before.toInt)
        val high = zigzag((r.words(i) >>> 32).toInt - (before >>> 32).toInt)
        into(i) = (high.toLong << 32) | (low & 0xffffffffL)
        i += 1
      }
      0
    }
    override def decode(r: Records, words: Array[Long]): Unit = {
      var i = 0
      while (i < r.words.length) {
        val before = if (i < r.stride) 0L else words(i - r.stride)
        val (low, high) = (words(i).toInt, (words(i) >>> 32).toInt)
        val l = ((low >>> 1) ^ -(low & 1)) + before.toInt
        val h = ((high >>> 1) ^ -(high & 1)) + (before >>> 32).toInt
        words(i) = (h.toLong << 32) | (l & 0xffffffffL)
        i += 1
      }
    }
  }

  /** Every half word as its place among the block's different ones, where these are fewer than half of the records. */
  private object PerColumnDictionary extends Encoding {
    override def name: String = "dictionary, packed"
    private var values: Array[Array[Int]] = Array.empty
    override def encode(r: Records, into: Array[Long]): Int = {
      java.util.Arrays.fill(into, 0L)
      val size = Integer.highestOneBit(math.max(16, 4 * r.count - 1)) << 1
      val index = new Array[Int](size)
      var bytes = 0
      values = Array.tabulate(2 * r.stride) { column =>
        val (w, shift) = (column / 2, 32 * (column % 2))
        java.util.Arrays.fill(index, 0)
        val found = new Array[Int](r.count)
        var distinct = 0
        var i = 0
        while (i < r.count && 2 * distinct <= r.count) {
          val v = (r.words(i * r.stride + w) >>> shift).toInt
          var p = (v * 0x9e3779b1) >>> 8 & size - 1
          while (index(p) != 0 && found(index(p) - 1) != v) p = p + 1 & size - 1
          if (index(p) == 0) {
            found(distinct) = v
            distinct += 1
            index(p) = distinct
          }
          into(i * r.stride + w) |= (index(p) - 1).toLong << shift
          i += 1
        }
        if (2 * distinct <= r.count) {
          bytes += 4 * distinct
          found
        } else {
          i = 0
          while (i < r.count) {
            val at = i * r.stride + w
            into(at) = (into(at) & ~(0xffffffffL << shift)) | (r.words(at) & 0xffffffffL << shift)
            i += 1
          }
          null
        }
      }
      bytes
    }
    override def decode(r: Records, words: Array[Long]): Unit =
      values.indices.filter(values(_) != null).foreach { column =>
        val (w, shift) = (column / 2, 32 * (column % 2))
        val found = values(column)
        var at = w
        while (at < words.length) {
          val v = found((words(at) >>> shift).toInt) & 0xffffffffL
          words(at) = (words(at) & ~(0xffffffffL << shift)) | (v << shift)
          at += r.stride
        }
      }
  }

  private val encodings =
    Seq(new AsIs("fixed width", packs = false), new AsIs("packed", packs = true), Delta, PerColumnDictionary)

  def main(args: Array[String]): Unit = {
    val blocks = records(args(0), Files.readString(Paths.get(args(1))))
    val json = encodings.map(e => measured(e, blocks)).mkString(",\n")
    val count = blocks.map(_.count.toLong).sum
    val _ = Files.writeString(
      Paths.get(args(2)),
      s"""{\n  "name": "encodings",\n  "blocks": ${blocks.size},\n  "records": $count,\n  "encodings": [\n$json\n  ]\n}\n"""
    )
  }

  private def records(path: String, query: String): Seq[Records] = {
    val spark = SparkSession.builder().master("local[2]")
      .config("spark.sql.extensions", "io.phantoms.spark.PhantomsExtensions")
      .config("spark.sql.adaptive.enabled", "false")
      .config("spark.phantoms.blocks.packed", "false")
      .config("spark.ui.enabled", "false")
      .getOrCreate()
    try {
      spark.read.parquet(path).createOrReplaceTempView("t")
      val plan = spark.sql(query).queryExecution.executedPlan
      val lfta = plan.collectFirst { case l: LftaExec => l }
        .getOrElse(throw new IllegalArgumentException("the plugin leaves this query alone: it has no blocks"))
      val strides = lfta.spec.layouts.map(_.stride)
      val blocks = lfta.execute().map(_.getBinary(1)).zipWithIndex().filter(_._2 % Sampled == 0).map(_._1).collect()
      blocks.toSeq.filter(b => BlockFormat.records(b, 0) > 0).map { b =>
        val stride = strides(BlockFormat.relation(b, 0))
        val count = BlockFormat.records(b, 0)
        val words = new Array[Long](stride * count)
        BlockFormat.readRecords(b, 0, stride, words)
        Records(stride, count, words)
      }
    } finally spark.stop()
  }

  /** One encoding's line: bytes, and the median over some rounds of ns a record of each step. */
  private def measured(encoding: Encoding, blocks: Seq[Records]): String = {
    val compressor = LZ4Factory.fastestInstance().fastCompressor()
    val decompressor = LZ4Factory.fastestInstance().fastDecompressor()
    val count = blocks.map(_.count.toLong).sum.toDouble
    val rounds = Seq.fill(Rounds) {
      var (bytes, compressed) = (0L, 0L)
      val ns = new Array[Long](4)
      blocks.foreach { r =>
        val into = new Array[Long](r.words.length)
        val t0 = System.nanoTime()
        val beside = encoding.encode(r, into)
        val block = pack(r, into, encoding.packs)
        val t1 = System.nanoTime()
        val out = new Array[Byte](compressor.maxCompressedLength(block.length))
        val length = compressor.compress(block, 0, block.length, out, 0)
        val t2 = System.nanoTime()
        val back = new Array[Byte](block.length)
        decompressor.decompress(out, 0, back, 0, back.length)
        val t3 = System.nanoTime()
        val words = new Array[Long](r.words.length)
        BlockFormat.readRecords(back, 0, r.stride, words)
        encoding.decode(r, words)
        val t4 = System.nanoTime()
        require(java.util.Arrays.equals(words, r.words), s"${encoding.name} does not give back what it was given")
        bytes += block.length + beside
        compressed += length + beside
        Seq(t1 - t0, t2 - t1, t3 - t2, t4 - t3).zipWithIndex.foreach { case (t, i) => ns(i) += t }
      }
      (bytes, compressed, ns.map(_ / count))
    }
    val (bytes, compressed, _) = rounds.head
    def median(step: Int): String = number(rounds.map(_._3(step)).sorted.apply(Rounds / 2))
    println(
      f"${encoding.name}%-20s ${bytes / count}%6.1f bytes a record, lz4 ${compressed / count}%6.1f; " +
        s"ns: encode ${median(0)}, lz4 ${median(1)}, back ${median(2)}, decode ${median(3)}"
    )
    s"""    {"encoding": "${encoding.name}", "bytes": ${number(bytes / count)}, "lz4_bytes": ${number(
        compressed / count
      )}, """ +
      s""""encode_ns": ${median(0)}, "lz4_ns": ${median(1)}, "unlz4_ns": ${median(2)}, "decode_ns": ${median(3)}}"""
  }

  private def pack(r: Records, words: Array[Long], packed: Boolean): Array[Byte] = {
    val builder = new BlockBuilder(0, r.stride, 0, 4 * LftaTask.LargestBlock, packed)
    for (i <- 0 until r.count) builder.add(words, i * r.stride)
    val block = builder.finish(null)
    val bytes = java.nio.ByteBuffer.allocate(8 * builder.finishedWords()).order(java.nio.ByteOrder.nativeOrder())
    bytes.asLongBuffer().put(block, 0, builder.finishedWords())
    bytes.array()
  }

  private def number(x: Double): String = String.format(Locale.ROOT, "%.2f", x)
}
