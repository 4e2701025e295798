package io.phantoms.spark.source

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.util.ServiceLoader
import java.util.zip.GZIPOutputStream

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{AnalysisException, Row}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** The source as its users meet it: files, options, schemas, modes, what is counted, and what is refused. */
class LftaSourceSuite extends AnyFunSuite with LftaSession {
  private val packets = TestCaptures.random(200, 1)
  private def file(name: String, bytes: Array[Byte]): String = TestCaptures.write(folder.resolve(name), bytes)

  private def gzip(bytes: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val zipped = new GZIPOutputStream(out)
    zipped.write(bytes)
    zipped.close()
    out.toByteArray
  }

  private lazy val capture = file("one/a.pcap", TestCaptures.pcap(packets))
  private lazy val damaged = file("damaged/a.pcap", TestCaptures.pcap(TestCaptures.random(300, 2, damaged = true)))
  private lazy val damagedPackets = TestCaptures.random(300, 2, damaged = true).count(_.damaged)
  private val flows = TestCaptures.flows(95, 4)
  private lazy val exported = file("export/a.nf5", TestCaptures.v5(flows).toArray.flatten)

  private def messages(e: Throwable): String =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).map(_.toString).mkString("\n")

  test("the service is registered, and rows are what was written") {
    val registered = ServiceLoader.load(classOf[DataSourceRegister]).asScala.map(_.shortName()).toSeq
    assert(registered.contains("lfta"))
    val df = read(capture, "addresses" -> "string")
    assert(df.schema.fieldNames.last == "_malformed" && df.schema.fieldNames.head == "time")
    val rows = df.select("time_nanos", "srcip", "dstip", "prot", "tos", "length", "srcport").collect().toSeq
    val expected = packets.map { p =>
      val whole = TestCaptures.frame(p).length
      // The capture's cut is behind an IPv4 header and two ports, and before an IPv6 header's end.
      val isCut = p.kept < whole
      def known(of: Any) = if (isCut && p.src.contains(':')) null else of
      Row(p.micros * 1000, known(p.src), known(p.dst), p.prot, p.tos, whole, if (isCut) known(p.sport) else p.sport)
    }
    val whole = (rows zip expected).filter { case (_, e) => !e.anyNull }
    assert(whole.size > 150)
    whole.foreach { case (r, e) => assert(r == e) }
    assert(df.count() == packets.size)
    assert(df.schema("length").getComment().exists(_.contains("bytes")))
  }

  test("types of addresses") {
    def typeOf(addresses: String) = read(capture, "ADDRESSES" -> addresses).schema("srcip").dataType
    assert(typeOf("binary") == BinaryType && typeOf("String") == StringType && typeOf("INT") == IntegerType)
    val ints = read(capture, "addresses" -> "int")
    assert(ints.where("ip_version = 6 AND srcip IS NOT NULL").isEmpty && ints.where("srcip IS NOT NULL").count() > 100)
    ints.selectExpr("ip_to_string(srcip)").where("srcip IS NOT NULL").collect()
      .foreach(r => assert(r.getString(0).startsWith("10.0.")))
  }

  test("directories, globs, several paths, compressed files, nested ones, and partition columns") {
    val bytes = TestCaptures.pcap(packets)
    file("many/a.pcap", bytes)
    file("many/b.pcap.gz", gzip(bytes))
    file("many/_hidden", "text".getBytes)
    file("many/readme.txt", "no capture".getBytes)
    file("many/zero.pcap", Array.empty)
    val many = folder.resolve("many").toString
    assert(read(many, "pathGlobFilter" -> "*.pcap*").count() == 400)
    assert(read(s"$many/*.gz").count() == 200)
    assert(spark.read.format("lfta").load(s"$many/a.pcap", s"$many/b.pcap.gz", s"$many/zero.pcap").count() == 600 - 200)
    assert(read(s"$many/zero.pcap").count() == 0)
    file("nested/x/y/a.pcap", bytes)
    val nested = folder.resolve("nested").toString
    assert(read(nested, "recursiveFileLookup" -> "true").count() == 200)
    file("parted/site=x/day=1/a.pcap", bytes)
    file("parted/site=y/day=2/a.pcap", bytes)
    val parted = read(folder.resolve("parted").toString)
    assert(parted.schema("day").dataType == IntegerType && parted.where("day = 2").count() == 200)
    val byDay = parted.groupBy("day").count().collect().toSet
    assert(byDay == Set(Row(1, 200L), Row(2, 200L)))
    val rows = parted.where("day = 1 AND prot = 17").select("length", "day", "prot")
    assert(rows.collect().toSeq.forall(r => r.getInt(1) == 1 && r.getInt(2) == 17))
    assert(rows.count() == read(capture).where("prot = 17").count())
    assert(parted.select("length", "site", "day").distinct().select("site", "day").distinct().collect().toSet ==
      Set(Row("x", 1), Row("y", 2)))
    assert(parted.inputFiles.length == 2)
    val names = read(many, "pathGlobFilter" -> "*.pcap*").selectExpr("input_file_name()").distinct().collect()
    assert(names.map(r => Paths.get(new java.net.URI(r.getString(0))).getFileName.toString).toSet == Set(
      "a.pcap",
      "b.pcap.gz"
    ))
  }

  test("flows: of exports by themselves and within captures") {
    def totals(df: org.apache.spark.sql.DataFrame) =
      df.selectExpr("count(*)", "sum(packets)", "sum(octets)", "min(srcport)").head()
    val expected =
      Row(95L, flows.map(_.packets.toLong).sum, flows.map(_.octets.toLong).sum, flows.map(_.sport).min)
    assert(totals(read(exported)) == expected)
    assert(totals(read(file("export.gz/a.nf5.gz", gzip(Files.readAllBytes(Paths.get(exported)))))) == expected)
    val datagrams =
      TestCaptures.v5(flows).map(d => TestPacket(1700000000000000L, "10.9.9.9", "10.0.0.1", 17, 5555, 2055, d))
    val carried = file("carried/a.pcap", TestCaptures.pcap(datagrams ++ packets.filter(_.dport != 2055)))
    val within = read(carried, "records" -> "flows", "addresses" -> "string")
    assert(totals(within) == expected)
    assert(within.select("exporter").distinct().collect().toSeq == Seq(Row("10.9.9.9")))
    val counted = within.selectExpr("count(*)")
    counted.collect()
    val m = metrics(counted)
    assert(m("packets") == datagrams.size + packets.count(_.dport != 2055) && m("flows") == 95)
    assert(
      m("packets") == m("decoded") + m("malformed") + m("skipped") && m("skipped") == packets.count(_.dport != 2055)
    )
    assert(read(carried, "records" -> "flows", "ports" -> "9995, 4739").count() == 0)
    assert(read(carried).count() == datagrams.size + packets.count(_.dport != 2055))
    // A datagram that the capture cut off, and the first fragment of one, are told.
    val cut = file("cut/a.pcap", TestCaptures.pcap(datagrams.map(_.copy(kept = 200))))
    val damagedDatagrams = read(cut, "records" -> "flows").where("_malformed IS NOT NULL").select("_malformed")
    val told = damagedDatagrams.collect()
    val ofCut = metrics(damagedDatagrams.asInstanceOf[org.apache.spark.sql.classic.DataFrame])
    assert(ofCut("packets") == datagrams.size && ofCut("malformed") == datagrams.size && ofCut("decoded") == 0)
    val ofDamaged = read(damaged, "records" -> "flows").select("_malformed")
    ofDamaged.collect()
    val counts = metrics(ofDamaged.asInstanceOf[org.apache.spark.sql.classic.DataFrame])
    assert(counts("packets") == 300 && counts("malformed") >= damagedPackets)
    assert(counts("packets") == counts("decoded") + counts("malformed") + counts("skipped"))
    assert(told.length == datagrams.size && told.head.getString(0).contains("kept"))
    assert(read(cut, "records" -> "flows", "mode" -> "dropMalformed").count() == 0)
  }

  test("modes: rows, nothing, or an error that names file and place; the same whatever is read") {
    val permissive = read(damaged)
    assert(permissive.count() == 300 && permissive.where("_malformed IS NOT NULL").count() == damagedPackets)
    assert(permissive.where("_malformed IS NOT NULL").select("caplen", "time").collect().forall(!_.anyNull))
    val dropped = read(damaged, "mode" -> "DROPMALFORMED")
    assert(!dropped.schema.fieldNames.contains("_malformed"))
    assert(dropped.count() == 300 - damagedPackets && dropped.select("time").collect().length == 300 - damagedPackets)
    assert(dropped.collect().length == 300 - damagedPackets)
    Seq[org.apache.spark.sql.DataFrame => Any](
      _.count(),
      _.select("caplen").collect(),
      _.collect(),
      _.where("prot = 6").count()
    )
      .foreach { action =>
        val e = intercept[Exception](action(read(damaged, "mode" -> "failfast")))
        assert(messages(e).matches("(?s).*damaged/a\\.pcap, byte \\d+: .*mode.*"), messages(e))
      }
    val named = read(damaged, "columnNameOfCorruptRecord" -> "why")
    assert(named.where("why IS NOT NULL").count() == damagedPackets)
  }

  test("what is counted") {
    val df = read(damaged).selectExpr("count(srcip)")
    df.collect()
    val m = metrics(df)
    assert(m("packets") == 300 && m("malformed") == damagedPackets && m("decoded") == 300 - damagedPackets)
    assert(m("packets") == m("decoded") + m("malformed") + m("skipped"))
    assert(m("bytes") == Files.size(Paths.get(damaged)) && m("unreadableBytes") == 0 && m("truncated") > 0)
    assert(m("probes") >= 300 && m("evictions") >= 1)
    val rows = read(damaged).select("srcip")
    rows.collect()
    assert(metrics(rows)("packets") == 300 && !metrics(rows).contains("probes"))
  }

  test("bad files: by mode, with the name of the file") {
    val whole = TestCaptures.pcap(packets)
    def failing(path: String, options: (String, String)*): String =
      messages(intercept[Exception](read(path, options: _*).collect()))
    val text = file("bad/text.pcap", "this is no capture, whatever its name".getBytes(UTF_8))
    assert(failing(text).contains("text.pcap") && failing(text, "mode" -> "DROPMALFORMED").contains("text.pcap"))
    val cut = file("bad2/cut.pcap", whole.dropRight(10))
    assert(failing(cut, "mode" -> "FAILFAST").contains("cut.pcap, byte "))
    assert(read(cut).count() == 200 && read(cut).where("_malformed IS NOT NULL").count() == 1)
    assert(read(cut, "mode" -> "DROPMALFORMED").count() == 199)
    val cutGz = file("bad3/cut.pcap.gz", gzip(whole).dropRight(100))
    assert(failing(cutGz, "mode" -> "FAILFAST").contains("cut.pcap.gz, byte "))
    assert(read(cutGz).where("_malformed IS NOT NULL").count() == 1)
    val cutExport = file("bad4/cut.nf5.gz", gzip(Files.readAllBytes(Paths.get(exported))).dropRight(100))
    assert(failing(cutExport, "mode" -> "FAILFAST").contains("cut.nf5.gz, byte "))
    assert(read(cutExport).where("_malformed IS NOT NULL").count() >= 1)
    val nfdump = file("bad5/nfcapd.1", Array(0x0c, 0xa5, 1, 0).map(_.toByte) ++ new Array[Byte](200))
    assert(failing(nfdump).contains("nfdump"))
    // An export among captures.
    val mixed = folder.resolve("mixed")
    TestCaptures.write(mixed.resolve("a.pcap"), whole)
    Files.copy(Paths.get(exported), mixed.resolve("b.nf5"))
    assert(failing(mixed.toString).contains("records=flows"))
    assert(read(mixed.toString, "records" -> "flows", "mode" -> "DROPMALFORMED").count() == 95)
  }

  test("files that are gone") {
    val e = intercept[AnalysisException](read(folder.resolve("nowhere").toString))
    assert(e.getCondition == "PATH_NOT_FOUND")
    def vanishing(options: (String, String)*) = {
      val gone = Paths.get(file("gone/a.pcap", TestCaptures.pcap(packets)))
      file("gone/b.pcap", TestCaptures.pcap(packets))
      val df = read(gone.getParent.toString, options: _*)
      Files.delete(gone)
      Files.deleteIfExists(gone.resolveSibling(".a.pcap.crc"))
      df
    }
    val told = messages(intercept[Exception](vanishing().collect()))
    assert(told.contains("gone/a.pcap") && told.contains("ignoreMissingFiles"), told)
    assert(vanishing("ignoreMissingFiles" -> "true").count() == 200)
    val text = file("corrupt/a.pcap", "this is no capture, whatever its name".getBytes(UTF_8))
    file("corrupt/b.pcap", TestCaptures.pcap(packets))
    assert(read(Path.of(text).getParent.toString, "ignoreCorruptFiles" -> "true").count() == 200)
  }

  test("options: names and values that are none are refused, with what there is") {
    def refused(name: String, value: String, words: String*): Unit = {
      val e = intercept[AnalysisException](read(capture, name -> value))
      assert(e.getCondition == "STDS_INVALID_OPTION_VALUE.WITH_MESSAGE")
      (name +: words).foreach(w => assert(e.getMessage.contains(w), e.getMessage))
    }
    refused("record", "packets", "records", "tables.memory", "recursiveFileLookup")
    refused("tables.size", "1m", "tables.memory")
    refused("records", "frames", "'frames'", "packets, flows")
    refused("addresses", "text", "binary, int, string")
    refused("mode", "LENIENT", "PERMISSIVE, DROPMALFORMED, FAILFAST")
    refused("tables.kind", "lru", "direct, secondChance")
    refused("tables.memory", "much", "'much'", "64k")
    refused("tables.memory", "0")
    refused("maxPartitionBytes", "-1")
    refused("flush", "never", "end, eager, lazy")
    refused("ports", "2055;9995", "2055;9995")
    refused("ports", "70000", "65535")
    refused("pushDownAggregate", "yes", "neither true nor false")
    refused("columnNameOfCorruptRecord", "srcip", "column of packets already")
    val none = intercept[AnalysisException](spark.read.format("lfta").load())
    assert(none.getMessage.contains("path"))
    // Hadoop's are not ours to judge.
    val some = read(capture, "fs.s3a.endpoint" -> "x", "PATHGLOBFILTER" -> "*.pcap")
    assert(some.count() == 200 && scans(some).head.options.hadoop == Map("fs.s3a.endpoint" -> "x"))
  }

  test("a schema of the user's") {
    def of(ddl: String, options: (String, String)*) =
      spark.read.format("lfta").options(options.toMap).schema(ddl).load(capture)
    val some = of("length INT, srcip BINARY, TIME TIMESTAMP")
    assert(some.schema.fieldNames.toSeq == Seq("length", "srcip", "TIME") && some.count() == 200)
    assert(some.collect().map(_.getInt(0)).sum == packets.map(p => TestCaptures.frame(p).length).sum)
    assert(of("length INT, _malformed STRING", "mode" -> "DROPMALFORMED").where("_malformed IS NULL").count() == 200)
    Seq("length BIGINT", "srcip STRING", "bytes INT").foreach { ddl =>
      val e = intercept[AnalysisException](of(ddl))
      assert(e.getCondition == "DATA_SOURCE_TABLE_SCHEMA_MISMATCH" && e.getMessage.contains(ddl.split(' ').head), e)
    }
    assert(of("srcip STRING", "addresses" -> "string").count() == 200)
  }

  test("as a table of the catalog") {
    spark.sql(s"CREATE TABLE captured USING lfta OPTIONS (path '${Paths.get(capture).getParent}', addresses 'string')")
    try {
      assert(spark.table("captured").schema("srcip").dataType == StringType)
      val byPort = spark.sql("SELECT dstport, count(*) FROM captured GROUP BY dstport").collect()
      assert(byPort.map(_.getLong(1)).sum == 200)
    } finally {
      val _ = spark.sql("DROP TABLE captured")
    }
  }

  test("nothing is written") {
    val e = intercept[Exception](spark.range(1).write.format("lfta").save(folder.resolve("out").toString))
    assert(messages(e).contains("lfta"), messages(e))
  }
}
