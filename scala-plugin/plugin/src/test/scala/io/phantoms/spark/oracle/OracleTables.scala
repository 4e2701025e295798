package io.phantoms.spark.oracle

import java.math.{BigDecimal => JBigDecimal}
import java.nio.file.Files
import java.sql.{Date, Timestamp}
import java.time.{Duration, LocalDateTime, Period}

import scala.util.Random

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types._

/** Inputs of the trap suites: one table of every type that can be a key or an input, in several physical forms. */
object OracleTables {

  val schema: StructType = StructType(
    Seq(
      StructField("a", IntegerType),
      StructField("b", StringType),
      StructField("c", LongType),
      StructField("d", DecimalType(10, 2)),
      StructField("w", DecimalType(38, 4)),
      StructField("x", DoubleType),
      StructField("f", FloatType),
      StructField("flag", BooleanType),
      StructField("by", ByteType),
      StructField("sh", ShortType),
      StructField("dt", DateType),
      StructField("ts", TimestampType),
      StructField("tn", TimestampNTZType),
      StructField("bin", BinaryType),
      StructField("s", StructType(Seq(StructField("u", IntegerType), StructField("v", StringType)))),
      StructField("r", ArrayType(IntegerType)),
      StructField("ym", YearMonthIntervalType()),
      StructField("ds", DayTimeIntervalType()),
      StructField("n", IntegerType, nullable = false),
      StructField("z", IntegerType)
    )
  )

  /** Queries over `t` with keys and inputs of every type, by what they are about. */
  val queries: Seq[(String, String)] = Seq(
    "numbers, NULL, NaN and zeros of both signs as keys" ->
      "select a, by, x, f, count(*), count(z), sum(c), avg(sh) from t group by grouping sets ((a, by), (x, f), (x), ())",
    "decimals" -> "select d, w, sum(d), avg(d), max(d), sum(w), avg(w), min(w) from t group by cube(d, w)",
    "strings, binary, structs and arrays" ->
      "select b, bin, s, r, s.u, max(b), min(upper(b)) from t group by grouping sets ((b, bin), (s, r), (s.u, b), (r))",
    "times and intervals" ->
      "select dt, ts, tn, ym, ds, flag, max(ts), sum(ym), avg(ds) from t group by grouping sets ((dt, ts), (tn), (ym, ds, flag))",
    "filters, FILTER and a condition" ->
      """select mod(a, 3) k, b, sum(c) filter (where z > 0), max(x) filter (where flag), count(*), grouping_id()
        |from t where c > -20 and b <> 'k1' group by cube(mod(a, 3), b) having count(*) > 2""".stripMargin,
    "a union with conditions" ->
      """select a k, sum(c) v, max(x) m from t group by a having sum(c) > 0
        |union all select by, count(*), min(x) from t group by by having count(*) > 3
        |union all select null, sum(sh), avg(c) from t""".stripMargin
  )

  /** Few distinct values and many NULLs, so that every set has NULL groups; x has NaN, zeros of both signs, infinities. */
  def rows(count: Int): Seq[Row] = {
    val random = new Random(11)
    def some(value: => Any): Any = if (random.nextInt(6) == 0) null else value
    def decimal(unscaled: Long, scale: Int): JBigDecimal = JBigDecimal.valueOf(unscaled, scale)
    val doubles = Array(0.0, -0.0, Double.NaN, 1.5, -2.25, 1e10, 3.0)
    (0 until count).map { _ =>
      Row(
        some(random.nextInt(5) - 1),
        some("k" + "é" * random.nextInt(2) + random.nextInt(3)),
        some(random.nextInt(200).toLong - 50),
        some(decimal(random.nextInt(20000) - 5000, 2)),
        some(decimal(random.nextInt(4), 4)),
        some(doubles(random.nextInt(doubles.length))),
        some(doubles(random.nextInt(doubles.length)).toFloat),
        some(random.nextBoolean()),
        some((random.nextInt(6) - 3).toByte),
        some((random.nextInt(4) * 10000 - 20000).toShort),
        some(Date.valueOf(s"2024-01-0${1 + random.nextInt(5)}")),
        some(
          Timestamp.valueOf(s"${if (random.nextBoolean()) "1969" else "2024"}-03-31 0${random.nextInt(4)}:30:00.000001")
        ),
        some(LocalDateTime.of(2024, 3, 31, random.nextInt(4), 30 * random.nextInt(2))),
        some(Array.fill(random.nextInt(3))(random.nextInt(2).toByte)),
        some(Row(some(random.nextInt(2)), some("v" + random.nextInt(2)))),
        some(Seq.fill(random.nextInt(3))(some(random.nextInt(2)))),
        some(Period.ofMonths(random.nextInt(3))),
        some(Duration.ofSeconds(random.nextInt(3) - 1L)),
        random.nextInt(3),
        some(random.nextInt(3))
      )
    }
  }

  private def frame(spark: SparkSession, rows: Seq[Row], partitions: Int): DataFrame =
    spark.createDataFrame(spark.sparkContext.parallelize(rows, partitions), schema)

  /**
   * Views `t` (Parquet of three files), `t_rows` (rows that no reader batches), `t_cached`, `none` (Parquet without rows),
   * `nothing` (Parquet without a single file left) and `dim`.
   */
  def create(spark: SparkSession, count: Int = 400): Unit = {
    val folder = Files.createTempDirectory("phantoms-oracle").toString
    val data = rows(count)
    frame(spark, data, 3).write.parquet(s"$folder/t")
    // Read with the declared schema: a table's columns may be declared NOT NULL, files alone may not say so.
    spark.read.parquet(s"$folder/t").createOrReplaceTempView("t")
    spark.read.parquet(s"$folder/t").createOrReplaceTempView("t_parquet")
    frame(spark, data, 3).createOrReplaceTempView("t_rows")
    val cached = frame(spark, data, 2).cache()
    cached.createOrReplaceTempView("t_cached")
    frame(spark, Nil, 1).write.parquet(s"$folder/none")
    spark.read.parquet(s"$folder/none").createOrReplaceTempView("none")
    frame(spark, data, 1).write.partitionBy("n").parquet(s"$folder/p")
    spark.read.parquet(s"$folder/p").where("n > 100").createOrReplaceTempView("nothing")
    spark.range(5).selectExpr("cast(id as int) as a", "concat('n', id) as name").write.parquet(s"$folder/dim")
    spark.read.parquet(s"$folder/dim").createOrReplaceTempView("dim")
  }

  val inputs: Seq[String] = Seq("parquet", "rows", "cached")

  /** Makes the view `t` read another form of the same rows. */
  def use(spark: SparkSession, input: String): Unit = spark.table(s"t_$input").createOrReplaceTempView("t")
}
