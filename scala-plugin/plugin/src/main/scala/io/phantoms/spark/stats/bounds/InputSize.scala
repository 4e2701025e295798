package io.phantoms.spark.stats.bounds

import scala.util.control.NonFatal

import io.phantoms.spark.shims.Cancelled
import io.phantoms.spark.stats.input.{Estimate, InputIdentity, LinearInput, StatisticSource}
import io.phantoms.spark.stats.sampled.{InputSample, Sampler}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics
import org.apache.spark.sql.catalyst.expressions.IsNotNull
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LocalRelation, Range}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}

/** How many rows an input has, and by how many map tasks it is read. */
object InputSize extends Logging {

  /** Rows of an input of which nothing at all is known. */
  val UnknownRows = 1e6

  /** Fraction of rows a conjunct lets through when no sample says; null checks let all through. */
  val UnknownSelectivity = 0.25

  /** Never less than this fraction is expected to pass unknown filters. */
  val LeastSelectivity = 0.01

  private val Footers = 8

  /**
   * Rows of a leaf that is read with the given partition filters.
   *
   * In this order: what it holds in memory; file footers (Parquet, ORC; of at most eight files, scaled by bytes);
   * a sample that reached the end of every partition it visited, or the bytes it read of a text format; the catalog's
   * row count; bytes over the width of a row.
   */
  def leafRows(session: SparkSession, input: LinearInput, sample: Option[InputSample]): Estimate = {
    val partitionFilters = Sampler.partitionFilters(input)
    val files = quietly(InputIdentity.files(input.leaf, partitionFilters))
    def fromSample = sample.flatMap(rowsOfSample(_, input.leaf, files)).map(Estimate(_, StatisticSource.Sample))
    def fromCatalog =
      if (partitionFilters.nonEmpty) None
      else catalogStatistics(input.leaf).flatMap(_.rowCount).map(n => Estimate(n.toDouble, StatisticSource.Catalog))
    held(input.leaf).map(Estimate(_, StatisticSource.Catalog))
      .orElse(files.flatMap(fs => quietly(footerRows(session, input.leaf, fs))).map(Estimate(
        _,
        StatisticSource.Catalog
      )))
      .orElse(fromSample)
      .orElse(fromCatalog)
      .getOrElse(Estimate(bytesOverWidth(input.leaf, files), StatisticSource.Default))
  }

  /** Rows that pass the input's filters. */
  def rows(session: SparkSession, input: LinearInput, sample: Option[InputSample]): Estimate =
    sample.filter(_.complete) match {
      case Some(all) => Estimate(math.max(1.0, all.passed.toDouble), StatisticSource.Sample)
      case None =>
        val leaf = leafRows(session, input, sample)
        val passing = scala.collection.immutable.ArraySeq.from(filtersByValue(input))
        if (passing.isEmpty) leaf
        else
          sample.flatMap(_.selectivity) match {
            case Some(s) => Estimate(math.max(1.0, leaf.value * s), StatisticSource.Sample)
            case None =>
              val s = math.max(LeastSelectivity, math.pow(UnknownSelectivity, passing.size.toDouble))
              Estimate(math.max(1.0, leaf.value * s), StatisticSource.Default)
          }
    }

  /** Filters that may drop rows which [[leafRows]] counts. */
  private def filtersByValue(input: LinearInput) = {
    val partition = Sampler.partitionFilters(input).toSet
    input.filters.filterNot(f => f.isInstanceOf[IsNotNull] || partition.contains(f))
  }

  /**
   * Map tasks that read the input. Of a file source: its bytes over Spark's split size (FilePartition.maxSplitBytes),
   * whatever columns are read.
   */
  def partitions(session: SparkSession, input: LinearInput, sample: Option[InputSample]): Int = sample match {
    case Some(s) => math.max(1, s.partitionCount)
    case None =>
      val conf = session.sessionState.conf
      val parallelism = session.sparkContext.defaultParallelism
      quietly(InputIdentity.files(input.leaf, Sampler.partitionFilters(input))) match {
        case Some(files) =>
          val bytes = files.map(_.getLen + conf.filesOpenCostInBytes).sum.toDouble
          val perCore = bytes / conf.filesMinPartitionNum.getOrElse(parallelism)
          val split =
            math.min(conf.filesMaxPartitionBytes.toDouble, math.max(conf.filesOpenCostInBytes.toDouble, perCore))
          math.max(1, math.ceil(bytes / split).toInt)
        case None => math.max(1, parallelism)
      }
  }

