package io.phantoms.spark.oracle

import java.nio.file.Files

import scala.util.Random

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types._

/**
 * A column of a random table.
 *
 * @param isKey whether queries group by it; others are inputs of aggregates
 */
final case class RandomColumn(name: String, dataType: DataType, isKey: Boolean, nullable: Boolean)

/** A random table, registered as a view. */
final case class RandomTable(view: String, columns: Vector[RandomColumn], rows: Int, form: String) {
  def keys: Vector[RandomColumn] = columns.filter(_.isKey)
  def values: Vector[RandomColumn] = columns.filterNot(_.isKey)
}

/** Tables whose types, NULL rates, numbers of values, skew, size and physical form are drawn from a seed. */
object RandomTables {
  private val keyTypes = Vector(
    IntegerType,
    LongType,
    StringType,
    DecimalType(9, 2),
    DecimalType(25, 3),
    DoubleType,
    FloatType,
    BooleanType,
    ByteType,
    ShortType,
    DateType,
    TimestampType,
    TimestampNTZType,
    BinaryType,
    StructType(Seq(StructField("p", IntegerType), StructField("q", StringType))),
    ArrayType(IntegerType)
  )
  private val valueTypes = Vector(
    IntegerType,
    LongType,
    ShortType,
    DoubleType,
    FloatType,
    DecimalType(7, 2),
    DecimalType(12, 3),
    DecimalType(18, 4),
    DecimalType(24, 2),
    StringType,
    DateType,
    TimestampType
  )

  def create(spark: SparkSession, seed: Long): RandomTable = {
    val random = new Random(seed * 31 + 7)
    val keys = Vector.tabulate(2 + random.nextInt(4))(i => s"k$i" -> keyTypes(random.nextInt(keyTypes.size)))
    val values = Vector.tabulate(1 + random.nextInt(4))(i => s"v$i" -> valueTypes(random.nextInt(valueTypes.size)))
    val columns = keys.map(k => RandomColumn(k._1, k._2, isKey = true, random.nextInt(4) > 0)) ++
      values.map(v => RandomColumn(v._1, v._2, isKey = false, random.nextInt(4) > 0))
    val count = pick(random, Vector(0, 1, 7, 100, 100, 1000, 5000))
    val makers = columns.map(maker(random, _))
    val data = Vector.fill(count)(Row.fromSeq(makers.map(_())))
    val form = pick(random, Vector("parquet", "parquet", "rows", "cached"))
    val partitions = 1 + random.nextInt(4)
    val schema = StructType(columns.map(c => StructField(c.name, c.dataType, c.nullable)))
    val frame = spark.createDataFrame(spark.sparkContext.parallelize(data, partitions), schema)
    val view = "random_table"
    register(spark, frame, form, view)
    RandomTable(view, columns, count, form)
  }

  private def register(spark: SparkSession, frame: DataFrame, form: String, view: String): Unit = {
    spark.catalog.clearCache()
    form match {
      case "parquet" =>
        val folder = Files.createTempDirectory("phantoms-random").toString + "/t"
        frame.write.parquet(folder)
        spark.read.parquet(folder).createOrReplaceTempView(view)
      case "cached" => frame.cache().createOrReplaceTempView(view)
      case _ => frame.createOrReplaceTempView(view)
    }
  }

  def pick[T](random: Random, from: Vector[T]): T = from(random.nextInt(from.size))

  /** Values of a column: so many different ones, some of them more frequent, so many NULLs. */
  private def maker(random: Random, column: RandomColumn): () => Any = {
    val distinct = pick(random, Vector(1, 2, 3, 10, 60, 700))
    val skew = pick(random, Vector(1.0, 1.0, 3.0, 8.0))
    val nulls = if (!column.nullable) 0.0 else pick(random, Vector(0.0, 0.05, 0.3, 0.9, 1.0))
    // Sums of some of these leave the range of bigint, in whatever order: they are of one sign.
    val huge = column.dataType == LongType && !column.isKey && random.nextInt(3) == 0
    () =>
      if (random.nextDouble() < nulls) null
      else if (huge) (math.pow(random.nextDouble(), skew) * distinct).toLong * 12345678901234567L
      else value(column.dataType, (math.pow(random.nextDouble(), skew) * distinct).toInt, random)
  }

  private def value(t: DataType, i: Int, random: Random): Any = t match {
    case IntegerType => i * 3 - 5
    case LongType => i * 1234567891L - 3
    case StringType => if (i == 0) "" else "s" * (i % 13) + i
    case d: DecimalType => java.math.BigDecimal.valueOf(i * 7919L % 99999L - 300, d.scale)
    // Quarters: their sums are exact in any order, so that even averages may be compared closely.
    case DoubleType => i match {
        case 0 => if (random.nextBoolean()) 0.0 else -0.0
        case 1 => Double.NaN
        case n => n * 0.25 - 3
      }
    case FloatType => i match {
        case 0 => if (random.nextBoolean()) 0.0f else -0.0f
        case 1 => Float.NaN
        case n => n * 0.25f - 3
      }
    case BooleanType => i % 2 == 0
    case ByteType => (i % 256 - 128).toByte
    case ShortType => (i * 97 - 20000).toShort
    case DateType => java.sql.Date.valueOf("1969-12-01").toLocalDate.plusDays(i.toLong).atStartOfDay.toLocalDate match {
        case d => java.sql.Date.valueOf(d)
      }
    case TimestampType => new java.sql.Timestamp(i * 1800000L - 7200000L)
    case TimestampNTZType => java.time.LocalDateTime.of(2024, 3, 31, 0, 0).plusMinutes(i * 17L)
    case BinaryType => Array.fill(i % 5)((i % 100).toByte)
    case _: StructType => Row(if (i % 7 == 3) null else i, "q" + i % 3)
    case _: ArrayType => Seq.tabulate[Any](i % 4)(j => if (j == 2) null else i + j)
    case other => throw new IllegalArgumentException(other.sql)
  }
}
