package io.phantoms.spark.detect

import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.phantoms.spark.detect.DeclineReason._

import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, Union}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates
import org.apache.spark.sql.execution.datasources.{FileFormat, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.binaryfile.BinaryFileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.text.TextFileFormat
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType, UserDefinedType, VariantType}

/** Sources for which it matters who reads what. */
object SensitiveSources {

  // Their errors do not depend on anything but the columns that some branch reads, and they never drop a row;
  // lfta decodes whole records where it drops them or fails on them.
  private val Insensitive = Set("parquet", "orc", "text", "binaryfile", "lfta")

  // Formats that are read by whole columns; Parquet and ORC (and whatever is not known) may read parts of a struct.
  private val WholeColumns = Set("csv", "json", "xml", "avro", "text", "binaryfile", "lfta")

  /**
   * What a plan reads of one of its leaves.
   *
   * @param sensitive the name of a source whose rows depend on the columns read
   * @param columns ordinals of the leaf's columns, less those that come from paths
   * @param inParts whether Spark may still decide to read only parts of one of them
   */
  private final case class Read(sensitive: Option[String], columns: Set[Int], inParts: Boolean)

  /**
   * A shared input that reads more or fewer columns than plain Spark would of a source whose rows depend on that: one
   * that drops or blanks malformed records, or files with damaged columns.
   *
   * @param plain the operators that are to be replaced, each over its own copy of the input
   * @param shared the one input
   * @param branches all over `shared`
   */
  def readDifferently(
      plain: Seq[LogicalPlan],
      shared: LogicalPlan,
      branches: Seq[WorkloadQuery]
  ): Option[DeclineReason] =
    shared.collectLeaves().flatMap(sensitive).headOption.flatMap { first =>
      val found = reads(shared, AttributeSet(branches.flatMap(b => b.inputs ++ b.everyRow).flatMap(_.references)))
      val expected = plain.map(p => reads(p, p.outputSet))
      val different = found.zipWithIndex.collect {
        case (read @ Read(Some(name), _, _), i)
            if read.inParts || expected.exists(!_.lift(i).exists(_.columns == read.columns)) => name
      }
      if (expected.exists(_.size != found.size)) Some(ProjectionSensitiveSource(first))
      else different.headOption.map(ProjectionSensitiveSource(_))
    }

  /** Leaves from left to right, with the columns that are left of them once Spark has pruned the plan. */
  private def reads(plan: LogicalPlan, wanted: AttributeSet): Seq[Read] = plan match {
    case leaf if leaf.children.isEmpty => Seq(read(leaf, wanted))
    case p: Project =>
      reads(p.child, AttributeSet(p.projectList.filter(c => wanted.contains(c.toAttribute)).flatMap(_.references)))
    case u: Union =>
      val kept = u.output.indices.filter(i => wanted.contains(u.output(i)))
      u.children.flatMap(child => reads(child, AttributeSet(kept.map(child.output(_)))))
    case node => node.children.flatMap(child => reads(child, node.references ++ wanted))
  }

  private def read(leaf: LogicalPlan, wanted: AttributeSet): Read = {
    val paths = pathColumns(leaf)
    val resolver = SQLConf.get.resolver
    val columns = leaf.output.indices.filter { i =>
      wanted.contains(leaf.output(i)) && !paths.exists(resolver(_, leaf.output(i).name))
    }
    val inParts = !format(leaf).exists(WholeColumns) && columns.exists(i => hasParts(leaf.output(i).dataType))
    Read(sensitive(leaf), columns.toSet, inParts)
  }

  private def hasParts(t: DataType): Boolean = t match {
    case _: StructType | _: ArrayType | _: MapType | _: VariantType | _: UserDefinedType[_] => true
    case _ => false
  }

  /** Partition columns: nothing in a file is read for them. */
  private def pathColumns(leaf: LogicalPlan): Seq[String] = {
    val schema = leaf match {
      case r: LogicalRelation => r.relation match {
          case h: HadoopFsRelation => Some(h.partitionSchema)
          case _ => None
        }
      case r: DataSourceV2Relation => r.table match {
          case f: FileTable => Some(f.fileIndex.partitionSchema)
          case _ => None
        }
      case _ => None
    }
    schema.toSeq.flatMap(_.fieldNames)
  }

  /** The source's name for people, where its rows depend on the columns read. */
  private def sensitive(leaf: LogicalPlan): Option[String] = format(leaf).flatMap { name =>
    if (!Insensitive(name)) Some(name)
    else if (skipsFiles(leaf)) Some(s"$name with ignoreCorruptFiles or ignoreMissingFiles")
    else None
  }.orElse(leaf match {
    case _: HiveTableRelation if rddsSkipFiles => Some("a Hive table with spark.files.ignoreCorruptFiles")
    case _ => None
  })

  /** The format of a leaf of files, in lower case. */
  private def format(leaf: LogicalPlan): Option[String] = (leaf match {
    case r: LogicalRelation =>
      r.relation match {
        case h: HadoopFsRelation => Some(nameOf(h.fileFormat))
        case _ => None
      }
    case r: DataSourceV2Relation =>
      r.table match {
        case f: FileTable => Some(f.formatName)
        case _ => None
      }
    case _ => None
  }).map(_.toLowerCase(Locale.ROOT))

  private def nameOf(format: FileFormat): String = format match {
    // Table formats read by subclasses under names of their own.
    case _: ParquetFileFormat => "parquet"
    case _: OrcFileFormat => "orc"
    case _: TextFileFormat => "text"
    case _: BinaryFileFormat => "binaryfile"
    case d: DataSourceRegister => d.shortName()
    case other => other.toString
  }

  /** Whether damaged or missing files are skipped: an option of the read, else a conf of the session. */
  private def skipsFiles(leaf: LogicalPlan): Boolean = {
    val options = leaf match {
      case r: LogicalRelation => r.relation match {
          case h: HadoopFsRelation => h.options
          case _ => Map.empty[String, String]
        }
      case r: DataSourceV2Relation =>
        r.table.properties.asScala.toMap ++ r.options.asCaseSensitiveMap.asScala
      case _ => Map.empty[String, String]
    }
    try {
      val effective = new FileSourceOptions(CaseInsensitiveMap(options))
      effective.ignoreCorruptFiles || effective.ignoreMissingFiles
    } catch {
      // No boolean: Spark says so when it plans the scan.
      case NonFatal(_) => true
    }
  }

  private def rddsSkipFiles: Boolean = Option(SparkEnv.get).exists { env =>
    Seq("spark.files.ignoreCorruptFiles", "spark.files.ignoreMissingFiles").exists(env.conf.getBoolean(_, false))
  }

  /** Whether the source could have computed a plain aggregate over this input itself. */
  def computesAggregates(source: LogicalPlan): Boolean = source match {
    case p: Project => computesAggregates(p.child)
    case f: Filter => computesAggregates(f.child)
    case r: DataSourceV2Relation =>
      r.table match {
        // These builders always offer it, and act only where the session allows.
        case f: FileTable => f.formatName match {
            case "Parquet" => SQLConf.get.parquetAggregatePushDown
            case "ORC" => SQLConf.get.orcAggregatePushDown
            case _ => false
          }
        case table: org.apache.spark.sql.connector.catalog.SupportsRead =>
          try table.newScanBuilder(r.options).isInstanceOf[SupportsPushDownAggregates]
          catch { case NonFatal(_) => false }
        case _ => false
      }
    case _ => false
  }
}
