package io.phantoms.spark.stats

import scala.collection.immutable.BitSet

import io.phantoms.spark.model.{KeyKind, Query}

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * An input and the groupings whose statistics are asked for: all that is looked at of a workload here.
 *
 * @param keys grouping expressions over `base`
 * @param queries what is asked, by ordinals into `keys`
 * @param functions the distinct aggregate functions as they are run, whose buffers an entry holds
 * @param kinds what each key tells apart
 * @param predicates ordinals into `keys` of those that are predicates; queries name them by their place here
 * @param beside what else will be asked about: a sample is taken once
 */
final case class GroupedInput(
    base: LogicalPlan,
    keys: IndexedSeq[Expression],
    queries: IndexedSeq[Query],
    functions: IndexedSeq[AggregateFunction],
    kinds: IndexedSeq[KeyKind],
    predicates: IndexedSeq[Int],
    beside: Seq[Expression] = Nil
) {

  /** Keys that tell slices or fragments apart. */
  def parts: Seq[BitSet] = keys.indices.filter(kinds(_) != KeyKind.Grouping).map(BitSet(_))
}
