package io.phantoms.spark.source.wire

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, EOFException, IOException, InputStream}
import java.util.zip.GZIPOutputStream

import scala.util.Random

import com.github.luben.zstd.{Zstd, ZstdCompressCtx}
import io.phantoms.spark.source.wire.Wire._

import org.scalatest.funsuite.AnyFunSuite

class ByteSupplySuite extends AnyFunSuite {
  private val frame = ethernet(0x800, ipv4(17, udp(1, 2, hex("0102"))))
  private val capture = pcap((0 until 5000).map(i => Kept(1700000000L + i, i.toLong, frame)))

  private def gzip(bytes: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val gz = new GZIPOutputStream(out)
    gz.write(bytes)
    gz.close()
    out.toByteArray
  }

  private def all(supply: ByteSupply): Array[Byte] = {
    val out = new ByteArrayOutputStream
    while (supply.ensure(1)) {
      out.write(supply.buffer, supply.position, supply.available)
      assert(supply.skip(supply.available.toLong))
    }
    out.toByteArray
  }

  test("bytes are contiguous where they were asked for, whatever pieces they come in") {
    val random = new Random(1)
    val bytes = new Array[Byte](300000)
    random.nextBytes(bytes)
    for (piece <- Seq(1, 17, 4096, Int.MaxValue); size <- Seq(1, 64, 100000)) {
      val supply = new ByteSupply("f", new Memory(bytes, piece).open(1000), 1000, Compression.NONE, size)
      var at = 1000
      while (at < bytes.length) {
        val n = (1 + random.nextInt(5000)).min(bytes.length - at)
        assert(supply.ensure(n) && supply.offset == at)
        assert(java.util.Arrays.equals(supply.buffer, supply.position, supply.position + n, bytes, at, at + n))
        val over = random.nextInt(n + 1)
        assert(supply.skip(over.toLong))
        at += over
        val far = random.nextInt(9000).min(bytes.length - at)
        assert(supply.skip(far.toLong) && supply.offset == at + far)
        at += far
      }
      assert(!supply.ensure(1) && supply.available == 0 && supply.offset == bytes.length)
      assert(!supply.skip(1))
    }
  }

  test("a length that lies costs nothing") {
    val supply = new ByteSupply("f", new ByteArrayInputStream(new Array[Byte](10)), 0, Compression.NONE, 16)
    assert(!supply.ensure(ByteSupply.MOST) && supply.buffer.length <= 64 && supply.available == 10)
    assertThrows[IllegalArgumentException](supply.ensure(ByteSupply.MOST + 1))
  }

  test("gzip of one member and of several, zstd of one frame and of several") {
    val (a, b) = capture.splitAt(100001)
    val zeros = new Array[Byte](512)
    val named = gzip(a)
    val header = hex("1f8b 08 1e 00000000 00ff 0300 010203") ++ "name\u0000comment\u0000".getBytes ++ hex("abcd")
    for (
      (what, bytes) <- Seq(
        "gzip" -> gzip(capture),
        "members" -> (gzip(a) ++ gzip(Array()) ++ gzip(b)),
        "padded" -> (gzip(a) ++ gzip(b) ++ zeros),
        "named" -> (header ++ named.drop(10) ++ gzip(b)),
        "zstd" -> Zstd.compress(capture),
        "frames" -> (Zstd.compress(a) ++ Zstd.compress(b)),
        "skipped" -> (hex("502a4d18 04000000 01020304") ++ Zstd.compress(capture))
      ); piece <- Seq(1000, 65536)
    ) {
      val file = new Memory(bytes, piece)
      val supply = ByteSupply.decompressed("f", file.open(0))
      assert(supply.compression == (if (bytes(0) == 0x1f) Compression.GZIP else Compression.ZSTD), what)
      assert(supply.isCompressed && supply.head(24).sameElements(capture.take(24)))
      assert(all(supply).sameElements(capture), what)
      assert(supply.failure == null)
      supply.close()
      assert(file.closed == 1)
      assert(read(bytes, piece = piece).rows.size == 5000)
    }
    val plain = ByteSupply.decompressed("f", new Memory(capture, 3).open(0))
    assert(plain.compression == Compression.NONE && !plain.isCompressed && all(plain).sameElements(capture))
  }

