package io.phantoms.spark.source

import java.util

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * `spark.read.format("lfta")`: packets of captures (pcap, pcapng) and flow records of exports (NetFlow v5 and v9,
 * IPFIX), in files or within captures; `spark.readStream` also those that come to a UDP port. See [[LftaOptions]] for
 * what can be said.
 *
 * Needs neither the extension nor any setting. Readers aggregate in tables of fixed memory where a query allows
 * ([[PushedAggregate]]), and Spark finishes: the low and the high level of "Holistic UDAFs at streaming speeds".
 */
final class LftaDataSource extends TableProvider with DataSourceRegister {
  private var inferred = Option.empty[Table]

  override def shortName(): String = LftaTable.Name

  override def supportsExternalMetadata(): Boolean = true

  override def inferPartitioning(options: CaseInsensitiveStringMap): Array[Transform] = Array.empty

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    val table = tableOf(options, None)
    inferred = Some(table)
    table.fields
  }

  override def getTable(schema: StructType, partitioning: Array[Transform], of: util.Map[String, String]): Table =
    inferred.getOrElse(tableOf(new CaseInsensitiveStringMap(of), Some(schema)))

  private def tableOf(options: CaseInsensitiveStringMap, schema: Option[StructType]): RecordsTable = {
    val paths = pathsOf(options)
    StreamOptions.listen(options) match {
      case Some(listen) if paths.isEmpty => new PortTable(listen, options, schema)
      case Some(_) => LftaOptions.refuse("listen", "there is a path, too. A stream is of files or of a port.")
      case None => tableOf(paths, options, schema)
    }
  }

  private def tableOf(
      paths: Seq[String],
      options: CaseInsensitiveStringMap,
      schema: Option[StructType]
  ): RecordsTable = {
    if (paths.isEmpty) LftaOptions.refuse("path", "there is none. Say which files or directories to read.")
    val others = options.asCaseSensitiveMap.asScala.toMap.filterNot { case (name, _) =>
      name.equalsIgnoreCase("path") || name.equalsIgnoreCase("paths")
    }
    val name = s"${LftaTable.Name} ${paths.mkString(",")}"
    LftaTable(name, SparkSession.active, new CaseInsensitiveStringMap(others.asJava), paths, schema).checked
  }

  private def pathsOf(options: CaseInsensitiveStringMap): Seq[String] = {
    val several = Option(options.get("paths")).toSeq.flatMap { json =>
      try new ObjectMapper().readValue(json, classOf[Array[String]]).toSeq
      catch { case NonFatal(_) => LftaOptions.refuse("paths", s"'$json' is no JSON array of strings.") }
    }
    several ++ Option(options.get("path"))
  }
}
