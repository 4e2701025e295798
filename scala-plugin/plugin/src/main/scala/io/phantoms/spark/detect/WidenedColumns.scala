package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}

/**
 * The columns that two copies of a Project or of an Aggregate compute, each once.
 *
 * @param columns those of the first copy, and what the second has beside them
 * @param second by column of the second copy, what it is called among these
 */
private[detect] final case class WidenedColumns(columns: Seq[NamedExpression], second: Seq[(Attribute, Attribute)])

private[detect] object WidenedColumns {

  /**
   * None where columns of both would be computed in another way side by side than by themselves.
   *
   * @param translate what the second copy reads as what the first one does
   * @param isDeferred whether Spark may compute them for some rows only
   */
  def apply(
      first: Seq[NamedExpression],
      second: Seq[NamedExpression],
      translate: Expression => Expression,
      isDeferred: Boolean
  ): Option[WidenedColumns] = {
    // Both lists were pruned from one: a column goes behind the one that it follows there, so that copies which lack
    // different ones become what a copy that lacks none is, and Spark shuffles them once.
    val end = second.foldLeft(Place(first.toVector, Vector.empty, 0)) { (place, column) =>
      place.withColumn(column, translate(Inlining.withoutAlias(column)))
    }
    val ids = first.map(_.exprId).toSet
    val added = end.columns.filterNot(c => ids(c.exprId))
    val used = end.second.map(_._2.exprId).toSet
    val isSafe = first.forall(c => used(c.exprId)) || !FailingParts.inCommon(first, added, isDeferred)
    Option.when(isSafe)(WidenedColumns(end.columns, end.second))
  }

  /** @param next where a column goes that the first copy does not have */
  private final case class Place(
      columns: Vector[NamedExpression],
      second: Vector[(Attribute, Attribute)],
      next: Int
  ) {
    def withColumn(column: NamedExpression, wanted: Expression): Place =
      columns.indexWhere(c => EvaluationOrder.isSame(Inlining.withoutAlias(c), wanted)) match {
        case -1 =>
          val fresh = wanted match {
            case a: Attribute => a
            case e => Alias(e, column.name)()
          }
          Place(columns.patch(next, Seq(fresh), 0), second :+ (column.toAttribute -> fresh.toAttribute), next + 1)
        case i => Place(columns, second :+ (column.toAttribute -> columns(i).toAttribute), i + 1)
      }
  }
}
