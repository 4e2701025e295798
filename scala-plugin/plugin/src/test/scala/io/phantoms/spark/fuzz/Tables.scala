package io.phantoms.spark.fuzz

import java.time.{Duration, Instant, LocalDate, LocalDateTime, Period}

import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

/** A large table and a small one whose types, NULLs, numbers of values, skew, size and form are drawn. */
object Tables {
  private val decimals: Vector[DataType] =
    Vector(DecimalType(5, 2), DecimalType(9, 2), DecimalType(18, 4), DecimalType(25, 3), DecimalType(38, 10))
  private val struct = StructType(Seq(StructField("p", IntegerType), StructField("q", StringType)))
  private val numbers: Vector[DataType] =
    Vector(ByteType, ShortType, IntegerType, IntegerType, LongType, LongType, FloatType, DoubleType)
  private val others: Vector[DataType] = Vector(
    StringType,
    StringType,
    BooleanType,
    BinaryType,
    DateType,
    TimestampType,
    TimestampNTZType,
    struct,
    ArrayType(IntegerType),
    DayTimeIntervalType(),
    YearMonthIntervalType()
  )

  def draw(d: Draw): Vector[Table] = Vector(
    table(d, "t", 4 + d.upTo(5), d.pick(Vector(0, 1, 7, 50, 100, 100, 300, 300, 2000))),
    table(d, "d", 3, d.pick(Vector(0, 3, 12, 12)))
  )

  private def table(d: Draw, name: String, width: Int, count: Int): Table = {
    // One of every kind of use, so that each shape of query finds what it needs.
    val first = Vector[DataType](IntegerType, d.pick(numbers ++ decimals), TimestampType).take(width)
    val types = first ++ Vector.fill(width - first.size)(d.pick(numbers ++ decimals ++ others ++ others))
    val columns = types.zipWithIndex.map { case (t, i) =>
      val values: Values = t match {
        case _ if i == 0 || d.chance(2) => Values.Tame
        case LongType | _: DecimalType | DoubleType if d.chance(3) => Values.Huge
        case _ => Values.Wild
      }
      TableColumn(s"$name$i", t, d.chance(3) || d.chance(2), values)
    }
    val makers = columns.map(maker(d, _))
    val rows = Vector.fill(count)(Row.fromSeq(makers.map(_())))
    Table(name, columns, rows, d.pick(Vector("parquet", "parquet", "parquet", "rows", "cached")), 1 + d.upTo(4))
  }

  /** Values of a column: so many different ones, some of them more frequent, so many NULLs. */
  private def maker(d: Draw, column: TableColumn): () => Any = {
    val distinct = d.pick(Vector(1, 2, 3, 10, 60, 700))
    val skew = d.pick(Vector(1.0, 1.0, 3.0, 8.0))
    val nulls = if (!column.nullable) 0.0 else d.pick(Vector(0.0, 0.05, 0.3, 0.9, 1.0))
    () =>
      if (d.fraction() < nulls) null
      else {
        val i = (math.pow(d.fraction(), skew) * distinct).toInt
        column.values match {
          case Values.Huge => huge(column.dataType, i)
          case Values.Wild if d.chance(4) => extreme(column.dataType, d)
          case _ => tame(column.dataType, i, d)
        }
      }
  }

  private def huge(t: DataType, i: Int): Any = t match {
    case LongType => i * 12345678901234567L
    case DoubleType => i * 1e305
    case decimal: DecimalType =>
      new java.math.BigDecimal("9" * decimal.precision).multiply(java.math.BigDecimal.valueOf(i.toLong))
        .divideToIntegralValue(java.math.BigDecimal.valueOf(700)).movePointLeft(decimal.scale).setScale(decimal.scale)
    case other => throw new IllegalArgumentException(other.sql)
  }

