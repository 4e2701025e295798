package io.phantoms.spark.source

import java.io.FileNotFoundException

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.read.RecordColumn
import io.phantoms.spark.source.stream.{GroupedRead, ListedFile, StreamReaders, StreamedFiles, TakenPart}
import io.phantoms.spark.source.wire.{CaptureFile, Split}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.paths.SparkPath

import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * The files of a read as a stream sees them.
 *
 * @param paths as the user gave them
 * @param options the options of the read, Spark's and ours
 */
private[source] final class ScannedStream(scan: LftaScan, paths: Seq[String], options: CaseInsensitiveStringMap)
    extends StreamedFiles {
  private val session = scan.sparkSession
  private val parameters = options.asCaseSensitiveMap.asScala.toMap
  private val conf: Configuration = session.sessionState.newHadoopConfWithOptions(parameters)
  private val partitionColumns = scan.fileIndex.partitionSchema

  override def description: String = paths.mkString(",")

  // Directories come and go, so globs are looked at anew.
  private def roots: Seq[Path] =
    paths.map(new Path(_)).flatMap { path =>
      val system = path.getFileSystem(conf)
      Option(system.globStatus(system.makeQualified(path))).toSeq.flatten.map(_.getPath)
    }

  override def list(): Seq[ListedFile] =
    new InMemoryFileIndex(session, roots, parameters, Some(partitionColumns)).allFiles().map { f =>
      ListedFile(SparkPath.fromFileStatus(f).urlEncoded, f.getLen, f.getModificationTime)
    }

  override def exists(path: String): Boolean = pathOf(path).getFileSystem(conf).exists(pathOf(path))

  override def capture(path: String, length: Long): CaptureFile = new HadoopFile(pathOf(path), length, conf)

  private def pathOf(path: String): Path = SparkPath.fromUrlString(path).toPath

  override def partitions(parts: Seq[TakenPart]): Array[InputPartition] = {
    // A record that was cut off in one part begins another one, which has all of it.
    val longest = parts.groupBy(p => (p.path, p.from)).values.map(_.maxBy(_.until)).toSeq
    val taken = longest.groupBy(p => pathOf(p.path))
    val files = taken.toSeq.map { case (path, of) =>
      // What lies behind the last part is not there for its readers.
      new FileStatus(of.map(_.until).max, false, 1, 0, of.map(_.modified).max, path)
    }
    val index = new TakenIndex(session, roots, parameters, partitionColumns, files)
    scan.partitions(index.directories, (file, most) => taken(file.getPath).flatMap(splits(_, most)))
  }

  private def splits(part: TakenPart, most: Long): Seq[Split] = {
    val headers = part.headers.map(_.map(Long.box).asJava).orNull
    if (part.bytes <= most) Seq(new Split(part.from, part.until, headers))
    else
      divided(part, most).flatMap { s =>
        val (start, end) = (math.max(s.start, part.from), math.min(s.end, part.until))
        Option.when(start < end)(new Split(start, end, if (start == part.from) headers else s.headers))
      }
  }

  // What becomes of a file that is gone is for its task to decide.
  private def divided(part: TakenPart, most: Long): Seq[Split] =
    try Formats.splits(capture(part.path, part.until), scan.records, most)
    catch { case _: FileNotFoundException => Seq(new Split(0, part.until)) }

  override def follows: Boolean = scan.records == Records.Packets

  override lazy val readers: StreamReaders = new StreamReaders {
    // One for all batches: it has a broadcast.
    override lazy val rows: PartitionReaderFactory = scan.createReaderFactory()
    private lazy val sent = scan.broadcastConf()

    override def aggregate: Boolean = scan.options.pushDownAggregate

    override def column(name: String): Option[(RecordColumn, DataType)] =
      scan.columns.column(name, scan.dataSchema, partitionColumns, session.sessionState.conf.resolver)

    override def groups(read: GroupedRead): PartitionReaderFactory =
      GroupsOfFiles(scan.opened(sent, scan.columns.wanted(read.columns)), read, scan.options)
  }
}