  def catalogStatistics(leaf: LeafNode): Option[CatalogStatistics] = leaf match {
    case r: LogicalRelation => r.catalogTable.flatMap(_.stats)
    case _ => None
  }

  private def held(leaf: LeafNode): Option[Double] = leaf match {
    case r: LocalRelation => Some(r.data.size.toDouble)
    case r: Range => Some(r.numElements.toDouble)
    case r: InMemoryRelation if r.cacheBuilder.isCachedColumnBuffersLoaded => r.stats.rowCount.map(_.toDouble)
    case _ => None
  }

  /** Rows by file footers, scaled from at most [[Footers]] evenly spread files to all by their bytes. */
  private def footerRows(session: SparkSession, leaf: LeafNode, files: Seq[FileStatus]): Option[Double] =
    footers(session, leaf, files).map { read =>
      if (read.isEmpty) 0.0
      else {
        val bytes = files.filter(_.getLen > 0).map(_.getLen.toDouble).sum
        read.map(_._2.rows).sum.toDouble * bytes / read.map(_._1.getLen.toDouble).sum
      }
    }

  /**
   * Footers of at most [[Footers]] evenly spread files, all files that are not empty if there are no more.
   *
   * @return None where the format has no footers
   */
  private[bounds] def footers(
      session: SparkSession,
      leaf: LeafNode,
      files: Seq[FileStatus]
  ): Option[Seq[(FileStatus, FileFooter)]] = {
    val known = FooterRows.of(session.sparkContext)
    val read: Option[(FileStatus, () => Configuration) => FileFooter] = format(leaf) match {
      case f if f.contains("parquet") => Some(known.parquet)
      case f if f.contains("orc") => Some(known.orc)
      case _ => None
    }
    val filled = files.filter(_.getLen > 0).toIndexedSeq
    read.map { footerOf =>
      val n = math.min(Footers, filled.size)
      lazy val conf = session.sessionState.newHadoopConf()
      (0 until n).map(i => filled((i.toLong * filled.size / n).toInt)).map(f => f -> footerOf(f, () => conf))
    }
  }

  private def format(leaf: LeafNode): String = (leaf match {
    case r: LogicalRelation =>
      r.relation match {
        case fs: HadoopFsRelation => fs.fileFormat.getClass.getSimpleName
        case _ => ""
      }
    case r: DataSourceV2Relation =>
      r.table match {
        case t: FileTable => t.getClass.getSimpleName
        case _ => ""
      }
    case _ => ""
  }).toLowerCase(java.util.Locale.ROOT)

  private def rowsOfSample(sample: InputSample, leaf: LeafNode, files: Option[Seq[FileStatus]]): Option[Double] = {
    val text = Seq("csv", "json", "text").exists(format(leaf).contains)
    val bytes = sample.partitions.map(_.bytes).sum
    if (sample.partitions.nonEmpty && sample.partitions.forall(_.exhausted))
      Some(sample.read.toDouble / sample.partitions.size * sample.partitionCount)
    else if (text && bytes > 0 && sample.read > 0)
      files.map(fs => math.max(sample.read.toDouble, sample.read.toDouble / bytes * fs.map(_.getLen.toDouble).sum))
    else None
  }

  private def bytesOverWidth(leaf: LeafNode, files: Option[Seq[FileStatus]]): Double = {
    val width = EstimationUtils.getSizePerRow(leaf.output).toDouble
    val bytes = files.map(_.map(_.getLen.toDouble).sum).orElse(leaf match {
      case _: DataSourceV2Relation => None // asking it builds a scan
      case other => quietly(Some(other.stats.sizeInBytes.toDouble))
    })
    // Sources that know nothing say spark.sql.defaultSizeInBytes, the largest long.
    bytes.filter(_ < Long.MaxValue / 2).map(b => math.max(1.0, b / width)).getOrElse(UnknownRows)
  }

  private def quietly[T](body: => Option[T]): Option[T] =
    try body
    catch {
      case Cancelled(e) => throw e
      case NonFatal(e) =>
        logWarning(s"spark-phantoms: the size of an input could not be read: $e")
        None
    }
}
