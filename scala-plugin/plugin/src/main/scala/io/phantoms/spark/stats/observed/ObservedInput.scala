package io.phantoms.spark.stats.observed

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import scala.jdk.CollectionConverters._

import io.phantoms.spark.stats.input.{InputIdentity, LinearInput}
import io.phantoms.spark.stats.sampled.Sampler

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}

/**
 * An input as observations are kept for it, whatever state it is in.
 *
 * @param source the relation that is read ([[InputIdentity.source]])
 * @param reading digest of the columns, by which canonical texts are numbered, and of format and options
 * @param shape all filters in canonical form, null checks as well
 */
final case class ObservedKey(source: String, reading: String, shape: String) {

  /** Whether another application would call the input the same. */
  def isLasting: Boolean = !source.startsWith("cache:")

  /** A name for the input that is good for a file. */
  def digest: String = ObservedInput.digest(Seq(source, reading, shape), bytes = 16)
}

/**
 * What an execution needs to know so that what it finds out may be kept.
 *
 * @param snapshot the state the input was in when the plan was made; partitions it does not read do not count
 * @param keys the keys of the workload in canonical form
 * @param names the same for people
 * @param leafRows rows of the relation that is read, as they were estimated without a sample
 * @param directory where observations are kept, empty: in memory
 */
final case class ObservedInput(
    key: ObservedKey,
    snapshot: String,
    keys: IndexedSeq[String],
    names: IndexedSeq[String],
    leafRows: Double,
    directory: String
)

object ObservedInput {

  /**
   * The input to observe; None where its state cannot be told or reading it again need not give the same rows.
   *
   * @param keys over the leaf of the input
   */
  def of(
      input: LinearInput,
      keys: IndexedSeq[Expression],
      names: IndexedSeq[String],
      leafRows: => Double,
      directory: String
  ): Option[ObservedInput] =
    if (!isRepeatable(input, keys)) None
    else {
      val snapshot = InputIdentity.snapshot(input.leaf, Sampler.partitionFilters(input))
      Option.when(snapshot.nonEmpty) {
        val shape = input.filters.map(input.canonical).distinct.sorted.mkString(" AND ")
        val key = ObservedKey(InputIdentity.source(input.leaf), reading(input.leaf), shape)
        ObservedInput(key, snapshot, keys.map(input.canonical), names, leafRows, directory)
      }
    }

  private def isRepeatable(input: LinearInput, keys: Seq[Expression]): Boolean =
    input.isRepeatable && keys.forall(_.deterministic) && (input.leaf match {
      case cached: InMemoryRelation => Option(cached.cacheBuilder.logicalPlan).forall(_.deterministic)
      case _ => true
    })

  private def reading(leaf: LeafNode): String = {
    val how = leaf match {
      case r: LogicalRelation =>
        r.relation match {
          case fs: HadoopFsRelation => fs.fileFormat.getClass.getName +: options(fs.options)
          case other => Seq(other.getClass.getName)
        }
      case r: DataSourceV2Relation =>
        val kind = r.table match {
          case files: FileTable => files.formatName
          case other => other.getClass.getName
        }
        kind +: options(r.options.asCaseSensitiveMap.asScala.toMap)
      case _ => Nil
    }
    val columns = leaf.output.map(a => s"${a.name} ${a.dataType.catalogString} ${a.nullable}")
    s"${columns.size} columns ${digest(columns ++ how, bytes = 8)}"
  }

  // Only as a digest: options may hold passwords.
  private def options(all: Map[String, String]): Seq[String] =
    all.toSeq.filterNot(_._1.equalsIgnoreCase("path")).map { case (k, v) => s"$k=$v" }.sorted

  private[stats] def digest(texts: Seq[String], bytes: Int): String = {
    val sha = MessageDigest.getInstance("SHA-256")
    texts.foreach { text =>
      val encoded = text.getBytes(UTF_8)
      sha.update(s"${encoded.length}:".getBytes(UTF_8))
      sha.update(encoded)
    }
    sha.digest().take(bytes).map(b => f"$b%02x").mkString
  }
}
