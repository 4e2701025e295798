package io.phantoms.spark.source.`export`

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, IOException, InputStream}
import java.util.zip.GZIPOutputStream

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.source.wire.{ByteSupply, Policy, WireCounters, WireException}

/** Files of datagrams, one after another. */
class ExportReaderSuite extends AnyFunSuite {
  import Exports._

  private val fields = template(256, 7 -> 2, 8 -> 4)
  private def data(port: Int) = set(256, bytes(u16(port), ip("10.0.0.1")))

  private def v5(port: Int) = v5Header(1) ++ v5Record(ports = (port, 1))
  private def nine(port: Int) = v9(set(0, fields), data(port))
  private def ten(port: Int) = ipfix(set(2, fields), data(port))

  private def from(stored: InputStream, policy: Policy): ExportReader =
    new ExportReader(ByteSupply.decompressed("flows.nf", stored), policy, All)

  test("v5, v9 and IPFIX by turns, in pieces of any size") {
    val file = bytes(v5(1), nine(2), ten(3), nine(4), nine(5), v5(6), v5(7), ten(8), ten(9), v5(10))
    val whole = read(file, Policy.FAILFAST)
    assert(whole.column("srcport") == (1 to 10))
    assert(whole.column("version") == Seq(5, 9, 10, 9, 9, 5, 5, 10, 10, 5))
    val offsets = whole.column("_file_offset").map(_.asInstanceOf[Long].toInt)
    assert(offsets.take(4) == Seq(0, 72, 72 + nine(2).length, 72 + nine(2).length + ten(3).length))
    assert(whole.counters.packets == 10 && whole.counters.bytes == file.length)
    Seq(1, 2, 7, 100).foreach { size =>
      val pieces = new InputStream {
        private val all = new ByteArrayInputStream(file)
        override def read(): Int = all.read()
        override def read(b: Array[Byte], from: Int, length: Int): Int = all.read(b, from, length min size)
      }
      assert(drain(from(pieces, Policy.FAILFAST)).flows == whole.flows)
    }
  }

  test("more than fits the buffer") {
    val n = 20000
    val file = (1 to n).flatMap(i => Seq(v5(i), nine(i), ten(i))).toArray.flatten
    assert(file.length > 3000000)
    val decoded = read(file, Policy.FAILFAST)
    assert(decoded.column("srcport") == (1 to n).flatMap(i => Seq(i, i, i)))
    assert(decoded.counters.bytes == file.length && decoded.counters.packets == 3 * n)
  }

  test("a datagram of the greatest length") {
    val long = set(257, zeros(65535 - 16 - 4))
    val file = bytes(ipfix(long), ten(1), v9(set(257, zeros(65535 - 20 - 4))), nine(2))
    assert(read(file).column("srcport") == Seq(1, 2))
  }

  test("no records in an empty file") {
    val decoded = read(Array.emptyByteArray, Policy.FAILFAST)
    assert(decoded.flows.isEmpty && decoded.counters.bytes == 0 && decoded.counters.packets == 0)
  }

  test("a file of something else is an error in every mode, which names how it begins") {
    Policy.values.foreach { policy =>
      val text = intercept[WireException](read("some text, and more of it".getBytes, policy))
      assert(text.offset == 0 && text.file == "flows.nf")
      assert(text.getMessage.contains("73 6f 6d 65 20 74 65 78"))
      Seq("a50c 0001 00000000", "0ca5 0100 00000000").foreach { magic =>
        val nfdump = intercept[WireException](read(hex(magic) ++ zeros(100), policy))
        assert(nfdump.getMessage.contains("nfdump's own format"))
      }
      assert(intercept[WireException](read(u8(0), policy)).getMessage.contains("begins with 00"))
    }
  }

  test("recognised by the first bytes") {
    def recognised(head: Array[Byte]) = ExportReader.recognises(head, head.length)
    Seq(v5(1), nine(1), ten(1), ipfix()).foreach { file =>
      assert(recognised(file))
      assert(recognised(file.take(24)))
      assert(!recognised(file.take(15)))
      assert(!recognised(file.updated(1, 6.toByte)))
    }
    Seq(
      v5Header(0),
      v5Header(31),
      v5Header(1).take(23),
      u16(9, 0) ++ zeros(16),
      v9(set(2, zeros(4))),
      v9(u16(256, 3)),
      hex("000a 000f") ++ zeros(12),
      hex("000a 0011") ++ zeros(16),
      ipfix(set(4, zeros(4))),
      hex("d4c3b2a1 0200 0400") ++ zeros(16),
      hex("0a0d0d0a 1c000000") ++ zeros(20)
    ).foreach(head => assert(!recognised(head), show(head)))
  }

  test("the last datagram is cut: what is whole of it, and a problem") {
    Seq(
      v5Header(3) ++ v5Record() ++ v5Record() ++ v5Record(),
      v9(set(0, fields), data(7), data(8)),
      ipfix(set(2, fields), data(7), data(8))
    ).foreach { last =>
      (1 until last.length).foreach { n =>
        val file = ten(1) ++ last.take(n)
        val decoded = read(file)
        assert(decoded.column("srcport").head == 1)
        assert(decoded.problems.size == 1 || last(1) == 9 && Set(36, 46).contains(n), s"$n: ${decoded.problems}")
        val c = decoded.counters
        assert(c.bytes == file.length && c.packets == c.decoded + c.malformed && c.flows == decoded.flows.size)
        assert(c.unreadableBytes == (if (n < 4) n else 0))
        assert(read(file, Policy.DROPMALFORMED).flows == decoded.flows)
        if (decoded.problems.nonEmpty) {
          assert(intercept[WireException](read(file, Policy.FAILFAST)).offset == ten(1).length)
        }
      }
    }
  }

