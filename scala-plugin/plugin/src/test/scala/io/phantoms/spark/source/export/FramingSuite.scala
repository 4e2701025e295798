package io.phantoms.spark.source.`export`

import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.source.wire.Policy

/** Files in which a datagram says that it is longer than it is: those after it are not taken for its records. */
class FramingSuite extends AnyFunSuite {
  import Exports._

  private val fields = template(256, 7 -> 2, 8 -> 4)
  private def data(port: Int) = set(256, bytes(u16(port), ip("10.0.0.1")))
  private def v5(port: Int, said: Int = 1) = v5Header(said) ++ v5Record(ports = (port, 1))
  private def nine(port: Int) = v9(set(0, fields), data(port))
  private def ten(port: Int) = ipfix(set(2, fields), data(port))

  /** A datagram whose last set says another length. */
  private def lastSet(datagram: Array[Byte], said: Int) = datagram.patch(datagram.length - 8, u16(said), 2)

  private def check(file: Array[Byte], ports: Seq[Int], what: String) = {
    val decoded = read(file)
    assert(decoded.column("srcport") == ports)
    assert(decoded.problem.contains(what))
    val c = decoded.counters
    assert(c.bytes == file.length && c.malformed == 1 && c.unreadableBytes == 0)
    assert(read(file, Policy.DROPMALFORMED).flows == decoded.flows)
  }

  test("v5: a count that reaches into the next datagram") {
    check(v5(1, said = 2) ++ v5(2), Seq(1, 2), "a v5 datagram of 72 bytes says it has 2 records: there are 1")
    Seq(v5(2), nine(2), ten(2)).foreach { next =>
      check(bytes(v5(1, said = 2), next, v5(3), v5(4)), Seq(1, 2, 3, 4), "2 records: there are 1")
    }
  }

  test("v5: a count that reaches beyond the file's end") {
    check(bytes(v5(1), v5(2, said = 30), v5(3), nine(4)), Seq(1, 2, 3, 4), "30 records: there are 1")
    // No other datagram is in it: it was cut.
    check(v5(1) ++ v5(2, said = 3), Seq(1, 2), "3 records: there are 1")
  }

  test("v9: a set whose length reaches into the next datagram") {
    check(bytes(lastSet(nine(1), 34), nine(2), nine(3)), Seq(2, 3), "set 256 says it has 34 bytes")
    // Where a set of the next datagram begins, or the one after it, nothing shows that the length is wrong.
    val unseen = Seq(20, 36, 46).map(10 + _)
    (11 to 60).filterNot(unseen.contains).foreach { said =>
      check(bytes(lastSet(nine(1), said), nine(2), nine(3)), Seq(2, 3), s"set 256 says it has $said bytes")
    }
    Seq(v5(2), ten(2)).foreach { next =>
      check(bytes(lastSet(nine(1), 34), next, v5(3)), Seq(2, 3), "set 256 says it has 34 bytes")
    }
  }

  test("v9: a set whose length reaches beyond the file's end") {
    Seq(200, 1000, 65000).foreach { said =>
      check(bytes(nine(1), lastSet(nine(2), said), v5(3), nine(4)), Seq(1, 3, 4), s"says it has $said bytes")
    }
    check(nine(1) ++ lastSet(nine(2), 11), Seq(1), "set 256 says it has 11 bytes")
  }

  test("IPFIX: a message and its last set whose lengths reach into the next one") {
    Seq(20, 1000).foreach { more =>
      val long = lastSet(ten(1), 10 + more).patch(2, u16(ten(1).length + more), 2)
      check(bytes(long, ten(2), v5(3)), Seq(2, 3), s"says it has ${ten(1).length + more} bytes")
    }
  }

  test("datagrams that are as long as they say are not searched: what looks like a header is data") {
    val inside = v5(9)
    val file = bytes(ipfix(set(2, template(256, 7 -> 2, 82 -> 72)), set(256, u16(1), inside)), v5(2))
    val decoded = read(file, Policy.FAILFAST)
    assert(decoded.column("srcport") == Seq(1, 2))
  }

  test("after a datagram of the greatest length another of it") {
    val long = ipfix(set(257, v5(9), zeros(65535 - 16 - 4 - 72)))
    val decoded = read(bytes(long, long, long, ten(1)))
    assert(decoded.column("srcport") == Seq(1) && decoded.counters.withoutTemplate == 3)
  }
}
