package io.phantoms.spark.source

import java.net.{DatagramPacket, DatagramSocket, InetAddress, InetSocketAddress}

import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.Suite

/** Streams of a port of loopback, and who sends to it. */
trait PortStreams extends LftaStreams { this: Suite =>

  protected def freePort(): Int = {
    val socket = new DatagramSocket(0, InetAddress.getByName("127.0.0.1"))
    try socket.getLocalPort
    finally socket.close()
  }

  protected def listening(port: Int, options: (String, String)*): DataFrame =
    spark.readStream.format("lfta").option("listen", s"127.0.0.1:$port").options(options.toMap).load()
      .asInstanceOf[DataFrame]

  protected final class Sender(from: String, to: Int) {
    private val socket = new DatagramSocket(0, InetAddress.getByName(from))
    def send(datagrams: Array[Byte]*): Unit =
      datagrams.foreach(d => socket.send(new DatagramPacket(d, d.length, new InetSocketAddress("127.0.0.1", to))))
    def close(): Unit = socket.close()
  }

  protected def metric(query: StreamingQuery, name: String): Seq[Long] =
    query.recentProgress.toSeq.flatMap(_.sources).flatMap(s => Option(s.metrics.get(name))).map(_.toLong)

  /** Begins a query, and waits until it listens: once it has tried its first trigger. */
  protected def ready(df: DataFrame, at: Place, kept: Kept): StreamingQuery = {
    val query = start(df, at, kept, Trigger.ProcessingTime(0))
    eventually("no trigger")(query.lastProgress != null || !query.isActive)
    query
  }
}
