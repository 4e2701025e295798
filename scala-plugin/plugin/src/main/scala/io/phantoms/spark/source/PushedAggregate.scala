package io.phantoms.spark.source

import io.phantoms.spark.source.read.{PartialAggregate, RecordColumn, RecordGroups}
import io.phantoms.spark.source.read.PartialAggregate.Function

import org.apache.spark.sql.connector.expressions.{Expression, NamedReference}
import org.apache.spark.sql.connector.expressions.aggregate._
import org.apache.spark.sql.types.{DataType, LongType, StructField, StructType}

/**
 * What readers aggregate; Spark puts together what comes of a group in parts.
 *
 * @param schema of the rows: grouping columns, aggregates
 * @param names of the columns that are read
 */
private[source] final case class PushedAggregate(
    columns: Seq[RecordColumn],
    aggregates: Seq[PartialAggregate],
    schema: StructType,
    names: Set[String]
)

private[source] object PushedAggregate {

  /**
   * An aggregation that readers can do the first part of: counts, sums, minima and maxima of numbers, by numbers and
   * addresses. None of any other.
   *
   * @param column how records give a column, and its type
   */
  def of(aggregation: Aggregation, column: String => Option[(RecordColumn, DataType)]): Option[PushedAggregate] = {
    def read(e: Expression): Option[(String, RecordColumn, DataType)] = e match {
      case r: NamedReference if r.fieldNames.length == 1 =>
        column(r.fieldNames.head).map { case (c, t) => (r.fieldNames.head, c, t) }
      case _ => None
    }
    val groups = aggregation.groupByExpressions.toSeq.map(read(_).filter(g => RecordGroups.groupsBy(g._2.form)))
    val parts = aggregation.aggregateExpressions.toSeq.map(part(_, read))
    // count(*) is asked for once; another one is count(DISTINCT 1), which Spark shows us as the same.
    val stars = aggregation.aggregateExpressions.count(_.isInstanceOf[CountStar])
    val fits = stars <= 1 && groups.size <= RecordGroups.MAX_COLUMNS && parts.size <= RecordGroups.MAX_AGGREGATES &&
      groups.size + parts.size > 0
    Option.when(fits && groups.forall(_.isDefined) && parts.forall(_.isDefined)) {
      val (gs, ps) = (groups.flatten, parts.flatten)
      PushedAggregate(
        gs.map(_._2),
        ps.map(_.part),
        StructType(gs.map(g => StructField(g._1, g._3)) ++ ps.map(p => StructField(p.name, p.dataType))),
        (gs.map(_._1) ++ ps.flatMap(_.reads)).toSet
      )
    }
  }

  private final case class Part(part: PartialAggregate, name: String, dataType: DataType, reads: Option[String])

  private type Read = Expression => Option[(String, RecordColumn, DataType)]

  private def part(f: AggregateFunc, read: Read): Option[Part] = f match {
    case _: CountStar => Some(Part(new PartialAggregate(Function.COUNT, null), "count(*)", LongType, None))
    case c: Count if !c.isDistinct =>
      read(c.column).map { case (n, column, _) =>
        Part(new PartialAggregate(Function.COUNT, column), s"count($n)", LongType, Some(n))
      }
    case s: Sum if !s.isDistinct => ofNumber(Function.SUM, s.column, read).map(_.copy(dataType = LongType))
    case m: Min => ofNumber(Function.MIN, m.column, read)
    case m: Max => ofNumber(Function.MAX, m.column, read)
    case _ => None
  }

  private def ofNumber(function: Function, e: Expression, read: Read): Option[Part] =
    read(e).collect {
      case (name, column, dataType) if column.form.isNumber =>
        Part(new PartialAggregate(function, column), s"${function.name.toLowerCase}($name)", dataType, Some(name))
    }
}
