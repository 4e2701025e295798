package io.phantoms.spark.source.export

import java.io._

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.wire.{Policy, WireCounters, WireException}

import org.scalatest.funsuite.AnyFunSuite

/** A decoder that goes on where another one was reads what one decoder would have read. */
class ExportStateSuite extends AnyFunSuite {
  import Exports._

  private def shipped(state: ExportState): ExportState = {
    val out = new ByteArrayOutputStream
    val objects = new ObjectOutputStream(out)
    objects.writeObject(state)
    objects.close()
    new ObjectInputStream(new ByteArrayInputStream(out.toByteArray)).readObject().asInstanceOf[ExportState]
  }

  private val counters = new WireCounters

  /** Flows of the datagrams, and what is known after them. */
  private def decode(datagrams: Seq[Sent], before: ExportState, wanted: Array[Boolean] = All) = {
    val decoder = new ExportDecoder("udp", Policy.FAILFAST, wanted, counters, before)
    val wire = new Wire(datagrams)
    val flows = Seq.newBuilder[Map[String, Any]]
    while (wire.next()) {
      decoder.decode(wire)
      while (decoder.nextFlow()) flows += values(decoder.record())
    }
    (flows.result(), decoder.state())
  }

  private val datagrams: Seq[Sent] = Seq(
    Sent(v9(set(300, u16(1)))), // waits
    Sent(v5Header(1, sampling = 100) ++ v5Record()),
    Sent(v9(set(0, template(300, 7 -> 2)))),
    Sent(v9(set(1, v9Options(260, 1, 1 -> 4, 34 -> 4, 35 -> 1)), set(260, u32(0), u32(1000), u8(2)))),
    Sent(v9(set(300, u16(2), u16(3)))),
    Sent(v9(set(300, u16(4))), from = "198.51.100.2"), // another exporter's number 300 is not known
    Sent(ipfix(set(2, template(300, 11 -> 2, 302 -> 8))), from = "2001:db8::7"),
    Sent(
      ipfix(set(3, ipfixOptions(260, 1, 302 -> 8, 305 -> 4, 306 -> 4)), set(260, u64(1), u32(1, 999))),
      from = "2001:db8::7"
    ),
    Sent(ipfix(set(300, u16(80), u64(1))), from = "2001:db8::7"),
    Sent(ipfix(set(2, template(400, 150 -> 4, 22 -> 4, 7 -> 2)), set(3, ipfixOptions(401, 1, 144 -> 4, 160 -> 8)))),
    Sent(ipfix(set(401, u32(1), u64(Seconds * 1000 - 5000)))),
    Sent(ipfix(set(400, u32(Seconds), u32(3000), u16(9)))),
    Sent(v9(set(0, template(300, 7 -> 2, 11 -> 2)), set(300, u16(5, 6)))), // defined anew
    Sent(v9(set(300, u16(7, 8)))),
    Sent(v9(set(0, template(300, 7 -> 2))), from = "198.51.100.2")
  )

  test("cut anywhere, the flows are the same") {
    val (whole, end) = decode(datagrams, ExportState.NONE)
    assert(whole.flatMap(_.get("srcport")) == Seq(51515, 1, 2, 3, 9, 5, 7, 4))
    assert(whole.flatMap(_.get("sampling")) == Seq(100, 1000, 1000, 1000, 1000, 1000))
    for (cut <- 0 to datagrams.size; again <- cut to datagrams.size) {
      val (first, then1) = decode(datagrams.take(cut), ExportState.NONE)
      val (second, then2) = decode(datagrams.slice(cut, again), shipped(then1))
      val (third, last) = decode(datagrams.drop(again), shipped(then2))
      assert(first ++ second ++ third == whole, s"cut at $cut and $again")
      assert(last.templates.size == end.templates.size && last.waiting.size == end.waiting.size)
    }
  }

  test("what the one that goes ahead reads of a record does not matter") {
    val (whole, _) = decode(datagrams, ExportState.NONE)
    for (cut <- 0 to datagrams.size) {
      val (first, _) = decode(datagrams.take(cut), ExportState.NONE)
      val (_, ahead) = decode(datagrams.take(cut), ExportState.NONE, Array.emptyBooleanArray)
      assert(first ++ decode(datagrams.drop(cut), shipped(ahead))._1 == whole, s"cut at $cut")
    }
  }

  test("a part of it is some exporters'") {
    val (_, all) = decode(datagrams, ExportState.NONE)
    val some = shipped(all.of((_, _, length) => length == 16))
    assert(some.templates.asScala.forall(_.origin.addressLength == 16) && some.templates.size == 2)
    assert(decode(
      Seq(Sent(ipfix(set(300, u16(81), u64(1))), from = "2001:db8::7")),
      some
    )._1.map(_("sampling")) == Seq(1000))
    assert(decode(Seq(Sent(v9(set(300, u16(1, 2))))), some)._1.isEmpty)
    assert(all.of((_, _, _) => false).isEmpty && !all.isEmpty && ExportState.NONE.isEmpty)
  }

  test("whose data was given up for want of room is known to those who go on; of so many domains") {
    def give(datagrams: Seq[Sent], before: ExportState) = {
      val decoder = new ExportDecoder("udp", Policy.DROPMALFORMED, All, new WireCounters, before)
      val wire = new Wire(datagrams)
      while (wire.next()) {
        decoder.decode(wire)
        while (decoder.nextFlow()) {}
      }
      shipped(decoder.state())
    }
    def refused(state: ExportState) = intercept[WireException](state.requireNoneGivenUp("port")).getMessage
    val first = Seq.fill(WaitingSets.MAX_SETS_EACH + 1)(Sent(v9(set(300, u16(1)))))
    val others = Seq.fill(2)(Sent(ipfix(set(301, u16(1))), from = "2001:db8::7"))
    val state = give(first ++ others, ExportState.NONE)
    val last = give(others, give(Nil, state))
    assert(refused(last).startsWith(
      "port, byte 0: a data set of 2 bytes: no template 300 of exporter 198.51.100.1, port 4000, domain 1 came. "
    ))
    last.of((_, _, length) => length == 16).requireNoneGivenUp("port")
    // Waiting is no loss, nor is what a template came for.
    give(Seq(Sent(v9(set(0, template(300, 7 -> 2))))), give(first.tail, ExportState.NONE)).requireNoneGivenUp("port")
    val many = (0 until 20000).map(d => Sent(v9With(source = d.toLong)(set(300, u16(1)))))
    val crowded = give(many, ExportState.NONE)
    assert(crowded.givenUp.size == WaitingSets.MAX_GIVEN_UP && refused(crowded).contains("domain 2616 came"))
  }

  test("it is bounded as the decoder is") {
    val hostile = (0 until 200).map { i =>
      Sent(v9With(source = i.toLong)((0 until 300).map(t => set(0, template(300 + t, 7 -> 2, 4 -> 1))): _*))
    }
    val (_, state) = decode(hostile, ExportState.NONE)
    assert(state.templates.size > 1000 && state.templates.size < 60000)
    val again = new ExportDecoder("udp", Policy.FAILFAST, All, counters, shipped(state)).state()
    assert(again.templates.size == state.templates.size)
  }
}
