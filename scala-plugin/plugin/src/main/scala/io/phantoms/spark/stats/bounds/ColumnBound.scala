package io.phantoms.spark.stats.bounds

import io.phantoms.spark.stats.input.StatisticSource

import org.apache.spark.sql.catalyst.expressions.{AttributeMap, Expression, ExprId}
import org.apache.spark.sql.types._

/**
 * The most different values a column can have.
 *
 * @param most NULL being one; infinite where nothing is known
 * @param table the most before any filter: how many values a join partner can have met
 * @param source what `most` follows from
 * @param range what its values lie between
 * @param rows of a table, if the column is one of its: columns of one table have no more combinations than it has rows
 */
private[bounds] final case class ColumnBound(
    most: Double,
    table: Double,
    source: StatisticSource,
    range: Option[ValueRange] = None,
    rows: Option[ColumnBound.Table] = None
) {
  def atMost(values: Double, by: StatisticSource): ColumnBound =
    if (values < most) copy(most = values, source = by) else this

  /** With NULL for what an outer join did not find. */
  def orNull: ColumnBound =
    copy(most = most + 1, table = table + 1, range = range.map(_.copy(nulls = true)), rows = rows.map(_.orNull))
}

private[bounds] object ColumnBound {

  /** @param id one reading of a table: two readings of it are combined freely */
  final case class Table(id: ExprId, rows: Double) {
    def orNull: Table = copy(rows = rows + 1)
  }

  val Unknown: ColumnBound = ColumnBound(Double.PositiveInfinity, Double.PositiveInfinity, StatisticSource.Default)

  def ofType(dataType: DataType): ColumnBound = {
    val values = dataType match {
      case BooleanType => 3.0
      case ByteType => 257.0
      case ShortType => 65537.0
      case _ => Double.PositiveInfinity
    }
    ColumnBound(values, values, StatisticSource.PlanBound)
  }

  /** Of an expression: what it reads decides its value, so it has no more of them than there are combinations of that. */
  def of(e: Expression, columns: AttributeMap[ColumnBound]): ColumnBound =
    if (!e.deterministic) Unknown
    else {
      val (most, source) = combinations(Seq(e), columns)
      val table = e.references.toSeq.map(a => columns.get(a).fold(Double.PositiveInfinity)(_.table)).product
      ColumnBound(most, table, source).atMost(ofType(e.dataType).most, StatisticSource.PlanBound)
    }

  /** The most combinations of values that expressions can have together. */
  def combinations(keys: Seq[Expression], columns: AttributeMap[ColumnBound]): (Double, StatisticSource) =
    if (keys.exists(!_.deterministic)) (Double.PositiveInfinity, StatisticSource.Default)
    else {
      val read = keys.flatMap(_.references).distinctBy(_.exprId).map(a => columns.getOrElse(a, Unknown))
      val (ofTables, others) = read.partition(_.rows.nonEmpty)
      val parts = others.map(c => (c.most, c.source)) ++ ofTables.groupBy(_.rows.map(_.id)).values.map { of =>
        val product = of.map(_.most).product
        val rows = of.flatMap(_.rows).map(_.rows).max
        if (rows < product) (rows, StatisticSource.PlanBound) else (product, best(of.map(_.source)))
      }
      (parts.map(_._1).product, best(parts.map(_._2)))
    }

  private def best(sources: Seq[StatisticSource]): StatisticSource =
    if (sources.contains(StatisticSource.FooterBound)) StatisticSource.FooterBound else StatisticSource.PlanBound
}
