package io.phantoms.spark.lfta

import java.nio.{ByteBuffer, ByteOrder}

import org.scalatest.funsuite.AnyFunSuite

class BlockBuilderSuite extends AnyFunSuite {

  private def bytes(words: Array[Long], count: Int): Array[Byte] = {
    val buffer = ByteBuffer.allocate(8 * count).order(ByteOrder.nativeOrder())
    words.take(count).foreach(buffer.putLong)
    buffer.array()
  }

  test("blocks hold the records added, the first, full ones and the last alike") {
    val (stride, prefix) = (3, 2)
    val builder = new BlockBuilder(5, stride, prefix, 1 << 10)
    val source = Array.tabulate(3 * 1000)(_.toLong)
    val blocks = Seq.newBuilder[Array[Byte]]
    def finish(): Unit = {
      val words = builder.finishedWords()
      val block = builder.finish(null)
      assert(block.length >= prefix + words)
      blocks += bytes(block.drop(prefix), words)
    }
    (0 until 1000).foreach(i => if (builder.add(source, i * stride)) finish())
    if (builder.records() > 0) finish()
    val result = blocks.result()
    assert(result.size > 10)
    assert(result.forall(BlockFormat.relation(_, 0) == 5))
    val words = result.flatMap { b =>
      (0 until BlockFormat.records(b, 0) * stride).map(w => BlockFormat.word(b, BlockFormat.recordsAt(0) + 8 * w))
    }
    assert(words == source.toSeq)
  }
}
