package io.phantoms.spark.detect

import scala.collection.immutable.BitSet

import io.phantoms.spark.functions.{ExecutedFunction, ExpressionCost}
import io.phantoms.spark.stats.GroupedInput

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}

/**
 * One aggregate function of a workload, shared by every query that asks for it.
 *
 * @param function over attributes of [[Workload.base]]
 * @param filter the FILTER clause over attributes of [[Workload.base]]
 */
final case class WorkloadAggregate(function: AggregateFunction, filter: Option[Expression]) {

  /** The function as it is run. */
  lazy val executed: ExecutedFunction = ExecutedFunction(function)
}

/**
 * One groupBy of a workload.
 *
 * `results` and `having` refer to what the groupBy computed by `BoundReference`s: ordinal i for key i of
 * [[Workload.keys]], ordinal `keys.size + j` for the result of aggregate j of [[Workload.aggregates]]. A key that is not
 * part of the query never occurs in them: where a grouping set leaves it out they hold a NULL literal.
 *
 * @param keys its grouping, ordinals into [[Workload.keys]]
 * @param aggregates the functions it needs, ordinals into [[Workload.aggregates]]
 * @param results one expression per column of [[Workload.output]], of that column's type
 * @param having rows of the result that stay: what stood between an Aggregate and its Expand
 * @param rowOnEmptyInput a plain global aggregate: one row even from no input
 */
final case class WorkloadQuery(
    keys: BitSet,
    aggregates: BitSet,
    results: Seq[Expression],
    having: Option[Expression],
    rowOnEmptyInput: Boolean
)

/**
 * Several aggregates over one input that together produce the rows of one logical operator.
 *
 * @param base the shared input
 * @param keys distinct grouping expressions over `base`, not yet normalised (NaN, -0.0)
 * @param aggregates distinct functions
 * @param queries in the order in which the operator lists them; duplicates stay duplicates
 * @param output the attributes of the operator that is replaced, in order
 * @param oneScan whether plain Spark computes what stands below the aggregates once for all queries: grouping sets
 * @param rows rows of `base` that are aggregated at all; what `base` computes is computed for the others, too
 * @param everyRow columns that `base` computes for every row although no query may need them: their errors are raised
 */
final case class Workload(
    base: LogicalPlan,
    keys: IndexedSeq[Expression],
    aggregates: IndexedSeq[WorkloadAggregate],
    queries: IndexedSeq[WorkloadQuery],
    output: Seq[Attribute],
    oneScan: Boolean = true,
    rows: Option[Expression] = None,
    everyRow: Seq[Attribute] = Nil
) {

  /** Nanoseconds a row for what is computed of it, shared and by plain Spark: keys, inputs and filters, not the adding up. */
  def rowWork: (Double, Double) = {
    def cost(es: Seq[Expression]): Double =
      es.map(e => ExpressionCost.nanos(Inlining.throughProjects(base, e))).sum
    def inputs(a: WorkloadAggregate): Seq[Expression] = a.function.children ++ a.filter
    def distinct(es: Seq[Expression]): Seq[Expression] = es.distinctBy(_.canonicalized)
    val shared = cost(distinct(keys ++ aggregates.flatMap(inputs)))
    val below = cost(distinct((keys ++ aggregates.flatMap(inputs)).filter(_.isInstanceOf[Attribute])))
    val plain = queries.map { q =>
      val read = q.aggregates.toSeq.flatMap(a => inputs(aggregates(a)))
      if (oneScan) cost(distinct(read.filterNot(_.isInstanceOf[Attribute])))
      else cost(distinct(q.keys.toSeq.map(keys) ++ read))
    }.sum
    (shared, if (oneScan) below + plain else plain)
  }

  /** The same over the input as it is read, below the Projects on top of it: what statistics are kept of. */
  def overRead: Workload = {
    val below = Inlining.belowProjects(base)
    copy(
      base = rows.map(Inlining.throughProjects(base, _)).fold(below)(Filter(_, below)),
      keys = keys.map(Inlining.throughProjects(base, _)),
      rows = None,
      everyRow = Nil
    )
  }

  /** What statistics are kept and asked of. */
  def grouped: GroupedInput = GroupedInput(base, keys, queries.map(_.keys), aggregates.map(_.executed.function))
}
