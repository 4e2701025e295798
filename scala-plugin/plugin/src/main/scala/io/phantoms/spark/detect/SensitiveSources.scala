package io.phantoms.spark.detect

import java.util.Locale

import scala.util.control.NonFatal

import io.phantoms.spark.detect.DeclineReason._

import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.DataSourceRegister

/** Sources for which it matters who reads what. */
object SensitiveSources {

  // A malformed record shows only in the columns that are parsed; positional Avro maps columns by what is asked for.
  private val ProjectionSensitive = Set("csv", "json", "xml", "avro")

  /**
   * Branches that read different columns of a source whose rows depend on the columns read.
   *
   * @param branches before their inputs were merged
   */
  def widened(branches: Seq[Branch]): Option[DeclineReason] = {
    val formats = branches.flatMap(_.source.collectLeaves()).flatMap(format).distinct
    Option.when(formats.nonEmpty && branches.map(columnsRead).distinct.size > 1)(
      ProjectionSensitiveSource(formats.head)
    )
  }

  /** For each projection-sensitive leaf, left to right, the ordinals of its columns that the branch reads. */
  private def columnsRead(branch: Branch): Seq[Set[Int]] = {
    val used = AttributeSet(branch.inputs.flatMap(_.references)) ++
      AttributeSet(branch.source.collect { case node => node.references }.flatten)
    branch.source.collectLeaves().filter(format(_).nonEmpty).map { leaf =>
      leaf.output.indices.filter(i => used.contains(leaf.output(i))).toSet
    }
  }

  private def format(leaf: LogicalPlan): Option[String] = {
    val name = leaf match {
      case r: LogicalRelation =>
        r.relation match {
          case h: HadoopFsRelation =>
            h.fileFormat match {
              case d: DataSourceRegister => Some(d.shortName())
              case other => Some(other.toString)
            }
          case _ => None
        }
      case r: DataSourceV2Relation =>
        r.table match {
          case f: FileTable => Some(f.formatName)
          case _ => None
        }
      case _ => None
    }
    name.map(_.toLowerCase(Locale.ROOT)).filter(ProjectionSensitive)
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
