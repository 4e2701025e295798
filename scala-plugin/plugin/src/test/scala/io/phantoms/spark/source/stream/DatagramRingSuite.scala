package io.phantoms.spark.source.stream

import java.io.IOException
import java.net.{DatagramPacket, DatagramSocket, InetAddress, InetSocketAddress}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

/** Datagrams between the socket and the batches. */
class DatagramRingSuite extends AnyFunSuite {
  private val local = InetAddress.getByName("127.0.0.1")
  private def datagram(n: Int) = HeldDatagram.of(Array.fill(100)(n.toByte), local, 9, n.toLong)
  private def numbers(of: java.util.List[HeldDatagram]) = of.asScala.map(_.nanos).toSeq
  private val each = datagram(0).footprint

  test("what is held has numbers; the newest is dropped where there is no room, and counted") {
    val ring = new DatagramRing(3 * each)
    assert((0 until 5).map(i => ring.offer(datagram(i))) == Seq(true, true, true, false, false))
    assert(ring.begin() == 0 && ring.end() == 3 && ring.dropped() == 2 && ring.droppedBytes() == 200)
    assert(ring.used() == 3 * each)
    assert(numbers(ring.slice(1, 3)) == Seq(1, 2) && numbers(ring.slice(0, 0)).isEmpty)
    assert(numbers(ring.release(2)) == Seq(0, 1) && ring.begin() == 2 && ring.used() == each)
    assert(ring.offer(datagram(7)) && numbers(ring.slice(2, 4)) == Seq(2, 7))
    assertThrows[IllegalStateException](ring.slice(1, 3))
    assertThrows[IllegalStateException](ring.slice(2, 5))
    assert(numbers(ring.release(99)) == Seq(2, 7) && ring.begin() == 4 && ring.end() == 4 && ring.used() == 0)
    assertThrows[IllegalArgumentException](new DatagramRing(0))
  }

  test("as many as so many bytes are, one at least") {
    val ring = new DatagramRing(100 * each)
    (0 until 10).foreach(i => ring.offer(datagram(i)))
    ring.release(2)
    assert(Seq(0L, each - 1, each, 2 * each - 1, 3 * each).map(ring.endWithin(4, _)) == Seq(5, 5, 5, 5, 7))
    assert(ring.endWithin(2, Long.MaxValue) == 10 && ring.endWithin(9, each) == 10 && ring.endWithin(10, each) == 10)
  }

  private def eventually(condition: => Boolean): Unit = {
    val deadline = System.nanoTime + 10000000000L
    while (!condition && System.nanoTime < deadline) Thread.sleep(10)
    assert(condition)
    ()
  }

  test("a listener receives what is sent, with who sent it; closed, it has let go of the port") {
    val ring = new DatagramRing(1 << 20)
    val listener = new UdpListener(new InetSocketAddress("127.0.0.1", 0), ring)
    listener.start()
    val to = new InetSocketAddress("127.0.0.1", listener.port)
    val socket = new DatagramSocket(0, InetAddress.getByName("127.0.0.3"))
    try {
      Seq(0, 1, 1400, 9000).foreach(n => socket.send(new DatagramPacket(Array.fill(n)(7.toByte), n, to)))
      eventually(ring.end() == 4)
    } finally socket.close()
    val held = ring.slice(0, 4).asScala
    assert(held.map(_.bytes.length) == Seq(0, 1, 1400, 9000))
    assert(held.forall(d => d.sender.text == "127.0.0.3" && d.port == socket.getLocalPort || d.port > 0))
    assert(math.abs(held.head.nanos / 1000000 - System.currentTimeMillis) < 60000)
    val refused = intercept[IOException](new UdpListener(to, ring)).getMessage
    assert(refused.contains(s"127.0.0.1:${to.getPort} cannot be bound"), refused)
    listener.close()
    assert(listener.failure == null)
    new UdpListener(to, ring).close()
    assert(intercept[IOException](new UdpListener(InetSocketAddress.createUnresolved("nowhere.invalid", 1), ring))
      .getMessage.contains("nowhere.invalid"))
  }

  test("an address of either kind") {
    Seq("10.1.2.3", "2001:db8::7").foreach { a =>
      assert(Exporter.of(InetAddress.getByName(a).getAddress).text == a)
    }
  }

  test("an exporter's datagrams stay together and in order, and tasks are as equal as can be") {
    val from = (1 to 5).map(i => InetAddress.getByName(s"10.0.0.$i"))
    val all =
      (0 until 100).map(i => HeldDatagram.of(new Array[Byte](i % 7), from(if (i < 50) 0 else i % 5), 9, i.toLong))
    for (most <- 1 to 8) {
      val groups = ExporterGroups.of(all, most)
      assert(groups.size == math.min(most, 5))
      assert(groups.flatten.map(_.nanos).sorted == (0 until 100))
      groups.foreach(g => assert(g.map(_.nanos) == g.map(_.nanos).sorted))
      assert(groups.flatMap(_.map(_.sender).distinct).size == 5)
    }
    assert(ExporterGroups.of(Nil, 4).isEmpty)
  }
}
