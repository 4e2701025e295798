package io.phantoms.spark.rewrite

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}

import io.phantoms.spark.detect.Workload
import io.phantoms.spark.spec.AggregateSpec

/** The functions of a workload as they are run, and its results over what these give. */
private[rewrite] final class ExecutedAggregates(workload: Workload) {
  private val keyCount = workload.keys.size
  private val finish = workload.aggregates.zipWithIndex.map { case (a, i) => a.executed.result(keyCount + i) }

  val aggregates: IndexedSeq[AggregateSpec] = workload.aggregates.map(a => AggregateSpec(a.executed.function, a.filter))

  /** An expression over keys and original results, as one over keys and the results of [[aggregates]]. */
  def results(e: Expression): Expression = e.transformUp {
    case b: BoundReference if b.ordinal >= keyCount => finish(b.ordinal - keyCount)
  }
}
