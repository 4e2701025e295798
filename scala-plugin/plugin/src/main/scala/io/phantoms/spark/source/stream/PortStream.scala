package io.phantoms.spark.source.stream

import java.util
import java.util.{Optional, UUID}

import scala.jdk.CollectionConverters._

import org.apache.spark.internal.Logging
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._

/**
 * A stream of the datagrams that come to a UDP port of the driver, held in a ring until the batch that has them is
 * done.
 *
 * UDP is at most once, and so is this: a datagram that finds the ring full is dropped and counted, and what a restart
 * finds in the ring no more is gone. Tasks that fail have the same datagrams again.
 *
 * The port is bound when the first batch is asked for: a query whose planning fails stops none of its streams.
 *
 * @param listen binds the port; once
 * @param maxDatagrams of a batch
 * @param maxBytes of a batch, counted as the ring does; one datagram may have more
 * @param tasks at most, that decode a batch
 */
private[source] final class PortStream(
    listen: () => UdpListener,
    ring: DatagramRing,
    override val readers: StreamReaders,
    maxDatagrams: Option[Long],
    maxBytes: Long,
    tasks: Int,
    address: String
) extends MicroBatchStream
    with SupportsAdmissionControl
    with SupportsTriggerAvailableNow
    with ReportsSourceMetrics
    with HasReaders
    with Logging {
  private val id = UUID.randomUUID().toString
  private val exporters = new KnownExporters(address)
  @volatile private var listener = Option.empty[UdpListener]
  private var ending = false
  private var ceiling = Option.empty[Long]
  private var told = Option.empty[String]

  override def initialOffset(): Offset = DatagramOffset(id, 0)
  override def deserializeOffset(json: String): Offset = DatagramOffset.of(json)

  override def getDefaultReadLimit: ReadLimit = maxDatagrams.fold(ReadLimit.allAvailable())(ReadLimit.maxRows)

  override def prepareForTriggerAvailableNow(): Unit = synchronized {
    ending = true
  }

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is to be asked")

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = synchronized {
    val failure = listening().failure()
    if (failure != null)
      throw new IllegalStateException(s"$address is no longer listened on (${failure.getMessage})", failure)
    val before = start.asInstanceOf[DatagramOffset]
    release(before)
    if (ending && ceiling.isEmpty) ceiling = Some(ring.end())
    val from = if (before.listener == id) before.datagram else ring.begin()
    val held = ceiling.fold(ring.end())(math.min(_, ring.end()))
    val few = math.min(held, ring.endWithin(from, maxBytes))
    val until = limit match {
      case rows: ReadMaxRows => from + math.min(few - from, rows.maxRows)
      case _ => few
    }
    if (until > from) DatagramOffset(id, until)
    else if (before.listener == id && before.datagram == 0) null
    else before
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = synchronized {
    val (after, to) = (start.asInstanceOf[DatagramOffset], end.asInstanceOf[DatagramOffset])
    if (to.listener != id) {
      val begin = if (after.listener == to.listener) after.datagram else 0
      gone(s"${to.datagram - begin} datagrams of a batch that was not finished before the restart are lost")
      Array.empty
    } else {
      if (after.listener != id)
        gone("datagrams that were received before the restart and that no batch had begun with are lost")
      val from = if (after.listener == id) after.datagram else ring.begin()
      partitions(from, to.datagram)
    }
  }

  private def gone(what: String): Unit = if (!told.contains(what)) {
    told = Some(what)
    logWarning(s"$address: $what. UDP sends nothing again.")
  }

  private def partitions(from: Long, until: Long): Array[InputPartition] = {
    val state = exporters.stateAfter(ring.slice(ring.begin(), from).asScala)
    ExporterGroups.of(ring.slice(from, until).asScala.toSeq, tasks).map { group =>
      val senders = group.map(_.sender).toSet
      val theirs = state.of((high, low, length) => senders(new Exporter(high, low, length)))
      new DatagramPartition(group.toArray, theirs): InputPartition
    }.toArray
  }

  override def createReaderFactory(): PartitionReaderFactory = readers.rows

  override def commit(end: Offset): Unit = synchronized(release(end.asInstanceOf[DatagramOffset]))

  // Spark commits a batch only when it constructs the next, which a ring that is full would never have anything for. A
  // batch that others are to begin behind is in Spark's log of finished ones already.
  private def release(finished: DatagramOffset): Unit =
    if (finished.listener == id) exporters.add(ring.release(finished.datagram).asScala)

  override def metrics(latestConsumed: Optional[Offset]): util.Map[String, String] = synchronized {
    val ofRing = Seq(
      "datagramsReceived" -> (ring.end() + ring.dropped()),
      "datagramsDropped" -> ring.dropped(),
      "bytesDropped" -> ring.droppedBytes(),
      "datagramsHeld" -> (ring.end() - ring.begin()),
      "ringBytes" -> ring.used()
    )
    (ofRing ++ exporters.metrics).map { case (k, v) => k -> v.toString }.toMap.asJava
  }

  private def listening(): UdpListener = listener.getOrElse {
    val bound = listen()
    listener = Some(bound)
    bound.start()
    logInfo(s"$this begins to receive")
    bound
  }

  override def stop(): Unit = synchronized {
    listener.foreach(_.close())
  }

  override def toString: String = {
    // The port may have been left to the system.
    val port = listener.fold(address.drop(address.lastIndexOf(':') + 1))(_.port.toString)
    s"lfta[udp ${address.take(address.lastIndexOf(':'))}:$port]"
  }
}