  test("a compressed file is read by who has its beginning, and is not divided") {
    val file = new Memory(gzip(capture))
    assert(CaptureFiles.splits(file, 100).size == 1)
    val parts = Seq((0L, 100L), (100L, file.length)).map { case (from, to) =>
      readAll(CaptureFiles.open(file, from, to, Policy.FAILFAST, null)).rows.size
    }
    assert(parts == Seq(5000, 0))
    assert(file.closed == file.opened.size)
  }

  test("compressed files that break off or are damaged: what came before, and one problem") {
    val random = new Random(7)
    val noisy = pcap((0 until 5000).map { i =>
      val payload = new Array[Byte](200)
      random.nextBytes(payload)
      Kept(1700000000L + i, i.toLong, ethernet(0x800, ipv4(17, udp(1, 2, payload))))
    })
    val checked = new ZstdCompressCtx().setChecksum(true)
    for (bytes <- Seq(gzip(noisy), checked.compress(noisy))) {
      for (broken <- Seq(bytes.take(bytes.length / 2), bytes.dropRight(1), bytes.take(20))) {
        val result = read(broken, Policy.PERMISSIVE)
        assert(result.rows.count(_.contains("problem")) == 1 && result.rows.last.contains("problem"))
        val c = result.counters
        assert(c.packets == c.decoded + c.malformed && c.malformed == 1)
        assert(read(broken, Policy.DROPMALFORMED).rows == result.rows.init)
        val error = intercept[WireException](read(broken))
        assert(error.getMessage.contains("memory:/capture"))
      }
      val flipped = bytes.clone()
      flipped(bytes.length / 2) = (flipped(bytes.length / 2) ^ 0x55).toByte
      val c = read(flipped, Policy.PERMISSIVE).counters
      assert(c.malformed >= 1 && c.packets == c.decoded + c.malformed)
    }
    val half = read(gzip(noisy).take(gzip(noisy).length / 2), Policy.PERMISSIVE).rows.size
    assert(half > 2000 && half < 3000)
    val second = gzip(capture) ++ gzip(capture).take(5)
    assert(read(second, Policy.PERMISSIVE).rows.last("problem").toString.contains("the gzip stream ends in a header"))
    val garbage = gzip(capture) ++ "garbage".getBytes
    assert(read(garbage, Policy.PERMISSIVE).rows.last("problem").toString.contains("what follows a gzip member"))
    val wrongSum = gzip(capture)
    wrongSum(wrongSum.length - 8) = (wrongSum(wrongSum.length - 8) ^ 1).toByte
    assert(read(wrongSum, Policy.PERMISSIVE).rows.last("problem").toString.contains("checksum"))
  }

  test("an error of the storage is no damage of the file") {
    class Failing(in: InputStream, error: IOException) extends InputStream {
      private var left = 100000
      override def read(): Int = throw new UnsupportedOperationException
      override def read(to: Array[Byte], from: Int, length: Int): Int = {
        if (left == 0) throw error
        val n = in.read(to, from, length.min(left))
        left -= n
        n
      }
    }
    val long = capture ++ Array.fill(1 << 20)(Random.nextInt().toByte)
    for (
      bytes <- Seq(capture, gzip(long), Zstd.compress(long));
      thrown <- Seq(new IOException("connection reset"), new EOFException("end of the block reached"))
    ) {
      val file = new CaptureFile {
        override def path(): String = "f"
        override def length(): Long = bytes.length.toLong
        override def open(offset: Long): InputStream = new Failing(new Memory(bytes).open(offset), thrown)
      }
      val reader = CaptureFiles.open(file, 0, bytes.length.toLong, Policy.PERMISSIVE, null)
      val error = intercept[IOException](readAll(reader))
      assert(error eq thrown)
    }
  }

  test("a file whose first bytes cannot be read is closed") {
    var closed = 0
    val broken = new CaptureFile {
      override def path(): String = "f"
      override def length(): Long = 100
      override def open(offset: Long): InputStream = new InputStream {
        override def read(): Int = throw new IOException("connection reset")
        override def close(): Unit = {
          closed += 1
          throw new IOException("nor closed")
        }
      }
    }
    for (
      use <- Seq(() => CaptureFiles.open(broken, 0, 100, Policy.PERMISSIVE, null), () => CaptureFiles.splits(broken, 1))
    ) {
      val error = intercept[IOException](use())
      assert(error.getMessage == "connection reset" && error.getSuppressed.map(_.getMessage).toSeq == Seq("nor closed"))
    }
    assert(closed == 2)
  }
}
