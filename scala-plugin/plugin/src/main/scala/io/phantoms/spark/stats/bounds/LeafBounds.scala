package io.phantoms.spark.stats.bounds

import io.phantoms.spark.stats.input.{Estimate, InputIdentity, LinearInput, StatisticSource}
import io.phantoms.spark.stats.sampled.Sampler

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap}
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/** What the columns of a relation can hold, by their types, its partitions and the footers of its files. */
private[bounds] object LeafBounds {

  /** @param rows of the relation, as far as files are read, with their source */
  def of(session: SparkSession, input: LinearInput, rows: Estimate): AttributeMap[ColumnBound] = {
    val leaf = input.leaf
    val filters = Sampler.partitionFilters(input)
    val ranges = rangesOf(session, leaf, filters.nonEmpty, input)
    val partitions = partitionValues(leaf, input)
    // A rule of thumb bounds nothing.
    val table = Option.when(rows.source == StatisticSource.Catalog)(rows.value)
    val id = leaf.output.headOption.map(_.exprId)
    AttributeMap(leaf.output.map { a =>
      val typed = ColumnBound.ofType(a.dataType)
      val ranged = ranges(a).fold(typed) { r =>
        typed.copy(range = Some(r)).atMost(math.max(1.0, r.domain), StatisticSource.FooterBound)
      }
      val counted = partitions.get(a.exprId).fold(ranged)(n => ranged.atMost(n, StatisticSource.Catalog))
      val bound = table.fold(counted)(n => counted.atMost(math.max(1.0, n), StatisticSource.PlanBound))
      a -> bound.copy(
        table = bound.most,
        rows = table.zip(id).map { case (n, i) => ColumnBound.Table(i, math.max(1.0, n)) }
      )
    })
  }

  private def rangesOf(
      session: SparkSession,
      leaf: LeafNode,
      pruned: Boolean,
      input: LinearInput
  ): Attribute => Option[ValueRange] = {
    val conf = session.sessionState.conf
    val files = InputIdentity.files(leaf, if (pruned) Sampler.partitionFilters(input) else Nil)
    // Columns found by their ids need not have the names the footers have.
    if (conf.getConf(SQLConf.PARQUET_FIELD_ID_READ_ENABLED)) _ => None
    else {
      val read = files.flatMap(InputSize.footers(session, leaf, _)).getOrElse(Nil).map(_._2).toIndexedSeq
      val whole = files.exists(_.count(_.getLen > 0) == read.size)
      val ranges = FileFooter.common(read.map(_.columns))
        .filter { case (name, hull) => whole || read.forall(f => alike(f.columns(name), hull)) }
      a =>
        ranges.filter { case (name, _) => conf.resolver(name, a.name) }.toSeq match {
          case Seq((_, range)) if fits(range, a.dataType) => Some(range)
          case _ => None
        }
    }
  }

  /** Of files that were not all read: a column that takes its values everywhere alike will hardly take others elsewhere. */
  private def alike(one: ValueRange, all: ValueRange): Boolean = one.width >= all.width / 2

  private def fits(range: ValueRange, dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | DateType => range.scale == 0
    case d: DecimalType => range.scale == d.scale
    case _ => false
  }

  /** Different values of each partition column among the files that are read. */
  private def partitionValues(
      leaf: LeafNode,
      input: LinearInput
  ): Map[org.apache.spark.sql.catalyst.expressions.ExprId, Double] = leaf match {
    case r: LogicalRelation =>
      r.relation match {
        case fs: HadoopFsRelation if fs.partitionSchema.nonEmpty =>
          val read = fs.location.listFiles(Sampler.partitionFilters(input), Nil).map(_.values)
          fs.partitionSchema.fields.zipWithIndex.flatMap { case (field, i) =>
            r.output.find(a => r.conf.resolver(a.name, field.name)).map { a =>
              a.exprId -> math.max(1.0, read.map(_.get(i, field.dataType)).distinct.size.toDouble)
            }
          }.toMap
        case _ => Map.empty
      }
    case _ => Map.empty
  }
}
