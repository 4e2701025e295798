package io.phantoms.spark.source

import java.net.{DatagramSocket, InetAddress}
import java.nio.file.Files

import io.phantoms.spark.{PhantomsExtensions, TestSessions}
import io.phantoms.spark.source.`export`.Exports._

import org.apache.spark.TaskContext
import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper
import org.apache.spark.sql.functions.{col, count, sum, udf}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.funsuite.AnyFunSuite

/** Datagrams over loopback into a query. */
class UdpStreamSuite extends AnyFunSuite with PortStreams {

  // Tasks may fail once.
  override def beforeAll(): Unit =
    spark = TestSessions.start(
      Map(
        "spark.sql.shuffle.partitions" -> "2",
        "spark.sql.session.timeZone" -> "UTC",
        "spark.sql.streaming.noDataProgressEventInterval" -> "500"
      ),
      master = "local[2,3]",
      extensions = new PhantomsExtensions
    )

  private def continuously(df: DataFrame, at: Place, kept: Kept): StreamingQuery =
    ready(df.select("srcport", "exporter"), at, kept)

  test("v5, v9 whose template came with an earlier batch, IPFIX; two exporters; tasks that fail once") {
    val (at, kept, port) = (new Place, new Kept, freePort())
    val failsOnce = udf { (n: Int) =>
      if (TaskContext.get().attemptNumber() == 0) throw new IllegalStateException("this attempt fails")
      n
    }
    val df = listening(port, "addresses" -> "string")
    assert(df.schema == spark.read.format("lfta").option("records", "flows").option("addresses", "string")
      .load(TestCaptures.write(folder.resolve("v5/a"), bytes(v5Header(1), v5Record()))).schema)
    val query = ready(df.select(failsOnce(col("srcport")), col("exporter"), col("version")), at, kept)
    val (one, two) = (new Sender("127.0.0.2", port), new Sender("127.0.0.3", port))
    one.send(v9(set(0, template(300, 7 -> 2)), set(300, u16(1))))
    eventually(s"${kept.rows}")(kept.rows.size == 1)
    one.send(v9(set(300, u16(2))), bytes(v5Header(2), v5Record(), v5Record(ports = (7, 8))))
    two.send(ipfix(set(2, template(300, 7 -> 2)), set(300, u16(3))), v9(set(300, u16(4))))
    eventually(s"${kept.rows}")(kept.rows.size == 5)
    val (a, b) = ("127.0.0.2", "127.0.0.3")
    sameRows(kept.rows, Seq(Row(1, a, 9), Row(2, a, 9), Row(51515, a, 5), Row(7, a, 5), Row(3, b, 10)))
    // What batches have finished is counted when the next one begins.
    one.send(v9(set(300, u16(5))))
    eventually(s"${kept.rows}")(kept.rows.size == 6)
    eventually(s"${query.lastProgress}")(metric(query, "datagramsReceived").contains(6L))
    eventually(s"${query.lastProgress}")(metric(query, "exporters").max == 2)
    assert(metric(query, "datagramsDropped").forall(_ == 0))
    assert(query.recentProgress.flatMap(_.sources).map(_.description).forall(_ == s"lfta[udp 127.0.0.1:$port]"))
    assert(query.recentProgress.map(_.numInputRows).sum == 6)
    query.stop()
    Seq(one, two).foreach(_.close())
    // The port is free again.
    new DatagramSocket(port, InetAddress.getByName("127.0.0.1")).close()
  }

  test("groups: readers hold tables, templates come with earlier batches, a task that fails sends its groups once") {
    val (at, kept, port) = (new Place, new Kept, freePort())
    val failsOnce = udf { (n: Long) =>
      if (TaskContext.get().attemptNumber() == 0) throw new IllegalStateException("this attempt fails")
      n
    }
    val grouped = listening(port, "tables.memory" -> "1").where("srcport < 60000").groupBy("srcport", "version")
      .agg(count("*").as("n"), sum("octets").as("octets"))
    val query = grouped.select(col("srcport"), col("version"), failsOnce(col("n")), col("octets"))
      .writeStream.outputMode("complete").trigger(Trigger.ProcessingTime(0))
      .option("checkpointLocation", at.checkpoint.toString).foreachBatch(kept.write _).start()
    eventually("no trigger")(query.lastProgress != null || !query.isActive)
    val sender = new Sender("127.0.0.1", port)
    def seen: Seq[Row] = kept.batches.lastOption.fold(Seq.empty[Row])(_._2)
    sender.send(v9(set(0, template(300, 7 -> 2, 1 -> 4)), set(300, u16(1), u32(100))))
    eventually(s"$seen")(seen.nonEmpty)
    sender.send(v9(set(300, u16(1), u32(20), u16(2), u32(3), u16(1), u32(1))), v9(set(300, u16(65000), u32(1))))
    eventually(s"$seen")(seen.map(_.getLong(2)).sum == 4)
    sameRows(seen, Seq(Row(1, 9, 3L, 121L), Row(2, 9, 1L, 3L)))
    // Of the last batch that had data.
    val last = query.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution.executedPlan
    assert(collectWithSubqueries(last) { case g: StreamedGroupsExec => g }.size == 1)
    eventually(s"${query.lastProgress}")(query.recentProgress.map(_.numInputRows).sum == 5)
    query.stop()
    sender.close()
  }

