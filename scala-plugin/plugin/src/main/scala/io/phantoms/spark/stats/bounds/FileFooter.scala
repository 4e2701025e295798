package io.phantoms.spark.stats.bounds

import scala.jdk.CollectionConverters._

import io.phantoms.spark.conf.PlanningMemory

import org.apache.orc.{ColumnStatistics, DateColumnStatistics, DecimalColumnStatistics, IntegerColumnStatistics}
import org.apache.orc.{Reader, TypeDescription}
import org.apache.parquet.column.statistics.{IntStatistics, LongStatistics}
import org.apache.parquet.hadoop.metadata.{ColumnChunkMetaData, ParquetMetadata}
import org.apache.parquet.schema.LogicalTypeAnnotation
import org.apache.parquet.schema.LogicalTypeAnnotation._

/**
 * Values a column lies between, as whole numbers: days of a date, unscaled values of a decimal.
 *
 * @param min above `max` where there is no value at all
 * @param nulls whether there may be NULLs
 * @param scale of a decimal, else 0
 */
private[bounds] final case class ValueRange(min: Long, max: Long, nulls: Boolean, scale: Int = 0) {
  def isEmpty: Boolean = min > max

  /** No more different values than this, NULL being one. */
  def domain: Double = width + (if (nulls) 1 else 0)

  def width: Double = if (isEmpty) 0.0 else max.toDouble - min.toDouble + 1

  /** What holds of the values of both. */
  def hull(other: ValueRange): ValueRange =
    if (isEmpty) other.copy(nulls = nulls || other.nulls)
    else if (other.isEmpty) copy(nulls = nulls || other.nulls)
    else ValueRange(math.min(min, other.min), math.max(max, other.max), nulls || other.nulls, scale)
}

/**
 * What the footer of a file says.
 *
 * @param columns ranges of its columns of integers, dates and short decimals; a column of another kind, or without
 *   statistics, is missing
 */
private[bounds] final case class FileFooter(rows: Long, columns: Map[String, ValueRange]) {

  /** Bytes it holds. */
  def weight: Long = 64 + columns.keysIterator.map(name => 104 + PlanningMemory.weigh(name)).sum
}

private[bounds] object FileFooter {
  // Writers before Spark 3 stored dates before the Gregorian calendar by another one, so they are not what is read.
  private val Gregorian = -141427L

  def parquet(footer: ParquetMetadata): FileFooter = {
    val blocks = footer.getBlocks.asScala.toIndexedSeq
    val ranges = blocks.map { block =>
      block.getColumns.asScala.filter(_.getPath.size == 1).flatMap { c =>
        rangeOf(c, block.getRowCount).map(c.getPath.toArray.head -> _)
      }.toMap
    }
    FileFooter(blocks.map(_.getRowCount).sum, common(ranges))
  }

  private def rangeOf(chunk: ColumnChunkMetaData, rows: Long): Option[ValueRange] = {
    val annotation = chunk.getPrimitiveType.getLogicalTypeAnnotation
    scaleOf(annotation).flatMap { scale =>
      chunk.getStatistics match {
        case null => None
        case s if s.isNumNullsSet && s.getNumNulls == rows => Some(ValueRange(0, -1, rows > 0, scale))
        case s if !s.hasNonNullValue => None
        case s =>
          val nulls = !s.isNumNullsSet || s.getNumNulls > 0
          s match {
            case i: IntStatistics => Some(ValueRange(i.getMin.toLong, i.getMax.toLong, nulls, scale))
            case l: LongStatistics => Some(ValueRange(l.getMin, l.getMax, nulls, scale))
            case _ => None
          }
      }
    }.filter(r => !annotation.isInstanceOf[DateLogicalTypeAnnotation] || r.isEmpty || r.min >= Gregorian)
  }

  /** None of what has another order or another meaning than the number that is stored. */
  private def scaleOf(annotation: LogicalTypeAnnotation): Option[Int] = annotation match {
    case null => Some(0)
    case i: IntLogicalTypeAnnotation => if (i.isSigned) Some(0) else None
    case _: DateLogicalTypeAnnotation => Some(0)
    case d: DecimalLogicalTypeAnnotation => Some(d.getScale)
    case _ => None
  }

  def orc(reader: Reader): FileFooter = {
    val schema = reader.getSchema
    val fields =
      if (schema.getCategory != TypeDescription.Category.STRUCT) Nil
      else schema.getFieldNames.asScala.toSeq.zip(schema.getChildren.asScala)
    val statistics = reader.getStatistics
    // Hive once wrote numbers for names, which are then matched by position.
    val named = !fields.forall(_._1.matches("_col\\d+"))
    val ranges = if (!named) Nil
    else fields.flatMap { case (name, column) =>
      statistics.lift(column.getId).flatMap(rangeOf(_, column, reader.getNumberOfRows)).map(name -> _)
    }
    FileFooter(reader.getNumberOfRows, ranges.toMap)
  }

  private def rangeOf(s: ColumnStatistics, column: TypeDescription, rows: Long): Option[ValueRange] = {
    val nulls = s.hasNull || s.getNumberOfValues < rows
    def of(min: Long, max: Long, scale: Int = 0): Option[ValueRange] =
      if (s.getNumberOfValues == 0) Some(ValueRange(0, -1, nulls, scale))
      else Some(ValueRange(min, max, nulls, scale)).filterNot(_.isEmpty)
    s match {
      case i: IntegerColumnStatistics => of(i.getMinimum, i.getMaximum)
      case d: DateColumnStatistics =>
        of(d.getMinimumDayOfEpoch, d.getMaximumDayOfEpoch).filter(r => r.isEmpty || r.min >= Gregorian)
      case d: DecimalColumnStatistics if d.getMinimum != null && d.getMaximum != null =>
        def unscaled(v: java.math.BigDecimal) = v.setScale(column.getScale).unscaledValue
        val (min, max) = (unscaled(d.getMinimum.bigDecimalValue), unscaled(d.getMaximum.bigDecimalValue))
        if (min.bitLength > 62 || max.bitLength > 62) None else of(min.longValue, max.longValue, column.getScale)
      case _ => None
    }
  }

  /** Of the columns that every part says something about. */
  private[bounds] def common(parts: Seq[Map[String, ValueRange]]): Map[String, ValueRange] =
    parts.reduceOption { (a, b) =>
      a.flatMap { case (name, range) => b.get(name).filter(_.scale == range.scale).map(r => name -> range.hull(r)) }
    }.getOrElse(Map.empty)
}
