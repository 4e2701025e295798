package io.phantoms.spark.stats.input

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LocalRelation, Range}
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}

/**
 * Which input a statistic describes.
 *
 * @param source the relation that is read, without its state: its files' root paths, its name, its content
 * @param shape the filters above it, in canonical form
 * @param snapshot the state it is in: a digest of file paths, sizes and modification times, or a table version; a
 *   changed file set is another snapshot. Empty where the source cannot tell.
 */
final case class InputIdentity(source: String, shape: String, snapshot: String)

object InputIdentity {
  def of(input: LinearInput): InputIdentity =
    InputIdentity(source(input.leaf), input.canonicalFilters.toSeq.sorted.mkString(" AND "), snapshot(input.leaf))

  /** What the leaf is, stable between sessions where its content has a name. */
  def source(leaf: LeafNode): String = leaf match {
    case r: LogicalRelation =>
      r.relation match {
        case fs: HadoopFsRelation => filesSource(fs.location)
        case other =>
          r.catalogTable.map(t => "table:" + t.identifier.unquotedString).getOrElse(
            s"relation:${other.hashCode}:$other"
          )
      }
    case r: DataSourceV2Relation =>
      r.table match {
        case files: FileTable => filesSource(files.fileIndex) + readAs(files, r)
        case _ => s"table:${r.name}"
      }
    case r: InMemoryRelation => f"cache:${System.identityHashCode(r.cacheBuilder)}%08x:${r.semanticHash()}%08x"
    case r: LogicalRDD => s"rdd:${r.rdd.sparkContext.applicationId}:${r.rdd.id}"
    case r: LocalRelation => f"local:${r.data.size}:${r.semanticHash()}%08x"
    case r: Range => s"range:${r.start}:${r.end}:${r.step}"
    case other => f"leaf:${other.nodeName}%s:${other.semanticHash()}%08x"
  }

  /** @param partitionFilters files that they rule out do not count */
  def snapshot(leaf: LeafNode, partitionFilters: Seq[Expression] = Nil): String = leaf match {
    case r: DataSourceV2Relation if !r.table.isInstanceOf[FileTable] =>
      (Option(r.table.version()) ++ r.timeTravelSpec.map(_.toString)).mkString("@")
    case r: InMemoryRelation => if (r.cacheBuilder.isCachedColumnBuffersLoaded) "loaded" else ""
    case other => files(other, partitionFilters).map(digest).getOrElse("")
  }

  /** The files of a file source after pruning by partition columns; None for any other leaf. */
  def files(leaf: LeafNode, partitionFilters: Seq[Expression] = Nil): Option[Seq[FileStatus]] =
    fileIndex(leaf).map(_.listFiles(partitionFilters, Nil).flatMap(_.files.map(_.fileStatus)))

  def fileIndex(leaf: LeafNode): Option[FileIndex] = leaf match {
    case r: LogicalRelation =>
      r.relation match {
        case fs: HadoopFsRelation => Some(fs.location)
        case _ => None
      }
    case r: DataSourceV2Relation =>
      r.table match {
        case files: FileTable => Some(files.fileIndex)
        case _ => None
      }
    case _ => None
  }

  private def filesSource(index: FileIndex): String = "files:" + index.rootPaths.map(_.toString).sorted.mkString(",")

  // Of captures, the options say what a row is and what it has: a packet or a flow, of which files. What is said to the
  // file system has a dot in its name, may be secret, and does not matter here.
  private def readAs(table: FileTable, relation: DataSourceV2Relation): String =
    if (table.formatName != "lfta") ""
    else {
      val said = (table.properties.asScala.toSeq ++ relation.options.asScala)
        .map { case (name, value) => name.toLowerCase(Locale.ROOT) -> value }.toMap
      said.removedAll(Seq("path", "paths")).toSeq.sorted
        .collect { case (name, value) if !name.contains('.') => s" $name=$value" }.mkString
    }

  private def digest(files: Seq[FileStatus]): String = {
    val sha = MessageDigest.getInstance("SHA-256")
    files.map(f => s"${f.getPath} ${f.getLen} ${f.getModificationTime}\n").sorted
      .foreach(line => sha.update(line.getBytes(UTF_8)))
    s"${files.size} files ${sha.digest().take(16).map(b => f"$b%02x").mkString}"
  }
}