  private def extreme(t: DataType, d: Draw): Any = t match {
    case ByteType => d.pick(Vector(Byte.MinValue, Byte.MaxValue))
    case ShortType => d.pick(Vector(Short.MinValue, Short.MaxValue))
    case IntegerType => d.pick(Vector(Int.MinValue, Int.MaxValue))
    case LongType => d.pick(Vector(Long.MinValue, Long.MaxValue))
    case FloatType =>
      d.pick(Vector(Float.MinValue, Float.MaxValue, Float.MinPositiveValue, Float.NaN, -0.0f, Float.NegativeInfinity))
    case DoubleType =>
      d.pick(Vector(
        Double.MinValue,
        Double.MaxValue,
        Double.MinPositiveValue,
        Double.NaN,
        -0.0,
        Double.PositiveInfinity
      ))
    case decimal: DecimalType =>
      new java.math.BigDecimal(d.pick(Vector("", "-")) + "9" * decimal.precision).movePointLeft(decimal.scale)
        .setScale(decimal.scale)
    case StringType => d.pick(Vector("", " ", "\u00e9\u00df", "it's \\", "x" * 300, "\u0000", "NULL"))
    case BinaryType => d.pick(Vector(Array.emptyByteArray, Array.fill(100)(-1.toByte), Array[Byte](0)))
    case DateType => d.pick(Vector(LocalDate.of(1, 1, 1), LocalDate.of(9999, 12, 31), LocalDate.of(1582, 10, 15)))
    case TimestampType =>
      d.pick(Vector(
        "0001-01-02T00:00:00Z",
        "9999-12-30T23:59:59.999999Z",
        "1883-11-18T12:00:00Z"
      ).map(Instant.parse(_)))
    case TimestampNTZType =>
      d.pick(Vector(
        "0001-01-01T00:00:00",
        "9999-12-31T23:59:59.999999",
        "1969-12-31T23:59:59.999999"
      ).map(LocalDateTime.parse(_)))
    case _: DayTimeIntervalType => Duration.ofDays(d.pick(Vector(-1000000, 1000000)).toLong)
    case _: YearMonthIntervalType => Period.ofMonths(d.pick(Vector(Int.MinValue + 12, Int.MaxValue - 12)))
    case _: StructType => Row(null, null)
    case _: ArrayType => d.pick(Vector(Seq.empty, Seq(null, null), Seq(Int.MinValue), Seq.fill(40)(1)))
    case other => tame(other, 0, d)
  }

  private def tame(t: DataType, i: Int, d: Draw): Any = t match {
    case ByteType => (i % 100 - 40).toByte
    case ShortType => (i * 17 - 200).toShort
    case IntegerType => i * 3 - 5
    case LongType => i * 1234567891L - 3
    case StringType => if (i == 0) "" else "s" * (i % 13) + i
    case decimal: DecimalType => java.math.BigDecimal.valueOf(i * 79L % 99999L - 300, decimal.scale)
    case DoubleType => quarters(i, d)
    case FloatType => quarters(i, d).toFloat
    case BooleanType => i % 2 == 0
    case DateType => LocalDate.of(1969, 12, 1).plusDays(i.toLong)
    case TimestampType => Instant.ofEpochSecond(i * 1800L - 7200L)
    case TimestampNTZType => LocalDateTime.of(2024, 3, 31, 0, 0).plusMinutes(i * 17L)
    case BinaryType => Array.fill(i % 5)((i % 100).toByte)
    case _: DayTimeIntervalType => Duration.ofSeconds(i * 977L - 5000L, (i % 3) * 1000L)
    case _: YearMonthIntervalType => Period.ofMonths(i - 5)
    case _: StructType => Row(if (i % 7 == 3) null else i, "q" + i % 3)
    case _: ArrayType => Seq.tabulate[Any](i % 4)(j => if (j == 2) null else i + j)
    case other => throw new IllegalArgumentException(other.sql)
  }

  private def quarters(i: Int, d: Draw): Double = i match {
    case 0 => if (d.chance(2)) 0.0 else -0.0
    case 1 => Double.NaN
    case 13 => if (d.chance(2)) Double.PositiveInfinity else Double.NegativeInfinity
    case n => n * 0.25 - 3
  }
}
