package io.phantoms.spark.rewrite

import org.apache.spark.sql.catalyst.expressions.{
  ConditionalExpression,
  EquivalentExpressions,
  Expression,
  ExpressionEquals
}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction

import io.phantoms.spark.functions.{ExpressionCost, FilterOrder, ObjectAggregate, RowValue, WideTotal, WordsAggregate}
import io.phantoms.spark.spec.AggregateSpec

/**
 * Functions whose inputs are computed once a row where several of them, or keys and filters too, have a part in common.
 *
 * What plain Spark evaluates for every row counts: keys, FILTER conditions, and what its whole-stage code takes out of the
 * functions of one aggregate, which it does without looking at their FILTER clauses. A part that only functions with a
 * FILTER evaluate, each in another aggregate, stays behind their conditions.
 *
 * @param values what is computed, before the functions
 * @param aggregates over the input and the values
 */
private[rewrite] final case class CommonInputs(
    values: IndexedSeq[Expression],
    keys: IndexedSeq[Expression],
    aggregates: IndexedSeq[AggregateSpec]
)

private[rewrite] object CommonInputs {

  /**
   * @param queries the keys and the functions of each query
   * @param roots relations that are updated from input rows, each evaluating its functions
   */
  def apply(
      keys: IndexedSeq[Expression],
      aggregates: IndexedSeq[AggregateSpec],
      queries: Seq[(Seq[Int], Seq[Int])],
      roots: Int
  ): CommonInputs = {
    val parts = (keys ++ aggregates.flatMap(a => a.function.children ++ a.filter))
      .flatMap(_.collect { case e => ExpressionEquals(e) }).toSet

    /** What stands in keys, filters and arguments; not what the functions make of these themselves. */
    def written(e: Expression): Seq[Expression] =
      if (parts(ExpressionEquals(e))) Seq(e)
      else e match {
        case c: ConditionalExpression => c.alwaysEvaluatedInputs.flatMap(written)
        case other => other.children.flatMap(written)
      }
    // What plain Spark takes out of the functions of an aggregate, whatever their filters say, and whatever stands before
    // it in a condition.
    val takenOut = queries.distinct.flatMap { case (by, functions) =>
      val called = functions.map(aggregates)
      FilterOrder.takenOut(called.map(plain), by.map(keys), called.flatMap(_.filter)) ++
        FilterOrder.takenOutOfProjection(called.map(a => plain(a) -> a.filter), by.map(keys))
    }
    def expressions(skipForShortcut: Boolean): EquivalentExpressions = {
      val all = new EquivalentExpressions(skipForShortcut)
      keys.foreach(all.addExprTree(_))
      aggregates.flatMap(_.filter).foreach(all.addExprTree(_))
      for (a <- aggregates; _ <- 0 until math.min(2, roots) if a.filter.isEmpty) {
        a.function.updateExpressions.foreach(all.addExprTree(_))
      }
      all
    }
    // Something that may fail behind something that keeps it from it has to stay there.
    val sure = expressions(skipForShortcut = true)
    val shared = expressions(skipForShortcut = false).getCommonSubexpressions
      .filter(e => !ExpressionCost.canFail(e) || sure.getExprState(e).isDefined)
    // What costs next to nothing is left where it is, unless plain Spark raises its errors before.
    val common = (shared.flatMap(written).filterNot(ExpressionCost.isCheap) ++
      takenOut.flatMap(written).filter(e => ExpressionCost.canFail(e) || !ExpressionCost.isCheap(e)))
      .distinctBy(ExpressionEquals(_)).sortBy(_.height)
    val values = common.zipWithIndex.map { case (e, i) =>
      ExpressionEquals(e) -> RowValue(i, e.dataType, e.nullable)
    }.toMap
    def rewritten[E <: Expression](e: E): E = e.transformDown {
      case part if values.contains(ExpressionEquals(part)) => values(ExpressionEquals(part))
    }.asInstanceOf[E]
    CommonInputs(
      // Each over those before it.
      common.map(e => e.mapChildren(rewritten(_))).toIndexedSeq,
      keys.map(rewritten(_)),
      aggregates.map(a => AggregateSpec(rewritten(a.function), a.filter.map(rewritten(_))))
    )
  }

  /** The function as plain Spark runs it. */
  private def plain(a: AggregateSpec): AggregateFunction = a.function match {
    case wide: WideTotal => wide.plain
    case words: WordsAggregate => words.plain
    case objects: ObjectAggregate => objects.plain
    case other => other
  }
}
