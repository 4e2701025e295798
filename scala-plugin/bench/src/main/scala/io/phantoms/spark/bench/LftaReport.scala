package io.phantoms.spark.bench

import java.io.{BufferedOutputStream, FileOutputStream}
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path, Paths}
import java.util.{Locale, Random}

import org.apache.spark.sql.SparkSession

/**
 * The data source `lfta` on one core: rows and batches of columns, with readers' tables and without, beside the same packets
 * as Parquet.
 *
 * Usage: `LftaReport FILE.json [packets]`. Packets of 64 bytes are kept; those of one of 100,000 flows come in trains, as in
 * real traffic. Seconds are medians, with the reader's answer compared with Parquet's.
 */
object LftaReport {
  private val Repeats = 3
  private val Flows = 100000
  private val Kept = 64

  private val queries = Seq(
    "sums" -> "SELECT sum(length), sum(srcport), max(time), count(*) FROM @",
    "addresses" -> "SELECT max(hash(srcip, dstip)), sum(length) FROM @",
    "ports" -> "SELECT dstport, count(*), sum(length) FROM @ GROUP BY dstport",
    "pairs" -> "SELECT srcip, dstip, count(*), sum(length) FROM @ GROUP BY srcip, dstip",
    "flows" -> "SELECT srcip, dstip, srcport, dstport, count(*), sum(length) FROM @ GROUP BY 1, 2, 3, 4",
    "subnet" -> "SELECT dstip, count(*) FROM @ WHERE in_subnet(srcip, '10.0.0.0/20') AND dstport = 80 GROUP BY dstip"
  )

  private val forms = Seq(
    "batches" -> Map("pushDownAggregate" -> "false"),
    "rows" -> Map("pushDownAggregate" -> "false", "columnar" -> "false"),
    "tables" -> Map.empty[String, String],
    "direct" -> Map("tables.kind" -> "direct")
  )

  def main(args: Array[String]): Unit = {
    val packets = args.drop(1).headOption.fold(2000000)(_.toInt)
    val folder = Files.createTempDirectory("phantoms-lfta-report")
    val spark = SparkSession.builder().master("local[1]").config("spark.ui.enabled", "false")
      .config(
        "spark.sql.shuffle.partitions",
        "1"
      ).config("spark.sql.extensions", "io.phantoms.spark.PhantomsExtensions")
      .config("spark.phantoms.enabled", "false").getOrCreate()
    try {
      write(folder.resolve("a.pcap"), packets)
      val capture = folder.resolve("a.pcap").toString
      spark.read.format("lfta").load(capture).drop("payload", "_malformed").write.parquet(s"$folder/parquet")
      spark.read.parquet(s"$folder/parquet").createOrReplaceTempView("parquet")
      forms.foreach { case (name, options) =>
        spark.read.format("lfta").options(options).load(capture).createOrReplaceTempView(name)
      }
      val lines = queries.map { case (query, sql) =>
        val times = (forms.map(_._1) :+ "parquet").map { form =>
          val text = sql.replace("@", form)
          require(answer(spark, text) == answer(spark, sql.replace("@", "parquet")), s"$query over $form")
          form -> median(Seq.fill(Repeats)(seconds(spark.sql(text).write.format("noop").mode("overwrite").save())))
        }
        val all = times.map { case (form, t) => s""""$form": ${String.format(Locale.ROOT, "%.3f", Double.box(t))}""" }
        s"""  "$query": {${all.mkString(", ")}}"""
      }
      val text = s"""{\n  "name": "lfta", "packets": $packets, "repeat": $Repeats,\n${lines.mkString(",\n")}\n}\n"""
      print(text)
      val _ = Files.writeString(Paths.get(args.head), text)
    } finally spark.stop()
  }

  private def answer(spark: SparkSession, sql: String): Map[Seq[Any], Int] =
    spark.sql(sql).collect().toSeq.map(_.toSeq.map {
      case bytes: Array[Byte] => bytes.toSeq
      case other => other
    }).groupMapReduce(identity)(_ => 1)(_ + _)

  private def seconds(body: => Unit): Double = {
    val start = System.nanoTime()
    body
    (System.nanoTime() - start) / 1e9
  }

  private def median(times: Seq[Double]): Double = times.sorted.apply(times.size / 2)

  private def write(file: Path, packets: Int): Unit = {
    val out = new BufferedOutputStream(new FileOutputStream(file.toFile), 1 << 20)
    try {
      out.write(little(24).putInt(0xa1b2c3d4).putShort(2).putShort(4).putLong(0).putInt(Kept).putInt(1).array)
      val random = new Random(1)
      val record = little(16 + Kept)
      var flow = 0
      (0 until packets).foreach { i =>
        if (random.nextInt(8) == 0) flow = math.min(random.nextInt(Flows), random.nextInt(Flows))
        val length = 60 + random.nextInt(1400)
        record.clear()
        record.putInt(1700000000 + i / 100000).putInt(i % 100000 * 10).putInt(Kept).putInt(length)
        frame(record.slice().order(ByteOrder.BIG_ENDIAN), flow, length)
        out.write(record.array)
      }
    } finally out.close()
  }

  private def frame(b: ByteBuffer, flow: Int, length: Int): Unit = {
    val ports = Array(53, 80, 443, 8080)
    b.putLong(0x0200000000020200L).putInt(1).putShort(0x800.toShort)
      .putShort(0x4500).putShort((length - 14).toShort).putInt(0).put(64.toByte).put(6.toByte).putShort(0)
      .putInt(0x0a000000 | flow % 9000).putInt(0x0a800000 | flow % 5003)
      .putShort((1024 + flow % 50000).toShort).putShort(ports(flow % 4).toShort)
      .putInt(flow).putInt(0).put(0x50.toByte).put(16.toByte).putShort(1000).putInt(0)
    val _ = b
  }

  private def little(bytes: Int): ByteBuffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN)
}
