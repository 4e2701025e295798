package io.phantoms.spark.source.stream

import scala.collection.mutable

import io.phantoms.spark.source.`export`.{ExportDecoder, ExportState}
import io.phantoms.spark.source.wire.{Policy, WireCounters}

/** What the driver knows of exporters from the datagrams of finished batches. */
private final class KnownExporters(address: String) {
  import KnownExporters._

  private val counters = new WireCounters
  private val decoder = newDecoder(ExportState.NONE, counters)
  private val current = new ReceivedDatagram
  private var state = Option(ExportState.NONE)

  // Whoever can send can name any sender: only so many are told apart.
  private val datagrams = mutable.HashMap.empty[Exporter, Long]
  private var others = 0L

  def add(finished: Iterable[HeldDatagram]): Unit = finished.foreach { d =>
    state = None
    learn(decoder, d)
    if (datagrams.contains(d.sender) || datagrams.size < MostExporters)
      datagrams(d.sender) = datagrams.getOrElse(d.sender, 0L) + 1
    else others += 1
  }

  /** What they will have said with these datagrams, which are not finished yet. */
  def stateAfter(unfinished: Iterable[HeldDatagram]): ExportState = {
    val now = state.getOrElse(decoder.state())
    state = Some(now)
    if (unfinished.isEmpty) now
    else {
      val ahead = newDecoder(now, new WireCounters)
      unfinished.foreach(learn(ahead, _))
      ahead.state()
    }
  }

  /** Of finished batches. */
  def metrics: Seq[(String, Long)] = {
    val most = datagrams.toSeq.sortBy { case (e, n) => (-n, e.text) }.take(Named)
    Seq(
      "exporters" -> datagrams.size.toLong,
      "datagramsMalformed" -> counters.malformed,
      "setsWithoutTemplate" -> counters.withoutTemplate,
      "templatesDropped" -> decoder.droppedTemplates(),
      "datagramsOfOtherExporters" -> others
    ) ++ most.map { case (e, n) => s"datagrams.${e.text}" -> n }
  }

  private def learn(by: ExportDecoder, datagram: HeldDatagram): Unit = {
    current.set(datagram)
    by.decode(current)
    while (by.nextFlow()) {}
  }

  private def newDecoder(from: ExportState, counted: WireCounters): ExportDecoder =
    new ExportDecoder(address, Policy.DROPMALFORMED, Array.emptyBooleanArray, counted, from)
}

private object KnownExporters {
  private val MostExporters = 10000

  /** How many are told by address. */
  private val Named = 20
}
