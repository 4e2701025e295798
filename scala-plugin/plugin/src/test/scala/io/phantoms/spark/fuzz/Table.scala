package io.phantoms.spark.fuzz

import java.nio.file.{Files, Path}

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types._

/** What may be done with a column's values so that the result is the same in whatever order rows come. */
sealed trait Values

object Values {

  /** Small numbers, and of floats multiples of a quarter (with NaN and infinities): their sums are exact. */
  case object Tame extends Values

  /** Numbers of one sign whose sums may leave the range, in every order or in none. */
  case object Huge extends Values

  /** The ends of the range among others: compared, grouped by and counted, not computed with. */
  case object Wild extends Values
}

final case class TableColumn(name: String, dataType: DataType, nullable: Boolean, values: Values)

/**
 * A table with its rows.
 *
 * @param form where it lies: `parquet`, `cached` or `rows` (an RDD)
 * @param parts files or partitions
 */
final case class Table(name: String, columns: Vector[TableColumn], rows: Vector[Row], form: String, parts: Int) {
  def schema: StructType = StructType(columns.map(c => StructField(c.name, c.dataType, c.nullable)))

  /** With fewer rows or columns, or lying elsewhere; `isRead` says which columns cannot be missed. */
  def smaller(isRead: String => Boolean): Seq[Table] =
    fewerRows.map(r => copy(rows = r)) ++ fewerColumns(isRead) ++
      (if (parts > 1) Seq(copy(parts = 1)) else Nil) ++
      (if (form != "rows") Seq(copy(form = "rows")) else Nil)

  private def fewerRows: Seq[Vector[Row]] =
    if (rows.size <= 8) rows.indices.map(i => rows.patch(i, Nil, 1))
    else {
      // Whatever is needed lies in some of four parts: one of them can go.
      val quarter = (rows.size + 3) / 4
      rows.splitAt(rows.size / 2) match {
        case (a, b) =>
          Seq(a, b) ++ (0 until 4).map(i => rows.patch(i * quarter, Nil, quarter)).filter(_.size < rows.size)
      }
    }

  private def fewerColumns(isRead: String => Boolean): Seq[Table] = {
    val (needed, idle) = columns.zipWithIndex.partition { case (c, _) => isRead(c.name) }
    if (idle.isEmpty || needed.isEmpty) Nil
    else
      Seq(copy(columns = needed.map(_._1), rows = rows.map(r => Row.fromSeq(needed.map { case (_, i) => r.get(i) }))))
  }
}

object Table {

  /** Registers tables as views; whatever was cached before is dropped. */
  def register(spark: SparkSession, tables: Seq[Table], folder: Path): Unit = {
    spark.catalog.clearCache()
    tables.foreach { t =>
      val frame = spark.createDataFrame(spark.sparkContext.parallelize(t.rows, t.parts), t.schema)
      placed(spark, t, frame, folder).createOrReplaceTempView(t.name)
    }
  }

  private def placed(spark: SparkSession, table: Table, frame: DataFrame, folder: Path): DataFrame = table.form match {
    case "parquet" =>
      val files = Files.createTempDirectory(folder, table.name).resolve("files").toString
      frame.write.parquet(files)
      spark.read.parquet(files)
    case "cached" => frame.cache()
    case _ => frame
  }
}
