package io.phantoms.spark.source

import java.nio.file.Paths

import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.stats.input.InputIdentity

import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.scalatest.funsuite.AnyFunSuite

/** With the plugin: several groupings over one capture in one pass; a single one in the readers' tables. */
class SharedLftaSuite extends AnyFunSuite with PluginSession {

  override def beforeAll(): Unit = {
    super.beforeAll()
    (0 until 3).foreach { i =>
      TestCaptures.write(
        Paths.get(folder, "capture", s"$i.pcap"),
        TestCaptures.pcap(TestCaptures.random(2000, 40 + i, damaged = true))
      )
    }
    load()
  }

  private def load(options: (String, String)*): Unit =
    spark.read.format("lfta").options(options.toMap).load(s"$folder/capture").createOrReplaceTempView("packets")

  private def scans(df: DataFrame): Seq[LftaScan] =
    df.queryExecution.optimizedPlan.collect { case r: DataSourceV2ScanRelation => r.scan.asInstanceOf[LftaScan] }

  /** Every packet was read once. */
  private def assertOnePass(df: DataFrame): Unit = {
    assert(scans(df).forall(_.aggregate.isEmpty))
    val read = collectWithSubqueries(df.queryExecution.executedPlan) { case b: BatchScanExec => b }
    val copies = collectWithSubqueries(df.queryExecution.executedPlan) { case r: ReusedExchangeExec => r }.size
    assert(
      read.map(_.metrics("packets").value).sum == 6000,
      s"${read.size} scans, $copies reused\n${df.queryExecution}"
    )
    ()
  }

  private val union =
    """SELECT 'a' AS q, CAST(srcip AS STRING) AS k, count(*) AS n, sum(length) AS s FROM packets GROUP BY srcip
      |UNION ALL SELECT 'b', CAST(dstport AS STRING), count(*), sum(payload_length) FROM packets GROUP BY dstport
      |UNION ALL SELECT 'c', concat(srcport, dstport), count(srcport), max(length) FROM packets
      |  GROUP BY srcport, dstport""".stripMargin
  private val cube =
    "SELECT srcip, dstip, dstport, count(*), sum(length), min(time) FROM packets GROUP BY CUBE (srcip, dstip, dstport)"

  test("a union of groupings, and a cube: one pass") {
    Seq("true", "false").foreach { batches =>
      load("columnar" -> batches)
      bothModes {
        assertOnePass(assertSame(union))
        assertOnePass(assertSame(cube))
      }
    }
    load()
  }

  test("groupings with conditions of their own, in branches of a join, and of two reads of the same files") {
    assertOnePass(assertSame(
      """SELECT srcip, count(*), sum(length) FROM packets WHERE prot = 6 GROUP BY srcip
        |UNION ALL SELECT dstip, count(*), sum(length) FROM packets WHERE dstport = 53 GROUP BY dstip""".stripMargin
    ))
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      assertOnePass(assertSame(
        """SELECT a.dstport, a.n, b.n FROM (SELECT dstport, count(*) n FROM packets GROUP BY dstport) a
          |JOIN (SELECT dstport, prot, count(*) n FROM packets GROUP BY dstport, prot) b
          |ON a.dstport = b.dstport""".stripMargin
      ))
    }
    def again(keys: String*) =
      spark.read.format("lfta").load(s"$folder/capture").groupBy(keys.head, keys.tail: _*).count()
    assertOnePass(assertSame(again("dstport").select("count").union(again("srcport", "dstport").select("count"))))
  }

  test("modes that drop packets") {
    load("mode" -> "DROPMALFORMED")
    assertOnePass(assertSame(union))
    load()
  }

  test("a single grouping is the readers'") {
    val df = spark.sql("SELECT srcip, count(*), sum(length) FROM packets GROUP BY srcip")
    assert(!isShared(df) && scans(df).forall(_.aggregate.isDefined))
    assertRows(
      df.collect().toSeq,
      plain(spark.sql("SELECT srcip, count(*), sum(length) FROM packets GROUP BY srcip").collect().toSeq)
    )
  }

  test("statistics are of a read's options, and hold no secrets") {
    def source(options: (String, String)*): String = {
      val plan = spark.read.format("lfta").options(options.toMap).load(s"$folder/capture").queryExecution.analyzed
      plan.collectFirst { case r: DataSourceV2Relation => InputIdentity.source(r) }.get
    }
    val packets = source("records" -> "packets")
    assert(packets == source("RECORDS" -> "packets") && packets.contains("capture"))
    val others = Seq(
      source("records" -> "flows"),
      source("records" -> "packets", "mode" -> "DROPMALFORMED"),
      source("records" -> "packets", "pathGlobFilter" -> "0*")
    )
    assert((packets +: others).distinct.size == 4)
    assert(source("records" -> "packets", "fs.s3a.secret.key" -> "hidden") == packets)
  }

  test("with the plugin off, each grouping is the readers'") {
    plain {
      val df = spark.sql(union)
      assert(scans(df).size == 3 && scans(df).forall(_.aggregate.isDefined))
    }
  }
}