  test("a ring that is full drops, and tells") {
    val (at, kept, port) = (new Place, new Kept, freePort())
    kept.fails = _ => {
      Thread.sleep(300)
      false
    }
    val query = continuously(listening(port, "ring.memory" -> "4k"), at, kept)
    val sender = new Sender("127.0.0.1", port)
    eventually(s"${query.lastProgress}") {
      (1 to 60).foreach(i => sender.send(bytes(v5Header(1), v5Record(ports = (i, 1)))))
      metric(query, "datagramsDropped").exists(_ > 0) && metric(query, "bytesDropped").exists(_ >= 72)
    }
    query.stop()
    sender.close()
    val received = metric(query, "datagramsReceived").max
    assert(kept.rows.nonEmpty && kept.rows.size + metric(query, "datagramsDropped").max <= received + 60)
  }

  test("a ring that one batch filled takes datagrams again") {
    val (at, kept, port) = (new Place, new Kept, freePort())
    // Long enough for all to come while the first batch runs.
    kept.fails = id => {
      if (id == 0) Thread.sleep(1500)
      false
    }
    val query = continuously(listening(port, "ring.memory" -> "1k"), at, kept)
    val sender = new Sender("127.0.0.1", port)
    def send(n: Int): Unit = sender.send(bytes(v5Header(1), v5Record(ports = (n, 1))))
    (1 to 50).foreach(send)
    eventually(s"${query.lastProgress}")(metric(query, "datagramsDropped").exists(_ > 40))
    eventually(s"${kept.rows}") {
      send(77)
      Thread.sleep(100)
      kept.rows.exists(_.getInt(0) == 77)
    }
    query.stop()
    sender.close()
  }

  test("restarts: what was not finished is gone, and said so; the checkpoint goes on") {
    val (at, kept, port) = (new Place, new Kept, freePort())
    val sender = new Sender("127.0.0.1", port)
    def send(n: Int): Unit = sender.send(bytes(v5Header(1), v5Record(ports = (n, 1))))
    val first = continuously(listening(port), at, kept)
    send(1)
    eventually(s"${kept.rows}")(kept.rows.size == 1)
    kept.fails = _ => true
    send(2)
    assert(failed(first).contains("the sink fails"))
    kept.fails = _ => false
    val second = continuously(listening(port), at, kept)
    eventually("batch 1 is not finished")(kept.batches.contains(1))
    send(3)
    eventually(s"${kept.rows}")(kept.rows.map(_.getInt(0)) == Seq(1, 3))
    // A batch that is not noted as finished comes again, and now without rows.
    eventually("batch 2 is not finished")(Files.exists(at.checkpoint.resolve("commits/2")))
    second.stop()
    val third = continuously(listening(port, "maxDatagramsPerTrigger" -> "1"), at, kept)
    send(4)
    send(5)
    eventually(s"${kept.rows}")(kept.rows.map(_.getInt(0)) == Seq(1, 3, 4, 5))
    assert(kept.batches.values.map(_.size).max == 1)
    third.stop()
    sender.close()
  }

  test("a run that ends with what there is ends, here with nothing") {
    val (at, kept) = (new Place, new Kept)
    start(listening(freePort()).select("srcport"), at, kept).awaitTermination()
    assert(kept.rows.isEmpty)
  }

  test("a query whose planning fails leaves the port free") {
    val (at, port) = (new Place, freePort())
    // A checkpoint of another source, which is noticed after the stream of the port was made.
    val flows = listening(port).select("srcport")
    val other = source(at, "records" -> "flows").select("srcport")
    Files.createDirectories(at.checkpoint.resolve("sources/1"))
    Files.writeString(at.checkpoint.resolve("sources/1/records"), "v1\npackets\n")
    val refused = failed(start(flows.union(other), at, new Kept, Trigger.ProcessingTime(0)))
    assert(refused.contains("is of a stream of packets"), refused)
    new DatagramSocket(port, InetAddress.getByName("127.0.0.1")).close()
  }

  test("what cannot be") {
    def refused(options: (String, String)*): String =
      failure(start(
        spark.readStream.format("lfta").options(options.toMap).load().asInstanceOf[DataFrame],
        new Place,
        new Kept
      ))
    Seq("2055", "localhost", "::1:2055", "host:99999", "a b:1").foreach { listen =>
      assert(refused("listen" -> listen).contains("is no host:port"), listen)
    }
    assert(refused("listen" -> "127.0.0.1:1", "records" -> "packets").contains("do not come to a port"))
    assert(refused("listen" -> "127.0.0.1:1", "ring.memory" -> "none").contains("no size above 0"))
    assert(refused("listen" -> "127.0.0.1:1", "maxDatagramsPerTrigger" -> "-1").contains("no whole number"))
    val held = new DatagramSocket(0, InetAddress.getByName("127.0.0.1"))
    try {
      val query = start(listening(held.getLocalPort).select("srcport"), new Place, new Kept, Trigger.ProcessingTime(0))
      assert(failed(query).contains(s"127.0.0.1:${held.getLocalPort} cannot be bound"))
    } finally held.close()
    val batch = intercept[Exception](spark.read.format("lfta").option("listen", "127.0.0.1:2055").load().count())
    assert(batch.getMessage.contains("use spark.readStream"), batch.getMessage)
  }

  test("an IPv6 address in brackets") {
    assert(StreamOptions.socket("[::1]:4739").getPort == 4739 && StreamOptions.socket(
      "[::1]:4739"
    ).getAddress.getAddress.length == 16)
    assert(StreamOptions.socket("0.0.0.0:0").getAddress.isAnyLocalAddress)
  }
}
