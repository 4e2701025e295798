package io.phantoms.spark.source

import io.phantoms.spark.TestSessions
import io.phantoms.spark.integration.ClusterSession
import io.phantoms.spark.source.`export`.Exports._

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.expressions.UserDefinedFunction
import org.apache.spark.sql.functions.{col, udf}
import org.scalatest.funsuite.AnyFunSuite

/**
 * Streams whose tasks run in processes of their own. Local tasks share the driver's objects: here factories, partitions
 * and what exporters have said cross as bytes, and an executor knows nothing but what it was sent.
 *
 * The cluster is this suite's own, as contexts of clusters end with their suite, and those of other suites run with confs
 * of the plugin.
 */
class ClusterStreamSuite extends AnyFunSuite with PortStreams {
  import ClusterStreamSuite.executor

  override def beforeAll(): Unit = {
    ClusterSession.makeHome()
    spark = TestSessions.start(
      ClusterSession.ofExecutors ++ Map(
        "spark.sql.shuffle.partitions" -> "2",
        "spark.sql.session.timeZone" -> "UTC",
        "spark.sql.files.openCostInBytes" -> "1"
      ),
      ClusterSession.Master
    )
    ClusterSession.awaitExecutors(spark.sparkContext)
  }

  override def afterAll(): Unit =
    try super.afterAll()
    finally ClusterSession.forgetHome()

  /** The rows without their last column, which says what executor read them. */
  private def readByExecutors(rows: Seq[Row]): Seq[Row] = {
    assert(rows.map(r => r.getString(r.length - 1)).forall(Set("0", "1")), rows)
    rows.map(r => Row.fromSeq(r.toSeq.init))
  }

  private def read(df: DataFrame, at: Place): Kept = {
    val kept = new Kept
    start(df, at, kept).awaitTermination()
    kept
  }

  test("files: captures in several parts and batches, and exports") {
    val at = new Place
    val packets = (1 to 3).map(i => TestCaptures.random(300, i).map(_.copy(kept = 65535)))
    packets.zipWithIndex.foreach { case (some, i) => at.add(s"$i.pcap", TestCaptures.pcap(some), 90L - i) }
    val stream = source(at, "maxFilesPerTrigger" -> "2", "maxPartitionBytes" -> "9000")
    val kept = read(stream.select(col("time_nanos"), col("srcport"), executor().as("by")), at)
    assert(kept.sizes == Seq(600, 300))
    sameRows(readByExecutors(kept.rows), packets.flatten.map(p => Row(p.micros * 1000, p.sport)))
    assert(kept.rows.map(_.getString(2)).toSet.size == 2, "a batch of several tasks is read by both")
    val exported = new Place
    val flows = TestCaptures.flows(100, 7)
    exported.add("a.nf5", TestCaptures.v5(flows).toArray.flatten)
    val read5 = read(source(exported).select(col("srcport"), col("octets"), executor().as("by")), exported)
    sameRows(readByExecutors(read5.rows), flows.map(f => Row(f.sport, f.octets.toLong)))
  }

  test("a port: templates, sampling and data that waits come with later batches, to whichever executor") {
    val (at, kept, port) = (new Place, new Kept, freePort())
    val df = listening(port, "addresses" -> "string")
    val query = ready(df.select(col("exporter"), col("srcport"), col("sampling"), executor().as("by")), at, kept)
    val (a, b) = ("127.0.0.2", "127.0.0.3")
    val (one, two) = (new Sender(a, port), new Sender(b, port))
    val (v5, v5Row) = (bytes(v5Header(1), v5Record()), Row(a, 51515, null))

    var expected = Seq.empty[Row]

    /** Sends, and waits for all rows so far: what is sent next is of another batch. */
    def batch(rows: Row*)(send: => Unit): Unit = {
      send
      expected ++= rows
      eventually(s"${query.exception} ${kept.rows}")(kept.rows.size >= expected.size || !query.isActive)
      sameRows(readByExecutors(kept.rows), expected)
    }
    batch(v5Row) {
      one.send(v9(set(300, u16(1))), v5)
    }
    batch(v5Row) {
      one.send(v9(set(1, v9Options(260, 1, 1 -> 4, 34 -> 4, 35 -> 1)), set(260, u32(0), u32(1000), u8(2))), v5)
    }
    batch(Row(a, 1, 1000L), Row(b, 7, null)) {
      one.send(v9(set(0, template(300, 7 -> 2))))
      two.send(ipfix(set(2, template(300, 11 -> 2, 7 -> 2)), set(300, u16(80, 7))))
    }
    batch(Row(a, 2, 1000L), Row(b, 8, null)) {
      two.send(ipfix(set(300, u16(80, 8))))
      one.send(v9(set(300, u16(2))))
    }
    assert(query.isActive && kept.batches.size >= 4)
    query.stop()
    Seq(one, two).foreach(_.close())
  }
}

private object ClusterStreamSuite {
  // It goes to executors: it must not hold the suite.
  val executor: UserDefinedFunction = udf { () =>
    assert(TaskContext.get() != null)
    SparkEnv.get.executorId
  }.asNondeterministic()
}
