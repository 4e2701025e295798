package io.phantoms.spark.rewrite

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}

import io.phantoms.spark.detect.Workload
import io.phantoms.spark.functions.ExecutedFunction
import io.phantoms.spark.spec.AggregateSpec

/** The functions of a workload as they are run, and its results over what these give. */
private[rewrite] final class ExecutedAggregates(workload: Workload) {
  private val keyCount = workload.keys.size
  private val functions = workload.aggregates.map(a => ExecutedFunction(a.function))
  private val finish = functions.zipWithIndex.map { case (f, i) => f.result(keyCount + i) }

  val aggregates: IndexedSeq[AggregateSpec] =
    functions.zip(workload.aggregates).map { case (f, a) => AggregateSpec(f.function, a.filter) }

  /** An expression over keys and original results, as one over keys and the results of [[aggregates]]. */
  def results(e: Expression): Expression = e.transformUp {
    case b: BoundReference if b.ordinal >= keyCount => finish(b.ordinal - keyCount)
  }
}
