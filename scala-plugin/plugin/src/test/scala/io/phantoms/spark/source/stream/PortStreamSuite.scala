package io.phantoms.spark.source.stream

import java.net.{InetAddress, InetSocketAddress}
import java.util.Optional

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.`export`.{Exports, Flows}
import io.phantoms.spark.source.read.{ColumnForm, RecordColumn}
import io.phantoms.spark.source.wire.{Policy, WireException}

import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.catalyst.InternalRow
import org.scalatest.funsuite.AnyFunSuite

/** A stream of datagrams, call by call as Spark makes them. */
class PortStreamSuite extends AnyFunSuite {
  import Exports._

  private val columns = Array(Flows.SRCPORT, Flows.SAMPLING).zip(Seq(ColumnForm.INT, ColumnForm.LONG)).map {
    case (field, form) => new RecordColumn(form, field)
  } :+ new RecordColumn(ColumnForm.PROBLEM, -1)

  private def readers(mode: Policy) = new StreamReaders {
    override val rows = new PortReaderFactory("127.0.0.1:9", columns, Array.fill(Flows.COUNT + 1)(true), mode, None)
    override def aggregate = false
    override def column(name: String) = None
    override def groups(read: GroupedRead) = throw new UnsupportedOperationException("rows are asked for")
  }

  /** One whose datagrams are put into its ring by hand. */
  private final class Port(
      bytes: Long = 1 << 20,
      most: Option[Long] = None,
      mode: Policy = Policy.PERMISSIVE,
      maxBytes: Long = 1 << 20
  ) {
    val ring = new DatagramRing(bytes)
    var opened = Seq.empty[UdpListener]
    private val open = () => {
      opened :+= new UdpListener(new InetSocketAddress("127.0.0.1", 0), ring)
      opened.last
    }
    val stream = new PortStream(open, ring, readers(mode), most, maxBytes, 3, "127.0.0.1:9")
    def send(bytes: Array[Byte], from: String = "10.0.0.1"): Boolean =
      ring.offer(HeldDatagram.of(bytes, InetAddress.getByName(from), 4000, 0))
    def next(start: Offset): Offset = stream.latestOffset(start, stream.getDefaultReadLimit)
    def rows(start: Offset, end: Offset): Seq[Seq[(Int, Option[Long])]] =
      stream.planInputPartitions(start, end).toSeq.map { p =>
        val reader: PartitionReader[InternalRow] = stream.createReaderFactory().createReader(p)
        val rows = Seq.newBuilder[(Int, Option[Long])]
        while (reader.next()) {
          val row = reader.get()
          if (!row.isNullAt(2)) fail(row.getString(2))
          rows += row.getInt(0) -> (if (row.isNullAt(1)) None else Some(row.getLong(1)))
        }
        reader.close()
        rows.result()
      }
    def metrics: Map[String, String] = stream.metrics(Optional.empty()).asScala.toMap
    def stop(): Unit = stream.stop()
  }

  private def v9Data(ports: Int*) = v9(set(300, ports.map(u16(_)): _*))
  private val v9Template = v9(set(0, template(300, 7 -> 2)))
  private val v9Sampling =
    v9(set(1, v9Options(260, 1, 1 -> 4, 34 -> 4, 35 -> 1)), set(260, u32(0), u32(1000), u8(2)))

  test("templates and sampling of batches before; tasks that run again; batches that are planned again") {
    val port = new Port()
    val zero = port.stream.initialOffset()
    assert(port.next(zero) == null)
    port.send(v9Data(1)) // before its template
    port.send(v9Template)
    port.send(v9Data(2))
    val one = port.next(zero)
    assert(port.rows(zero, one) == Seq(Seq(1 -> None, 2 -> None)) && port.rows(
      zero,
      one
    ) == Seq(Seq(1 -> None, 2 -> None)))
    port.send(v9Sampling)
    port.send(v9Data(3, 4))
    // Before the first batch is released, and after.
    val two = port.next(one)
    val expected = Seq(Seq(3 -> Some(1000L), 4 -> Some(1000L)))
    assert(port.rows(one, two) == expected)
    port.stream.commit(one)
    assert(port.ring.begin == 3 && port.rows(one, two) == expected && port.next(two) == two)
    port.stream.commit(two)
    port.send(v9Data(5))
    val three = port.next(two)
    assert(port.rows(two, three) == Seq(Seq(5 -> Some(1000L))))
    assert(port.stream.deserializeOffset(three.json) == three)
    port.stop()
  }

