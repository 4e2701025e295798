package io.phantoms.spark.oracle

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.phantoms.spark.decide.Declined
import io.phantoms.spark.explain.Explanations

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.DataFrame
import org.scalatest.funsuite.AnyFunSuite

/** Inputs of which it depends on the columns read which rows and files survive. */
trait DamagedInputTraps extends DifferentialSuite { this: AnyFunSuite =>
  private val code = "PROJECTION_SENSITIVE_SOURCE"
  private val ignoring = "spark.sql.files.ignoreCorruptFiles" -> "true"

  private lazy val root: Path = Files.createTempDirectory("phantoms-damaged")

  /** Three Parquet files, `a` and `b` in each; what holds `b` in one of them cannot be decoded. */
  private lazy val parquet: String = {
    val folder = s"$root/parquet"
    (0 until 3).foreach { i =>
      spark.range(i * 100L, i * 100L + 100, 1, 1)
        .selectExpr("cast(id % 2 as int) a", "concat('v', xxhash64(id)) b", "named_struct('u', id % 3, 'v', id) s")
        .write.parquet(s"$folder/part=$i")
    }
    damage(s"$folder/part=1", "b")
    folder
  }

  private def damage(folder: String, column: String): Unit = {
    val paths = files(folder)
    val file = paths.find(_.toString.endsWith(".parquet")).get
    val input = HadoopInputFile.fromPath(new org.apache.hadoop.fs.Path(file.toUri), new Configuration)
    val (start, size) = Using.resource(ParquetFileReader.open(input)) { reader =>
      val chunk = reader.getFooter.getBlocks.get(0).getColumns.asScala.find(_.getPath.toDotString == column).get
      (chunk.getStartingPos.toInt, chunk.getTotalSize.toInt)
    }
    val bytes = Files.readAllBytes(file)
    (start + 40 until start + size).foreach(i => bytes(i) = (bytes(i) * 7 + 13).toByte)
    val _ = Files.write(file, bytes)
    paths.filter(_.toString.endsWith(".crc")).foreach(Files.delete)
  }

  private def files(folder: String): Seq[Path] =
    Using.resource(Files.list(Paths.get(folder)))(_.iterator.asScala.toList)

  private def text(name: String, lines: String*): String = {
    val folder = root.resolve(name)
    Files.createDirectories(folder)
    Files.write(folder.resolve("part-0"), lines.asJava).getParent.toString
  }

  private def byBoth(df: => DataFrame): DataFrame =
    df.groupBy("a").count().selectExpr("string(a) k", "count n")
      .union(df.selectExpr("substr(b, 1, 2) k").groupBy("k").count())

  /** `b` is a key only of sets that are filtered out. */
  private def withoutB(df: => DataFrame): DataFrame = {
    df.createOrReplaceTempView("damaged")
    spark.sql(
      """select * from (select a, c, grouping_id(a, b, c) g, count(*) n from damaged group by cube(a, b, c))
        |where g in (2, 3, 6, 7)""".stripMargin
    )
  }

  /** The same whether shared or not; left alone only for that reason. */
  private def checkEither(build: => DataFrame): Unit = {
    val expected = plain(build)
    val actual = shared(build)
    same(expected, actual, ordered = false, actual.plan)
    if (!actual.isShared) {
      val found = Explanations.explain(build).collect { case Declined(_, reason) => reason.code }
      assert(found.contains(code), s"reasons given: $found")
    }
    ()
  }

  test("a damaged column that one branch reads: files skipped by conf, by option, by both APIs") {
    def read = spark.read.parquet(parquet)
    withConf(ignoring)(checkDeclined(byBoth(read), code))
    checkDeclined(byBoth(spark.read.option("ignoreCorruptFiles", "true").parquet(parquet)), code)
    checkDeclined(byBoth(spark.read.option("IGNORECORRUPTFILES", "true").parquet(parquet)), code)
    withConf("spark.sql.sources.useV1SourceList" -> "")(withConf(ignoring)(checkDeclined(byBoth(read), code)))
    withConf("spark.sql.sources.useV1SourceList" -> "") {
      checkDeclined(byBoth(spark.read.option("ignoreCorruptFiles", "true").parquet(parquet)), code)
    }
  }

  test("a damaged column that all branches or sets read is skipped by all alike") {
    withConf(ignoring) {
      def read = spark.read.parquet(parquet)
      def both = read.selectExpr("substr(b, 1, 2) b", "string(a) a")
      checkShared(both.cube("a", "b").count())
      checkShared(both.groupBy("a").agg("b" -> "max").union(both.groupBy("b").agg("a" -> "max")))
      // Partition columns are not in the files.
      checkShared(read.groupBy("part").agg("a" -> "sum").union(read.groupBy("a").agg("part" -> "sum")))
      val intact = spark.read.parquet(s"$parquet/part=0")
      def joined = intact.selectExpr("string(a) a").join(both, "a")
      checkShared(joined.groupBy("a").agg("b" -> "max").union(joined.groupBy("b").agg("a" -> "max")))
    }
  }

