package io.phantoms.spark.tpcds

import java.nio.file.Files

import org.apache.spark.sql.{SparkSession, TPCDSSchema}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.types.StructType

/** The tables of TPC-DS with the columns that Spark's own tests give them. */
object TpcdsTables extends TPCDSSchema {
  val names: Seq[String] = tableColumns.keys.toSeq.sorted

  /** CHAR and VARCHAR as such. */
  private lazy val schemas: Map[String, StructType] = tableColumns.map { case (t, ddl) =>
    t -> StructType.fromDDL(ddl.stripMargin)
  }

  /** Tables of a few thousand rows, each a Parquet file. */
  def create(spark: SparkSession): Unit = {
    val folder = Files.createTempDirectory("phantoms-tpcds")
    val rows = new TpcdsRows(schemas, new AskedValues(TpcdsQueries.all.map(_.sql)), seed = 7)
    names.foreach { table =>
      val location = folder.resolve(table).toString
      val strings = StructType(schemas(table).map(f =>
        f.copy(dataType = CharVarcharUtils.replaceCharVarcharWithString(f.dataType))
      ))
      spark.createDataFrame(java.util.Arrays.asList(rows.table(table): _*), strings).coalesce(1).write.parquet(location)
      spark.sql(s"create table $table (${tableColumns(table).stripMargin}) using parquet location '$location'")
    }
  }

  /** Tables without rows. */
  def createEmpty(spark: SparkSession): Unit =
    names.foreach(table => spark.sql(s"create table $table (${tableColumns(table).stripMargin}) using parquet"))
}