  test("data waits for a template that comes with a later batch") {
    val port = new Port(mode = Policy.FAILFAST)
    val zero = port.stream.initialOffset()
    port.send(v9Data(1))
    val one = port.next(zero)
    assert(port.rows(zero, one) == Seq(Nil))
    port.stream.commit(one)
    port.send(v9Template)
    val two = port.next(one)
    assert(port.rows(one, two) == Seq(Seq(1 -> None)))
    port.stream.commit(two)
    port.send(v9Data(2))
    val three = port.next(two)
    assert(port.rows(two, three) == Seq(Seq(2 -> None)))
    port.stop()
  }

  test("data that a task gives up: by mode") {
    def sent(mode: Policy) = {
      val port = new Port(bytes = 1 << 24, mode = mode, maxBytes = 1 << 24)
      val zero = port.stream.initialOffset()
      (1 to 5000).foreach(_ => port.send(v9Data(1), "2001:db8::1"))
      (port, zero, port.next(zero))
    }
    val (failing, a, b) = sent(Policy.FAILFAST)
    val error = intercept[WireException](failing.rows(a, b)).getMessage
    assert(error.contains("no template 300 of exporter 2001:db8::1, port 4000, domain 1 came"), error)
    assert(error.startsWith("127.0.0.1:9, ") && error.contains("Mode PERMISSIVE reads on"), error)
    failing.stop()
    val (telling, c, d) = sent(Policy.PERMISSIVE)
    val part = telling.stream.planInputPartitions(c, d).head
    val reader = telling.stream.createReaderFactory().createReader(part)
    val lost = Iterator.continually(reader).takeWhile(_.next()).map(_.get().getString(2)).toSeq
    assert(lost.nonEmpty && lost.forall(_.contains("no template 300 of exporter 2001:db8::1")))
    telling.next(d)
    assert(telling.metrics("setsWithoutTemplate") == lost.size.toString)
    telling.stop()
  }

  test("data for which there is no room beside that of exporters in other tasks: FAILFAST fails when more comes") {
    def sent(mode: Policy) = {
      val port = new Port(bytes = 1 << 24, mode = mode, maxBytes = 1 << 24)
      val zero = port.stream.initialOffset()
      for (e <- 1 to 5; _ <- 1 to 4000) port.send(v9Data(e), s"10.0.0.$e")
      val one = port.next(zero)
      // No task has too much of it.
      assert(port.rows(zero, one) == Seq(Nil, Nil, Nil))
      port.send(v9Template, "10.0.0.5")
      val two = port.next(one)
      assert(port.rows(one, two) == Seq(Seq.fill(4000)(5 -> None)), "nothing of this exporter is lost")
      port.send(v9Template, "10.0.0.1")
      (port, two, port.next(two))
    }
    val (failing, a, b) = sent(Policy.FAILFAST)
    val error = intercept[WireException](failing.rows(a, b)).getMessage
    assert(error.contains("no template 300 of exporter 10.0.0.1, port 4000, domain 1 came"), error)
    failing.stop()
    val (reading, c, d) = sent(Policy.PERMISSIVE)
    val lost = reading.metrics("setsWithoutTemplate").toInt
    assert(lost > 1000 && reading.rows(c, d) == Seq(Seq.fill(4000 - lost)(1 -> None)))
    reading.stop()
  }

  test("exporters are told apart, and divided among tasks") {
    val port = new Port()
    val zero = port.stream.initialOffset()
    port.send(v9Template, "10.0.0.1")
    (1 to 5).foreach(i => port.send(v9Data(i), s"10.0.0.$i"))
    port.send(ipfix(set(2, template(300, 7 -> 2)), set(300, u16(9))), "2001:db8::1")
    port.send(bytes(v5Header(1, sampling = 7), v5Record()), "10.0.0.2")
    val one = port.next(zero)
    val rows = port.rows(zero, one)
    assert(rows.size == 3 && rows.flatten.toSet == Set(1 -> None, 9 -> None, 51515 -> Some(7L)))
    port.stream.commit(one)
    val m = port.metrics
    assert(m("exporters") == "6" && m("datagrams.10.0.0.1") == "2" && m("datagrams.2001:db8::1") == "1")
    port.stop()
  }