  test("not skipped, a damaged column is the same error") {
    def read = spark.read.option("ignoreCorruptFiles", "false").parquet(parquet)
    val error = withConf(ignoring)(plain(byBoth(read)).result.left.toOption)
    assert(error.isDefined)
    withConf(ignoring)(checkShared(byBoth(read), fails = error))
    checkShared(byBoth(spark.read.parquet(parquet)), fails = error)
  }

  test("parts of a struct are columns of their own") {
    withConf(ignoring) {
      def read = spark.read.parquet(parquet)
      checkDeclined(read.groupBy("s.u").count().union(read.groupBy("s.v").count()), code)
    }
  }

  test("a missing file") {
    val folder = s"$root/missing"
    spark.range(0, 100, 1, 4).selectExpr("cast(id % 2 as int) a", "string(id % 5) b").write.parquet(folder)
    def read = spark.read.option("ignoreMissingFiles", "true").parquet(folder)
    val frame = read
    files(folder).filter(_.getFileName.toString.startsWith("part-")).take(1).foreach(Files.delete)
    checkDeclined(byBoth(frame), code)
    checkShared(frame.cube("a", "b").count())
  }

  test("sets that are filtered out, over text of each mode") {
    val csv = text("csv", "1,1,1", "1,oops,2", "2,1,1", "2,oops,1", "3,1", "4,1,1,1")
    val json = text("json", """{"a":1,"b":1,"c":1}""", """{"a":1,"b":"x","c":2}""", """{"a":2,"b":[1,"c":1}""", "{")
    val xml = text("xml", "<r><row><a>1</a><b>1</b><c>1</c></row><row><a>2</a><b>x</b><c>1</c></row></r>")
    def reader(schema: String, mode: String) = spark.read.schema(schema).option("mode", mode).option("rowTag", "row")
    val clean = "a int, b int, c int"
    for (mode <- Seq("DROPMALFORMED", "FAILFAST")) withClue(s"$mode: ") {
      checkEither(withoutB(reader(clean, mode).csv(csv)))
      checkEither(withoutB(reader(clean, mode).json(json)))
    }
    checkEither(withoutB(reader(s"$clean, _corrupt_record string", "PERMISSIVE").csv(csv)))
    checkEither(withoutB(reader(clean, "DROPMALFORMED").xml(xml)))
    withConf(ignoring)(checkEither(withoutB(spark.read.parquet(parquet).withColumnRenamed("part", "c"))))
  }

  test("text that every branch or set reads alike is shared in each mode") {
    val csv = text("alike", "1,1,1", "1,oops,2", "2,1,1", "2,oops,1", "3,1", "4,1,1,1")
    for (mode <- Seq("PERMISSIVE", "DROPMALFORMED")) withClue(s"$mode: ") {
      def read = spark.read.schema("a int, b int, c int").option("mode", mode).csv(csv)
      checkShared(read.cube("a", "b").agg("c" -> "sum"))
      checkShared(read.groupBy("a").agg("b" -> "sum").union(read.groupBy("b").agg("a" -> "sum")))
      checkDeclined(read.groupBy("a").count().union(read.groupBy("b").count()), code)
    }
    def failing = spark.read.schema("a int, b int, c int").option("mode", "FAILFAST").csv(csv)
    val error = plain(failing.cube("a", "b").count()).result.left.toOption
    assert(error.isDefined)
    checkShared(failing.cube("a", "b").count(), fails = error)
  }

  test("the corrupt record beside columns that differ, and its own error when it stands alone") {
    val csv = text("corrupt", "1,1", "1,oops", "2,1", "x,1")
    def read = spark.read.schema("a int, b int, _corrupt_record string").csv(csv)
    checkDeclined(
      read.groupBy("a").agg("_corrupt_record" -> "max").union(read.groupBy("b").agg("_corrupt_record" -> "max")),
      code
    )
    checkDeclined(
      read.groupBy("a").agg("b" -> "sum").union(read.groupBy("b").agg("_corrupt_record" -> "count")),
      code
    )
    read.createOrReplaceTempView("damaged")
    checkEither(spark.sql(
      """select * from (select _corrupt_record r, grouping_id(_corrupt_record, b) g, count(*) n
        |from damaged group by cube(_corrupt_record, b)) where g in (1, 3)""".stripMargin
    ))
  }

  test("text below a union") {
    val csv = text("below", "1,1,1", "1,oops,2")
    def read = spark.read.schema("a int, b int, c int").option("mode", "DROPMALFORMED").csv(csv)
    // The columns of a union's later children have other ids than the union's own.
    def twice = read.union(read)
    checkEither(withoutB(twice))
    checkShared(twice.cube("a", "b").count())
  }
}
