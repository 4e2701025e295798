package io.phantoms.spark.run.generated

import io.phantoms.spark.functions.WideTotal
import io.phantoms.spark.spec.{QuerySpec, SharedSpec}

import org.apache.spark.sql.catalyst.expressions.{And, BoundReference, Expression, PredicateHelper, UnaryExpression}

/**
 * A query's expressions over keys and slots (see [[AggregateCode.load]]), in the order in which Spark evaluates them.
 *
 * @param onKeys condition on keys only: Spark filters input rows by it
 * @param totals what is evaluated of every other group, for its error: whatever a condition or a result reads of it,
 *   Spark's aggregate computes all functions
 * @param having rows that stay
 * @param results one per output column
 */
private[run] final case class ResultExpressions(
    onKeys: Option[Expression],
    totals: Seq[Expression],
    having: Option[Expression],
    results: Seq[Expression]
)

private[run] object ResultExpressions extends PredicateHelper {
  def apply(spec: SharedSpec, query: QuerySpec): ResultExpressions = {
    val keys = spec.keys.size
    def functions(e: Expression): Seq[Int] =
      e.collect { case b: BoundReference if b.ordinal >= keys => b.ordinal - keys }
    val (onKeys, onResults) =
      query.having.toSeq.flatMap(splitConjunctivePredicates).partition(functions(_).isEmpty)
    // Without a condition, what each row shows is evaluated anyway.
    val shown = if (onResults.nonEmpty) Set.empty[Int] else query.results.flatMap(always).map(_ - keys).toSet
    val failing = (query.results ++ onResults).flatMap(functions).distinct.sorted.filterNot(shown)
      .filter(spec.aggregates(_).function match {
        case t: WideTotal => t.mayFail
        case _ => false
      })
    def overSlots(e: Expression): Expression = AggregateCode.overSlots(spec, e, query.overVariables)
    ResultExpressions(
      onKeys.map(overSlots).reduceOption(And(_, _)),
      failing.map { a =>
        val f = spec.aggregates(a).function
        overSlots(BoundReference(keys + a, f.dataType, f.nullable))
      },
      onResults.map(overSlots).reduceOption(And(_, _)),
      query.results.map(overSlots)
    )
  }

  /** What is evaluated whenever the expression is. */
  private def always(e: Expression): Option[Int] = e match {
    case b: BoundReference => Some(b.ordinal)
    case u: UnaryExpression => always(u.child)
    case _ => None
  }
}