  test("what does not fit is dropped and counted; what is released makes room") {
    val port = new Port(bytes = 10 * (128L + v9Data(1).length))
    val zero = port.stream.initialOffset()
    val taken = (1 to 25).map(i => port.send(v9Data(i)))
    assert(taken.count(identity) == 10)
    val one = port.next(zero)
    assert(port.metrics("datagramsReceived") == "25" && port.metrics("datagramsDropped") == "15")
    assert(port.metrics("bytesDropped") == (15 * v9Data(1).length).toString && port.metrics("datagramsHeld") == "10")
    port.stream.commit(one)
    assert(port.metrics("ringBytes") == "0" && port.send(v9Data(1)))
    assert(port.metrics("datagramsMalformed") == "0")
    port.stop()
  }

  test("a ring that one batch filled is empty when the next is asked for, though nobody has committed the batch") {
    val size = 128L + v9Data(1).length
    val port = new Port(bytes = 3 * size, most = Some(Long.MaxValue))
    (1 to 4).foreach(i => port.send(v9Data(i)))
    val one = port.next(port.stream.initialOffset())
    assert(port.metrics("datagramsHeld") == "3")
    assert(port.next(one) == one && port.metrics("datagramsHeld") == "0")
    assert(port.send(v9Template) && port.send(v9Data(5)))
    val two = port.next(one)
    assert(two != one && port.rows(one, two) == Seq(Seq(1, 2, 3, 5).map(_ -> None)))
    port.stream.commit(one)
    assert(port.metrics("datagramsHeld") == "2" && port.metrics("datagrams.10.0.0.1") == "3")
    port.stop()
  }

  test("so many a batch, and a run that ends with what there was when it began") {
    val port = new Port(most = Some(4))
    var at = port.stream.initialOffset()
    port.stream.prepareForTriggerAvailableNow()
    (1 to 10).foreach(i => port.send(v9Data(i)))
    val ends = Seq.fill(4) {
      at = port.next(at)
      port.send(v9Data(11))
      at.asInstanceOf[DatagramOffset].datagram
    }
    assert(ends == Seq(4, 8, 10, 10))
    assert(port.stream.latestOffset(at, ReadLimit.allAvailable()) == at)
    port.stop()
  }

  test("so many bytes a batch, one datagram at least") {
    val size = 128L + v9Data(1).length
    for ((maxBytes, expected) <- Seq(3 * size -> Seq(3, 6, 7, 7), 1L -> Seq(1, 2, 3, 4))) {
      val port = new Port(maxBytes = maxBytes)
      (1 to 7).foreach(i => port.send(v9Data(i)))
      val ends = Iterator.iterate(port.stream.initialOffset())(port.next).drop(1).take(4).toSeq
      assert(ends.map(_.asInstanceOf[DatagramOffset].datagram) == expected)
      port.stop()
    }
  }

  test("the port is bound once, when the first batch is asked for, and let go of when the stream stops") {
    val port = new Port()
    port.stream.initialOffset()
    port.stream.prepareForTriggerAvailableNow()
    assert(port.opened.isEmpty && port.stream.toString == "lfta[udp 127.0.0.1:9]")
    val unused = new Port()
    unused.stop()
    assert(unused.opened.isEmpty)
    port.next(port.stream.initialOffset())
    port.next(port.stream.initialOffset())
    val at = new InetSocketAddress("127.0.0.1", port.opened.head.port)
    assert(port.opened.size == 1 && port.stream.toString == s"lfta[udp 127.0.0.1:${at.getPort}]")
    port.stop()
    new UdpListener(at, port.ring).close()
  }

  test("after a restart, what the listener before had is gone, and what comes is read") {
    val port = new Port()
    val (before, unfinished) = (DatagramOffset("another", 3), DatagramOffset("another", 9))
    assert(port.next(unfinished) == unfinished)
    assert(port.rows(before, unfinished).isEmpty)
    assert(port.rows(port.stream.initialOffset(), unfinished).isEmpty)
    port.stream.commit(unfinished)
    port.send(v9Template)
    port.send(v9Data(1))
    val next = port.next(unfinished)
    assert(port.rows(unfinished, next) == Seq(Seq(1 -> None)))
    port.stream.commit(next)
    assert(port.ring.begin == 2)
    port.stop()
  }

  test("malformed datagrams by mode") {
    val port = new Port(mode = Policy.DROPMALFORMED)
    val zero = port.stream.initialOffset()
    port.send("hello".getBytes)
    port.send(bytes(v5Header(1), v5Record()))
    val one = port.next(zero)
    assert(port.rows(zero, one).flatten.map(_._1) == Seq(51515))
    port.stream.commit(one)
    assert(port.metrics("datagramsMalformed") == "1")
    port.stop()
  }
}
