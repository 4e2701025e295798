package io.phantoms.spark.source

import java.io.{IOException, InterruptedIOException}
import java.nio.channels.ClosedByInterruptException
import java.util.OptionalLong

import scala.jdk.CollectionConverters._

import io.phantoms.spark.source.read._
import io.phantoms.spark.source.wire.Split

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory, Statistics}
import org.apache.spark.sql.connector.read.Scan.ColumnarSupportMode
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.execution.PartitionedFileUtil
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.v2.FileScan
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration

/** What a task reads. */
private[source] final case class LftaPartition(parts: Array[FilePart], hosts: Array[String]) extends InputPartition {
  override def preferredLocations(): Array[String] = hosts
}

/**
 * A read, with what was taken over from Spark.
 *
 * @param conditions what readers test, as Spark's expressions and their own
 * @param aggregate what readers aggregate; then they read no other columns
 * @param limit how many rows are wanted of each task
 * @param request what the user asked for
 */
private[source] case class LftaScan(
    sparkSession: SparkSession,
    fileIndex: PartitioningAwareFileIndex,
    dataSchema: StructType,
    readDataSchema: StructType,
    readPartitionSchema: StructType,
    partitionFilters: Seq[Expression],
    dataFilters: Seq[Expression],
    records: Records,
    columns: LftaColumns,
    options: LftaOptions,
    conditions: Seq[(Expression, Condition)],
    aggregate: Option[PushedAggregate],
    limit: Option[Int],
    request: LftaRequest
) extends FileScan {
  import LftaScan._

  override def readSchema(): StructType = aggregate.fold(super.readSchema())(_.schema)

  private def readColumns: Array[RecordColumn] = readDataSchema.map(f => columns.column(f.name).get).toArray

  private val inBatches: Boolean = options.columnar && aggregate.isEmpty && readPartitionSchema.isEmpty &&
    readDataSchema.nonEmpty && readColumns.forall(c => RecordBatch.holds(c.form))

  override def columnarSupportMode(): ColumnarSupportMode =
    if (inBatches) ColumnarSupportMode.SUPPORTED else ColumnarSupportMode.UNSUPPORTED

  private def wanted: Array[Boolean] = {
    val named = conditions.flatMap(_._1.references.map(_.name)) ++ aggregate.toSeq.flatMap(_.names)
    columns.wanted(readColumns ++ named.flatMap(columns.column))
  }

  private def configuration = sparkSession.sessionState.newHadoopConfWithOptions(options.hadoop)

  override def planInputPartitions(): Array[InputPartition] = {
    val conf = configuration
    partitions(fileIndex.listFiles(partitionFilters, dataFilters), splits(_, _, conf))
  }

  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = request.stream(this, checkpoint)

  /**
   * The tasks that read files.
   *
   * @param splits the parts of a file that are read, of about so many bytes
   */
  private[source] def partitions(
      directories: Seq[PartitionDirectory],
      splits: (FileStatusWithMetadata, Long) => Seq[Split]
  ): Array[InputPartition] = {
    val most = splitBytes(directories)
    val valuesOf = readPartitionValues
    val parts = for {
      directory <- directories
      file <- directory.files
      split <- splits(file, most)
    } yield {
      val of = PartitionedFileUtil.getPartitionedFile(
        file,
        file.getPath,
        valuesOf(directory.values),
        split.start,
        split.end - split.start
      )
      FilePart(of, split)
    }
    val splitOf = parts.map(p => (p.file.filePath, p.file.start) -> p.split).toMap
    val largestFirst = parts.map(_.file).sortBy(_.length)(Ordering[Long].reverse)
    val partitions: Array[InputPartition] = FilePartition.getFilePartitions(sparkSession, largestFirst, most).map { p =>
      LftaPartition(p.files.map(f => FilePart(f, splitOf((f.filePath, f.start)))), p.preferredLocations())
    }.toArray
    // Spark adds up the counts of tasks, and of no task that would be NULL.
    if (partitions.isEmpty && aggregate.exists(_.columns.isEmpty)) Array(LftaPartition(Array.empty, Array.empty))
    else partitions
  }

  /** Of what paths say, what is read. */
  private def readPartitionValues: InternalRow => InternalRow = {
    val all = DataTypeUtils.toAttributes(fileIndex.partitionSchema)
    val resolver = sparkSession.sessionState.conf.resolver
    val read = readPartitionSchema.map(f => all.find(a => resolver(a.name, f.name)).get)
    if (read == all) identity
    else {
      val projection = UnsafeProjection.create(read, all)
      values => projection(values).copy()
    }
  }

  private def splitBytes(directories: Seq[PartitionDirectory]): Long = {
    val bySpark = FilePartition.maxSplitBytes(sparkSession, directories)
    options.maxPartitionBytes.fold(bySpark) { most =>
      // A size of ours takes the place of the session's, which Spark's one is bounded by.
      val open = sparkSession.sessionState.conf.filesOpenCostInBytes
      val total = directories.flatMap(_.files.map(_.getLen + open)).sum
      val cores = sparkSession.sessionState.conf.filesMinPartitionNum
        .getOrElse(sparkSession.sparkContext.defaultParallelism)
      math.min(most, math.max(open, total / math.max(1, cores)))
    }
  }

  private def splits(
      file: FileStatusWithMetadata,
      most: Long,
      conf: org.apache.hadoop.conf.Configuration
  ): Seq[Split] = {
    val whole = Seq(new Split(0, file.getLen))
    if (file.getLen <= most) whole
    else
      try Formats.splits(new HadoopFile(file.getPath, file.getLen, conf), records, most)
      catch {
        case e @ (_: InterruptedIOException | _: ClosedByInterruptException) => throw e
        // The task that reads it knows whether such files are passed over, and says what is wrong.
        case e: IOException =>
          logWarning(s"Could not look into ${file.getPath} for its parts: one task reads it", e)
          whole
      }
  }

  override def createReaderFactory(): PartitionReaderFactory = {
    LftaReaderFactory(
      opened(broadcastConf(), wanted),
      Option.when(conditions.nonEmpty)(conditions.map(_._2)).map {
        case Seq(one) => one
        case several => new Condition.All(new java.util.ArrayList(several.asJava))
      }.orNull,
      readColumns,
      readSchema(),
      readPartitionSchema.size,
      aggregate,
      limit.fold(Long.MaxValue)(_.toLong),
      options,
      inBatches
    )
  }

  private[source] def broadcastConf(): Broadcast[SerializableConfiguration] =
    sparkSession.sparkContext.broadcast(new SerializableConfiguration(configuration))

  private[source] def opened(conf: Broadcast[SerializableConfiguration], wanted: Array[Boolean]): OpensFiles =
    OpenedFiles(conf, records, options.mode, wanted, options.ports)

  override def supportedCustomMetrics(): Array[CustomMetric] = ReaderMetrics.all(aggregate.isDefined)

  override def estimateStatistics(): Statistics = {
    val bytes = fileIndex.sizeInBytes.toDouble * sparkSession.sessionState.conf.fileCompressionFactor
    val rows = limit.fold(math.ceil(bytes / records.bytesOfRecord))(n => math.min(n.toDouble, bytes))
    val width = readSchema().defaultSize + RowOverhead
    new Statistics {
      override def sizeInBytes(): OptionalLong = OptionalLong.of(math.max(1.0, rows * width).toLong)

      // Of groups nothing is known but that there are not more of them than records.
      override def numRows(): OptionalLong =
        if (aggregate.isDefined || conditions.nonEmpty) OptionalLong.empty() else OptionalLong.of(rows.toLong)
    }
  }

  override def getMetaData(): Map[String, String] = super.getMetaData() ++ Map(
    "Records" -> records.name,
    "PushedFilters" -> seqToString(conditions.map(_._1)),
    "PushedLimit" -> limit.fold("")(_.toString)
  ) ++ aggregate.toSeq.flatMap { a =>
    val (groups, functions) = a.schema.fieldNames.toSeq.splitAt(a.columns.size)
    Seq("PushedAggregation" -> seqToString(functions), "PushedGroupBy" -> seqToString(groups))
  }

  override def equals(other: Any): Boolean = other match {
    case s: LftaScan =>
      super.equals(s) && records == s.records && options == s.options && aggregate == s.aggregate && limit == s.limit &&
      conditions.map(_._2).toSet == s.conditions.map(_._2).toSet && partitionFilters.size == s.partitionFilters.size &&
      hasFilesOf(s)
    case _ => false
  }

  // Spark takes listings for equal that have the same root paths: times of the session's zone, and files that came
  // between two listings, make others of them.
  private def hasFilesOf(other: LftaScan): Boolean =
    (fileIndex eq other.fileIndex) || fileIndex.inputFiles.sameElements(other.fileIndex.inputFiles)

  override def hashCode(): Int = (readSchema(), options, aggregate, limit).hashCode()
}

private object LftaScan {
  // What Spark adds to the width of a row: `EstimationUtils.getSizePerRow`.
  private val RowOverhead = 8
}
