package io.phantoms.spark.source

import scala.collection.mutable

import org.apache.hadoop.fs.{FileStatus, Path}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.execution.datasources.{PartitionDirectory, PartitioningAwareFileIndex, PartitionSpec}
import org.apache.spark.sql.types.StructType

/**
 * Files that are known without a listing, with what their paths say.
 *
 * @param roots the directories that are read, below which columns of partitions begin
 * @param partitions the columns that paths have for this read
 */
private[source] final class TakenIndex(
    session: SparkSession,
    roots: Seq[Path],
    parameters: Map[String, String],
    partitions: StructType,
    files: Seq[FileStatus]
) extends PartitioningAwareFileIndex(session, parameters, Some(partitions)) {
  override def rootPaths: Seq[Path] = roots

  override protected val leafFiles: mutable.LinkedHashMap[Path, FileStatus] =
    mutable.LinkedHashMap.from(files.map(f => f.getPath -> f))

  override protected val leafDirToChildrenFiles: Map[Path, Array[FileStatus]] =
    files.toArray.groupBy(_.getPath.getParent)

  private lazy val spec = inferPartitioning()
  override def partitionSpec(): PartitionSpec = spec

  override def refresh(): Unit = ()

  /** The files, with the values of the read's columns; NULL where a path says nothing of one. */
  def directories: Seq[PartitionDirectory] = {
    val own = spec.partitionColumns
    val at = partitions.fieldNames.map(name => own.fieldNames.indexOf(name))
    val valuesOf = spec.partitions.map(p => p.path -> p.values).toMap
    leafDirToChildrenFiles.toSeq.map { case (directory, children) =>
      val values = valuesOf.getOrElse(directory, InternalRow.empty)
      val projected = at.zip(partitions.fields).map { case (i, field) =>
        if (i < 0 || i >= values.numFields) null else values.get(i, field.dataType)
      }
      PartitionDirectory(new GenericInternalRow(projected), children)
    }
  }
}