  test("bytes between datagrams are passed over, counted and named") {
    val garbage = Array.tabulate(1000)(i => (i * 7 + 3).toByte)
    Seq(v5(2), nine(2), ten(2)).foreach { after =>
      val file = bytes(v5(1), garbage, after, v5(3))
      val decoded = read(file)
      assert(decoded.column("srcport") == Seq(1, 2, 3))
      assert(decoded.problem.contains("1000 bytes are no datagram"))
      assert(decoded.problems.head.known == Map("_file_offset" -> 72))
      assert(decoded.counters.unreadableBytes == 1000 && decoded.counters.packets == 3)
      assert(decoded.counters.bytes == file.length && decoded.counters.malformed == 0)
      assert(read(file, Policy.DROPMALFORMED).flows == decoded.flows)
      assert(intercept[WireException](read(file, Policy.FAILFAST)).offset == 72)
    }
    val end = read(bytes(v5(1), zeros(100000)))
    assert(end.flows.size == 1 && end.counters.unreadableBytes == 100000)
  }

  test("garbage that looks like headers everywhere is passed over, every byte once") {
    val almost = Array.fill(200000)(u16(9)).flatten ++ Array.fill(100000)(hex("000a ffff")).flatten
    val decoded = read(v5(1) ++ almost)
    assert(decoded.column("srcport") == Seq(1))
    assert(decoded.counters.bytes == 72 + almost.length)
  }

  test("an IPFIX message whose length reaches into the next one loses itself only") {
    val long = ten(2).patch(2, u16(ten(2).length + 30), 2)
    val decoded = read(bytes(ten(1), long, ten(3)))
    assert(decoded.column("srcport") == Seq(1, 2, 3))
    assert(decoded.problem.contains(s"says it has ${ten(2).length + 30} bytes: there are ${ten(2).length}"))
    val short = ten(2).patch(2, u16(ten(2).length - 3), 2)
    val cut = read(bytes(ten(1), short, ten(3)))
    assert(cut.column("srcport") == Seq(1, 3))
    assert(cut.problems.size == 2 && cut.counters.unreadableBytes == 3)
  }

  test("an error of the file system is no malformed record") {
    val broken = new InputStream {
      private val head = new ByteArrayInputStream(v5(1))
      override def read(): Int = throw new IOException("the disk is gone")
      override def read(b: Array[Byte], from: Int, length: Int): Int = {
        val n = head.read(b, from, length)
        if (n > 0) n else read()
      }
    }
    assert(intercept[IOException](drain(from(broken, Policy.DROPMALFORMED))).getMessage == "the disk is gone")
  }

  test("a compressed file that breaks off: what came before, what waited in vain, and one problem") {
    val zipped = new ByteArrayOutputStream
    val out = new GZIPOutputStream(zipped)
    val whole = bytes(nine(1), v9(set(300, u32(0))), ten(2))
    out.write(whole)
    out.close()
    // The checksum is all that is missing.
    val cut = zipped.toByteArray.dropRight(8)
    def broken(policy: Policy) = drain(from(new ByteArrayInputStream(cut), policy))
    val decoded = broken(Policy.PERMISSIVE)
    assert(decoded.column("srcport") == Seq(1, 2))
    assert(decoded.problems.map(_.text).count(_.contains("no template 300")) == 1 && decoded.problems.size == 2)
    val end = decoded.problems.find(_.text.contains("gzip")).get
    assert(end.known == Map("_file_offset" -> whole.length))
    val c = decoded.counters
    assert(c.packets == 4 && c.decoded == 3 && c.malformed == 1 && c.bytes == whole.length && c.unreadableBytes == 0)
    val dropped = broken(Policy.DROPMALFORMED)
    assert(dropped.flows == decoded.flows && dropped.problems.isEmpty && dropped.counters.malformed == 1)
    val error = intercept[WireException](broken(Policy.FAILFAST))
    assert(error.offset == whole.length && error.getMessage.contains("gzip"))
    assert(drain(from(new ByteArrayInputStream(zipped.toByteArray), Policy.PERMISSIVE)).counters.malformed == 0)
  }

  test("closes what it reads") {
    var closed = false
    val in = new ByteArrayInputStream(v5(1)) {
      override def close(): Unit = closed = true
    }
    from(in, Policy.PERMISSIVE).close()
    assert(closed)
  }

  test("a source that passes over things counts them itself") {
    val counters = new WireCounters
    val source = new DatagramSource {
      private val wire = new Wire(Seq(Sent(v5(1)), Sent(v5(2))))
      private var turn = 0
      override def next(): Boolean = {
        turn += 1
        if (turn == 2) {
          counters.packets += 1
          counters.malformed += 1
          true
        } else wire.next()
      }
      override def problem(): String = if (turn == 2) "a packet that is none" else null
      override def bytes(): Array[Byte] = wire.bytes()
      override def from(): Int = wire.from()
      override def length(): Int = wire.length()
      override def offset(): Long = 100L * turn
      override def close(): Unit = ()
    }
    val decoded = drain(new ExportReader("capture.pcap", source, counters, Policy.PERMISSIVE, All))
    assert(decoded.column("srcport") == Seq(1, 2) && decoded.column("_file_offset") == Seq(100, 300))
    assert(decoded.problems == Seq(Problem("a packet that is none", Map("_file_offset" -> 200))))
    assert(counters.packets == 3 && counters.decoded == 2 && counters.malformed == 1)
  }
}
