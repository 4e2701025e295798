package io.phantoms.spark.source

import java.io.{ByteArrayOutputStream, FileNotFoundException}
import java.nio.file.{Files, Path, Paths}
import java.util.zip.GZIPOutputStream

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

/** Which files a read has: by options that pick them, file after file in one task, and where some cannot be read. */
class LftaFilesSuite extends AnyFunSuite with LftaSession {
  private val sizes = Seq("a.pcap" -> 300, "b.pcap" -> 5000, "c.cap" -> 1, "d.pcap" -> 200, "e.cap" -> 4096)
  private lazy val several = folder.resolve("several").toString

  override def beforeAll(): Unit = {
    super.beforeAll()
    sizes.zipWithIndex.foreach { case ((name, n), i) => capture(s"several/$name", n, i) }
  }

  private def capture(name: String, n: Int, seed: Int): Path =
    Paths.get(TestCaptures.write(folder.resolve(name), TestCaptures.pcap(TestCaptures.random(n, seed))))

  private def byPort(df: DataFrame): DataFrame = df.groupBy("dstport").count().asInstanceOf[DataFrame]

  test("reads of one directory that pick other files are other reads") {
    def of(options: (String, String)*) = read(several, options: _*)
    val all = Seq(
      of(),
      of("pathGlobFilter" -> "*.pcap"),
      of("pathGlobFilter" -> "*.cap"),
      of("modifiedBefore" -> "2000-01-01T00:00:00"),
      of("modifiedAfter" -> "2000-01-01T00:00:00", "timeZone" -> "UTC")
    )
    val read0 = all.map(df => scans(byPort(df)).head)
    for (i <- read0.indices; j <- read0.indices if i != j) assert(read0(i) != read0(j), s"$i, $j")
    val again = scans(byPort(of("PATHGLOBFILTER" -> "*.pcap"))).head
    assert(again == read0(1) && again.hashCode == read0(1).hashCode)
    Seq("true", "false").foreach { aggregates =>
      def picked(glob: String) = byPort(of("pathGlobFilter" -> glob, "pushDownAggregate" -> aggregates))
      val (one, other) = (picked("*.pcap"), picked("*.cap"))
      val expected = one.collect().toSeq ++ other.collect().toSeq
      assert(expected.map(_.getLong(1)).sum == sizes.map(_._2).sum)
      sameRows(one.union(other).collect().toSeq, expected)
    }
  }

  test("files that came between two reads of one directory make another read of it") {
    capture("growing/a.pcap", 10, 1)
    val growing = folder.resolve("growing").toString
    val before = read(growing)
    capture("growing/b.pcap", 20, 2)
    val after = read(growing)
    assert(scans(before).head != scans(after).head && scans(after).head == scans(read(growing)).head)
    assert(byPort(before).union(byPort(after)).collect().map(_.getLong(1)).sum == 10 + 30)
  }

  test("each record is of the file that input_file_name() tells, by rows and by batches") {
    withConf("spark.sql.files.minPartitionNum" -> "1") {
      Seq("true", "false").foreach { batches =>
        val df = read(several, "columnar" -> batches)
        assert(df.rdd.getNumPartitions == 1)
        val named = df.selectExpr(
          "input_file_name() AS name",
          "input_file_block_start() AS start",
          "input_file_block_length() AS length",
          "srcip",
          "_file_offset"
        )
        val found = named.groupBy("name", "start", "length").count().collect().map { r =>
          val path = Paths.get(new java.net.URI(r.getString(0)))
          assert(r.getLong(1) == 0 && r.getLong(2) == Files.size(path))
          path.getFileName.toString -> r.getLong(3).toInt
        }
        assert(found.toMap == sizes.toMap, s"columnar $batches")
        df.createOrReplaceTempView("packets")
        val counts =
          spark.sql("SELECT input_file_name(), count(length) FROM packets WHERE length > 0 GROUP BY 1").collect()
        assert(counts.map(_.getLong(1)).sorted.toSeq == sizes.map(_._2.toLong).sorted)
      }
    }
  }

  /** Parts of files are looked for from this size on. */
  private val small = Seq("maxPartitionBytes" -> "1000")

  test("files that are gone, or are no captures, when their parts are looked for") {
    withConf("spark.sql.files.openCostInBytes" -> "0") {
      def vanishing(options: (String, String)*): DataFrame = {
        val gone = capture("gone/a.pcap", 100, 3)
        capture("gone/b.pcap", 50, 4)
        val df = read(gone.getParent.toString, small ++ options: _*)
        Files.delete(gone)
        df
      }
      assert(vanishing("ignoreMissingFiles" -> "true").count() == 50)
      val e = intercept[Exception](vanishing().count())
      val told = Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).mkString("\n")
      assert(told.contains("gone/a.pcap") && told.contains("ignoreMissingFiles"), told)
      TestCaptures.write(folder.resolve("corrupt/a.pcap"), ("this is no capture. " * 500).getBytes)
      capture("corrupt/b.pcap", 50, 5)
      val corrupt = folder.resolve("corrupt").toString
      assert(read(corrupt, small :+ ("ignoreCorruptFiles" -> "true"): _*).count() == 50)
      assertThrows[Exception](read(corrupt, small: _*).count())
    }
  }

  test("what the rows are is told by the first file that can be read") {
    val zipped = new ByteArrayOutputStream
    val out = new GZIPOutputStream(zipped)
    out.write(new Array[Byte](1000))
    out.close()
    // A method of compression that there is none of.
    val broken = zipped.toByteArray.updated(2, 9.toByte)
    TestCaptures.write(folder.resolve("unreadable/a.nf5.gz"), broken)
    val unreadable = folder.resolve("unreadable").toString
    assert(read(unreadable).where("_malformed IS NOT NULL").count() == 1)
    writeExport("unreadable/b.nf5")
    val flows = read(unreadable, "ignoreCorruptFiles" -> "true", "mode" -> "DROPMALFORMED")
    assert(flows.schema.fieldNames.contains("octets") && flows.count() == 95)
    // Files that go after they were listed.
    def table(name: String, options: (String, String)*): LftaTable = {
      val gone = capture(s"$name/a.pcap", 5, 1)
      val of = new CaseInsensitiveStringMap(options.toMap.asJava)
      val listed = LftaTable("lfta", spark, of, Seq(folder.resolve(name).toString), None)
      assert(listed.fileIndex.allFiles().nonEmpty)
      Files.delete(gone)
      listed
    }
    writeExport("gone-first/b.nf5")
    assert(table("gone-first").records == Records.Flows)
    assert(table("gone-first", "ignoreMissingFiles" -> "true").records == Records.Flows)
    assertThrows[FileNotFoundException](table("all-gone").records)
    assert(table("all-gone", "ignoreMissingFiles" -> "true").records == Records.Packets)
  }

  private def writeExport(name: String): Unit = {
    val _ = TestCaptures.write(folder.resolve(name), TestCaptures.v5(TestCaptures.flows(95, 4)).toArray.flatten)
  }

  test("a schema names columns of paths as the session compares names") {
    capture("parted/site=x/day=1/a.pcap", 20, 6)
    def of(ddl: String) = spark.read.format("lfta").schema(ddl).load(folder.resolve("parted").toString)
    assert(of("length INT, DAY INT, Site STRING").select("site", "day").distinct().collect().toSeq == Seq(Row("x", 1)))
    withConf("spark.sql.caseSensitive" -> "true") {
      assertThrows[org.apache.spark.sql.AnalysisException](of("length INT, DAY INT"))
    }
  }
}
