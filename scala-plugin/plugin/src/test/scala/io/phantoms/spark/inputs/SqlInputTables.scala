package io.phantoms.spark.inputs

import io.phantoms.spark.tpcds.JarTexts

import org.apache.spark.sql.{Encoders, SparkSession}
import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}

/** The tables that Spark's own SQL tests find there, and how what the statements of a file leave behind goes away. */
object SqlInputTables {
  private val names = Set("testdata", "arraydata", "mapdata", "aggtest", "onek", "tenk1")

  private val numbers =
    Seq("unique1", "unique2", "two", "four", "ten", "twenty", "hundred", "thousand", "twothousand") ++
      Seq("fivethous", "tenthous", "odd", "even")
  private val wide =
    (numbers.map(_ + " int") ++ Seq("stringu1", "stringu2", "string4").map(_ + " string")).mkString(", ")

  def create(spark: SparkSession): Unit = {
    save(spark, "testdata", "select cast(id as int) key, cast(id as string) value from range(1, 101)")
    save(
      spark,
      "arraydata",
      "select * from values (array(1, 2, 3), array(array(1, 2, 3))), (array(2, 3, 4), array(array(2, 3, 4))) t(arraycol, nestedarraycol)"
    )
    save(
      spark,
      "mapdata",
      s"select * from values ${(1 to 5).map(n => s"(map(${(1 to n).map(i => s"$i, 'v$n$i'").mkString(", ")}))").mkString(", ")} t(mapcol)"
    )
    Seq("aggtest" -> ("a int, b float", "agg"), "onek" -> (wide, "onek"), "tenk1" -> (wide, "tenk")).foreach {
      case (table, (columns, file)) =>
        val lines = spark.createDataset(JarTexts.lines(s"test-data/postgresql/$file.data"))(Encoders.STRING)
        spark.read.schema(columns).option("delimiter", "\t").csv(lines).coalesce(1).write.saveAsTable(table)
    }
  }

  private def save(spark: SparkSession, table: String, query: String): Unit =
    spark.sql(query).coalesce(1).write.saveAsTable(table)

  /** Drops what statements created in the catalog that all sessions of a suite have in common. */
  def dropOthers(spark: ClassicSession): Unit = {
    val catalog = spark.sharedState.externalCatalog
    catalog.listDatabases("*").filterNot(Set("default", "global_temp")).foreach { d =>
      catalog.dropDatabase(d, ignoreIfNotExists = true, cascade = true)
    }
    // By the session's catalog, which also forgets what it knows of a table.
    catalog.listTables("default").filterNot(names).foreach { t =>
      spark.sessionState.catalog.dropTable(TableIdentifier(t, Some("default")), ignoreIfNotExists = true, purge = true)
    }
    catalog.listFunctions("default", "*").foreach { f =>
      spark.sessionState.catalog.dropFunction(FunctionIdentifier(f, Some("default")), ignoreIfNotExists = true)
    }
  }
}
