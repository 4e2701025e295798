package io.phantoms.spark.rewrite

import io.phantoms.spark.detect.{Inlining, Workload}
import io.phantoms.spark.spec.AggregateSpec

import org.apache.spark.sql.catalyst.expressions.{AttributeMap, BoundReference, Expression}

/** The functions of a workload as they are run, and the results of its queries over what these give. */
private[rewrite] final class ExecutedAggregates(workload: Workload) {
  private val keyCount = workload.keys.size
  private val finish = workload.aggregates.zipWithIndex.map { case (a, i) => a.executed.result(keyCount + i) }

  val aggregates: IndexedSeq[AggregateSpec] = workload.aggregates.map(a => AggregateSpec(a.executed.function, a.filter))

  private val slots: IndexedSeq[AttributeMap[Expression]] = workload.queries.zipWithIndex.map { case (q, i) =>
    AttributeMap[Expression](
      q.keys.zip(workload.keysOf(i)).map { case (k, key) =>
        k.attribute -> BoundReference(key, k.expression.dataType, k.expression.nullable)
      } ++ q.functions.zip(workload.aggregatesOf(i)).map { case (f, function) => f.attribute -> finish(function) }
    )
  }

  /**
   * What a query makes of its groups, over `BoundReference`s: ordinal i is key i of the workload, ordinal `keys.size + j`
   * the result of function j of [[aggregates]].
   */
  def bound(query: Int, result: Expression): Expression = Inlining.substitute(result, slots(query))
}
