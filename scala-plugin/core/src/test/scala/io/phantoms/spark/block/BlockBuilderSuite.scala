package io.phantoms.spark.block

import java.nio.{ByteBuffer, ByteOrder}

import scala.util.Random

import io.phantoms.spark.block.SpareArrays
import io.phantoms.spark.memory.MemoryReserve

import org.scalatest.funsuite.AnyFunSuite

class BlockBuilderSuite extends AnyFunSuite {
  private val prefix = 2

  private def bytes(words: Array[Long], count: Int): Array[Byte] = {
    val buffer = ByteBuffer.allocate(8 * count).order(ByteOrder.nativeOrder())
    words.take(count).foreach(buffer.putLong)
    buffer.array()
  }

  private def blocks(stride: Int, source: Array[Long], packing: Boolean): (Seq[Array[Byte]], Long) = {
    val builder = new BlockBuilder(5, stride, prefix, 1 << 10, packing)
    val result = Seq.newBuilder[Array[Byte]]
    def finish(): Unit = {
      val block = builder.finish(null)
      assert(block.length >= prefix + builder.finishedWords())
      result += bytes(block.drop(prefix), builder.finishedWords())
    }
    source.indices.by(stride).foreach(i => if (builder.add(source, i)) finish())
    if (builder.records() > 0) finish()
    (result.result(), builder.saved())
  }

  private def read(stride: Int, blocks: Seq[Array[Byte]]): Seq[Long] = blocks.flatMap { b =>
    // Whatever the buffer held before must not show.
    val words = Array.fill(BlockFormat.records(b, 0) * stride)(-1L)
    BlockFormat.readRecords(b, 0, stride, words)
    words
  }

  for (packing <- Seq(false, true)) {
    test(s"blocks hold the records added, the first, full ones and the last alike, packing $packing") {
      val stride = 3
      val source = Array.tabulate(stride * 1000)(_.toLong)
      val (made, saved) = blocks(stride, source, packing)
      assert(made.size > 10)
      assert(made.forall(BlockFormat.relation(_, 0) == 5))
      assert(read(stride, made) == source.toSeq)
      assert(8 * saved == 8L * (source.length + 2 * made.size) - made.map(_.length).sum)
      assert((saved > source.length / 2) == packing)
    }
  }

  test("halves of any width are packed without loss") {
    val random = new Random(11)
    for (_ <- 0 until 500) {
      val stride = 1 + random.nextInt(9)
      // A width and an offset for each half, now and then the extremes.
      def half(): () => Long = {
        val width = random.nextInt(33)
        val base = if (random.nextInt(3) == 0) 0L else random.nextInt().toLong & 0xffffffffL
        () => (base + (random.nextLong() & ((1L << width) - 1))) & 0xffffffffL
      }
      val halves = Array.fill(2 * stride)(half())
      val source = Array.tabulate(stride * (1 + random.nextInt(200))) { i =>
        halves(2 * (i % stride))() | halves(2 * (i % stride) + 1)() << 32
      }
      assert(read(stride, blocks(stride, source, packing = true)._1) == source.toSeq)
    }
  }

  test("what packing would not shorten stays as it is") {
    val random = new Random(12)
    val source = Array.fill(2 * 500)(random.nextLong())
    val (made, saved) = blocks(2, source, packing = true)
    assert(saved == 0 && read(2, made) == source.toSeq)
  }

  test("equal records take a few words a block") {
    val (made, _) = blocks(4, Array.fill(4 * 32)(Long.MinValue), packing = true)
    assert(made.map(_.length).sum <= made.size * 8 * (2 + PackedRecords.layoutWords(4)))
  }

  for (packing <- Seq(false, true))
    test(s"bodies come out as they went in, beside values of a dictionary, packing $packing") {
      val random = new Random(14)
      val memory = new MemoryReserve {
        override def reserve(bytes: Long): Unit = ()
        override def release(bytes: Long): Unit = ()
      }
      val (task, reader) = (new ByteDictionary(memory), new ByteDictionary(memory))
      val builder = new BlockBuilder(5, 2, prefix, 1 << 10, packing)
      var (added, found) = (Vector.empty[(Vector[Byte], Vector[Byte])], Vector.empty[(Vector[Byte], Vector[Byte])])
      def finish(): Unit = {
        val words = builder.finish(task)
        val block = bytes(words.drop(prefix), builder.finishedWords())
        val records = new Array[Long](2 * BlockFormat.records(block, 0))
        BlockFormat.readRecords(block, 0, 2, records)
        val places = BlockFormat.readValues(block, 0, 2, reader)
        found ++= records.grouped(2).map { r =>
          val id = places(r(0).toInt)
          val value = reader.chunk(id).slice(reader.offset(id), reader.offset(id) + reader.length(id))
          (value.toVector, BlockFormat.readBody(block, places(r(1).toInt)).toVector)
        }
      }
      // Many different values, so that the block's index of them grows between bodies.
      for (i <- 0 until 3000) {
        val value = s"value ${random.nextInt(if (i < 1500) 5 else 2000)}".getBytes
        val body = new Array[Byte](random.nextInt(40))
        random.nextBytes(body)
        added :+= (value.toVector -> body.toVector)
        val full = builder.add(Array(0L, 0L), 0)
        builder.patch(1, builder.body(body).toLong)
        builder.patch(0, builder.localId(task.intern(value, 0, value.length), task).toLong)
        if (full) finish()
      }
      if (builder.records() > 0) finish()
      assert(found == added)
      assert(reader.size == task.size)
    }

  for (packing <- Seq(false, true); stride <- Seq(3, 8)) {
    test(s"arrays given back hold the next full blocks, packing $packing, stride $stride") {
      val random = new Random(13)
      val source = Array.fill(stride * 2000)(random.nextInt(1000).toLong)
      val size = 1 << 10
      val spares = new SpareArrays(BlockBuilder.words(prefix, size))
      val builder = new BlockBuilder(5, stride, prefix, size, packing, spares)
      val made = Seq.newBuilder[Array[Byte]]
      var arrays = Vector.empty[Array[Long]]
      def finish(): Unit = {
        val block = builder.finish(null)
        made += bytes(block.drop(prefix), builder.finishedWords())
        arrays :+= block
        java.util.Arrays.fill(block, -1L)
        spares.give(block)
      }
      source.indices.by(stride).foreach { i =>
        // By both ways in.
        val full =
          if (i % 2 == 0) builder.add(source, i)
          else {
            val at = builder.next()
            (0 until stride).foreach(w => builder.words()(at + w) = source(i + w))
            builder.added()
          }
        if (full) finish()
      }
      if (builder.records() > 0) finish()
      val expected = blocks(stride, source, packing)._1
      assert(made.result().map(_.toVector) == expected.map(_.toVector))
      val distinct = arrays.map(System.identityHashCode).distinct.size
      assert(arrays.size > 10 && distinct <= 4)
    }
  }

  test("arrays of another length are not kept, nor more than a few") {
    val spares = new SpareArrays(10)
    spares.give(new Array[Long](9))
    assert(spares.size == 0)
    val first = spares.take(3)
    assert(first.length == 10 && spares.take(11).length == 11)
    spares.give(first)
    assert((spares.take(10) eq first) && spares.size == 0)
    (0 until 1000).foreach(_ => spares.give(new Array[Long](10)))
    assert(spares.size <= 64)
  }
}
