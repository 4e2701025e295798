package io.phantoms.spark.source

import java.io.{IOException, InterruptedIOException}
import java.nio.channels.ClosedByInterruptException
import java.util

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.read.SkippedFiles

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{Table, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.datasources.binaryfile.BinaryFileFormat
import org.apache.spark.sql.execution.datasources.v2.FileTable
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Captures or flow exports in files, listed as Spark's own file sources list theirs, partition columns included. */
private[source] case class LftaTable(
    override val name: String,
    session: SparkSession,
    options: CaseInsensitiveStringMap,
    paths: Seq[String],
    wanted: Option[StructType]
) extends FileTable(session, options, paths, wanted)
    with RecordsTable {
  override def fields: StructType = schema

  override def formatName: String = LftaTable.Name

  override def capabilities: util.Set[TableCapability] = LftaTable.Capabilities

  override def inferSchema(files: Seq[FileStatus]): Option[StructType] = Some(columns(LftaOptions(options)).schema)

  /** Packets or flows: as the reader is told, or as the first file is that can be read. */
  private[source] lazy val records: Records = {
    val read = LftaOptions(options)
    read.records.getOrElse(recordsOfFiles(read.skipped))
  }

  private def recordsOfFiles(skipped: SkippedFiles): Records = {
    val conf = session.sessionState.newHadoopConfWithOptions(options.asCaseSensitiveMap.asScala.toMap)
    val files = fileIndex.allFiles().filter(_.getLen > 0).sortBy(_.getPath.toString)
    @tailrec
    def first(left: List[FileStatus], failure: Option[IOException]): Records = left match {
      // Where none can be read there is nothing to go by, and no rows if they may all be passed over.
      case Nil => failure.fold[Records](Records.Packets)(throw _)
      case file :: others =>
        look(new HadoopFile(file.getPath, file.getLen, conf)) match {
          case Right(Some(records)) => records
          case Right(None) => first(others, failure)
          case Left(e) => first(others, failure.orElse(Option.when(!skipped.passesOver(e))(e)))
        }
    }
    first(files.toList, None)
  }

  private def look(file: HadoopFile): Either[IOException, Option[Records]] =
    try Right(Formats.recordsOf(file))
    catch {
      case e @ (_: InterruptedIOException | _: ClosedByInterruptException) => throw e
      case e: IOException => Left(e)
    }

  private def columns(read: LftaOptions) = new LftaColumns(records.schema, read)

  /** Refuses what is not possible now, rather than when it is read. */
  def checked: LftaTable = {
    val read = columns(LftaOptions(options))
    val _ = schema
    val resolver = session.sessionState.conf.resolver
    wanted.foreach { s =>
      read.require(StructType(s.filterNot(f => fileIndex.partitionSchema.exists(p => resolver(p.name, f.name)))))
    }
    this
  }

  override def newScanBuilder(ofRead: CaseInsensitiveStringMap): ScanBuilder = {
    val merged = mergedOptions(ofRead)
    val read = LftaOptions(merged)
    new LftaScanBuilder(session, fileIndex, dataSchema, records, columns(read), read, LftaRequest(paths, merged))
  }

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
    throw new UnsupportedOperationException("lfta reads captures and flow exports; it writes none. Write Parquet.")

  // Where Spark would write by another door, this one says that it cannot.
  override def fallbackFileFormat: Class[_ <: FileFormat] = classOf[BinaryFileFormat]
}

/** A table whose columns are those of records. */
private[source] trait RecordsTable extends Table {
  def fields: StructType
}

private[source] object LftaTable {
  val Name = "lfta"
  private val Capabilities = util.EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ)
}
