package io.phantoms.spark.bench

import java.nio.file.{Files, Paths}
import java.util.Locale
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.SparkSession

/**
 * Reports over joins with the LFTA fed by the code of the join's stage, and by an iterator of its rows: by turns, medians
 * of seconds, and of seconds of processor time of the tasks, which a busy machine changes less.
 *
 * Usage: `JoinReport JSON_FILE [ROWS [ROUNDS [QUERY]]]`.
 */
object JoinReport {
  private val Dimension = 2000

  private val both = "from facts join stores on store = s_id join items on item = i_id"
  private val measures = (1 to 24).map(i => s"sum(qty + $i), max(price * $i)").mkString(", ")

  private val queries = Seq(
    "cube of 3 ints" ->
      s"select region, size, class, count(*), sum(qty), sum(price) $both group by cube(region, size, class)",
    "cube of 3 strings" ->
      s"select city, brand, color, count(*), sum(qty), sum(price) $both group by cube(city, brand, color)",
    "8 rows a match" ->
      """select region, day % 7 as d, offer, count(*), sum(qty) from facts join stores on store = s_id
        |join offers on o_item = item % 250 group by cube(region, day % 7, offer)""".stripMargin,
    "48 measures" -> s"select region, size, $measures $both group by cube(region, size)",
    "grouping sets of 8 keys" ->
      s"""select region, size, class, city, brand, color, day, store, count(*), sum(qty) $both group by grouping sets
         |((region, city), (size, brand), (class, color), (day), (store, day), (city, brand), (color, region))""".stripMargin,
    "filtered" ->
      s"select region, class, count(*), sum(qty) $both where qty < 5 and price > 30 group by cube(region, class)"
  )

  def main(args: Array[String]): Unit = {
    val rows = args.lift(1).fold(4000000L)(_.toLong)
    val rounds = args.lift(2).fold(5)(_.toInt)
    val spark = SparkSession.builder().master("local[2]").appName("joins")
      .config("spark.sql.extensions", "io.phantoms.spark.PhantomsExtensions")
      .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4")
      .config("spark.phantoms.stats.observe", "false")
      .config("spark.phantoms.minSavings", "-1").getOrCreate()
    try {
      val folder = Files.createTempDirectory("joins")
      tables(spark, rows).foreach { case (name, df) =>
        df.write.parquet(s"$folder/$name")
        spark.read.parquet(s"$folder/$name").createOrReplaceTempView(name)
      }
      val processor = new ProcessorTime
      spark.sparkContext.addSparkListener(processor)
      val found = queries.filter(q => args.lift(3).forall(q._1.contains)).map { case (name, sql) =>
        val times = Seq.fill(rounds + 2)(Seq(true, false).map(seconds(spark, processor, sql, _))).drop(2)
        def medians(of: ((Double, Double)) => Double): (Double, Double) = {
          val each = times.transpose.map(t => median(t.map(of)))
          (each.head, each.last)
        }
        val ((fused, iterator), (fusedCpu, iteratorCpu)) = (medians(_._1), medians(_._2))
        val line = String.format(
          Locale.ROOT,
          "{\"query\": \"%s\", \"fused\": %.3f, \"iterator\": %.3f, \"ratio\": %.2f, \"fused_cpu\": %.3f, " +
            "\"iterator_cpu\": %.3f, \"ratio_cpu\": %.2f}",
          name,
          fused,
          iterator,
          iterator / fused,
          fusedCpu,
          iteratorCpu,
          iteratorCpu / fusedCpu
        )
        println(line)
        s"    $line"
      }
      val json = s"""{
                    |  "name": "joins", "rows": $rows, "spark": "${spark.version}", "repeat": $rounds,
                    |  "queries": [
                    |${found.mkString(",\n")}
                    |  ]
                    |}
                    |""".stripMargin
      val _ = Files.write(Paths.get(args(0)), json.getBytes("UTF-8"))
    } finally spark.stop()
  }

  /** What tasks took of the processors since it was asked last. */
  private final class ProcessorTime extends SparkListener {
    private val nanos = new AtomicLong
    override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
      Option(end.taskMetrics).foreach(m => nanos.addAndGet(m.executorCpuTime))
    def take(): Double = nanos.getAndSet(0) / 1e9
  }

  /** Of the clock, and of the processors. */
  private def seconds(
      spark: SparkSession,
      processor: ProcessorTime,
      sql: String,
      fused: Boolean
  ): (Double, Double) = {
    spark.conf.set("spark.phantoms.lfta.fused", fused.toString)
    val start = System.nanoTime
    spark.sql(sql).write.format("noop").mode("overwrite").save()
    val clock = (System.nanoTime - start) / 1e9
    // Events come a little later than the result.
    Thread.sleep(200)
    (clock, processor.take())
  }

  private def median(times: Seq[Double]): Double = times.sorted.apply(times.size / 2)

  private def tables(spark: SparkSession, rows: Long) = Seq(
    "facts" -> spark.range(0, rows, 1, 4).selectExpr(
      s"cast(pmod(hash(id), $Dimension) as int) as store",
      s"cast(pmod(hash(id, 1), $Dimension) as int) as item",
      "cast(id div 40000 as int) as day",
      "cast(pmod(hash(id, 2), 10) as int) as qty",
      "cast(pmod(hash(id, 3), 10000) / 100 as decimal(7, 2)) as price"
    ),
    "stores" -> spark.range(0, Dimension, 1, 1).selectExpr(
      "cast(id as int) as s_id",
      "cast(id % 12 as int) as region",
      "cast(id % 7 as int) as size",
      "concat('city of number ', id % 50) as city"
    ),
    "items" -> spark.range(0, Dimension, 1, 1).selectExpr(
      "cast(id as int) as i_id",
      "cast(id % 25 as int) as class",
      "concat('brand-', id % 40) as brand",
      "concat('color-', id % 15) as color"
    ),
    "offers" -> spark.range(0, Dimension, 1, 1).selectExpr(
      "cast(id % 250 as int) as o_item",
      "cast(id % 9 as int) as offer"
    )
  )
}
