package io.phantoms.spark.rewrite

import org.apache.spark.sql.catalyst.expressions.{Alias, BoundReference, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.DecimalAggregates
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.internal.SQLConf

import io.phantoms.spark.detect.Workload
import io.phantoms.spark.functions.WideTotal
import io.phantoms.spark.spec.AggregateSpec

/**
 * Sums and averages of short decimals as plain Spark computes them: over unscaled longs. Spark's own rule for that runs
 * after ours and sees Aggregate nodes only, so it is applied here, function by function. Not only speed is at stake: the
 * average it makes goes through a double, and ours has to be the same number. What is left of sums is kept in totals that
 * are wide enough, see [[WideTotal]].
 */
private[rewrite] final class FastDecimals(
    val aggregates: IndexedSeq[AggregateSpec],
    finish: IndexedSeq[Expression],
    keyCount: Int
) {

  /** An expression over keys and original results, as one over keys and the results of [[aggregates]]. */
  def results(e: Expression): Expression = e.transformUp {
    case b: BoundReference if b.ordinal >= keyCount => finish(b.ordinal - keyCount)
  }
}

private[rewrite] object FastDecimals {
  def apply(workload: Workload): FastDecimals = {
    val keyCount = workload.keys.size
    val excluded = SQLConf.get.optimizerExcludedRules.exists(_.contains(DecimalAggregates.ruleName))
    val pairs = workload.aggregates.zipWithIndex.map { case (a, i) =>
      val plain = AggregateExpression(a.function, Complete, isDistinct = false)
      val rewritten: Expression =
        if (excluded) plain
        else DecimalAggregates(Aggregate(Nil, Seq(Alias(plain, "x")()), workload.base)) match {
          case g: Aggregate => g.aggregateExpressions.head.asInstanceOf[Alias].child
          case _ => plain
        }
      val function = rewritten.collectFirst { case e: AggregateExpression => e.aggregateFunction }.get
      val finish = rewritten.transformUp {
        case e: AggregateExpression => BoundReference(keyCount + i, e.dataType, e.nullable)
      }
      (AggregateSpec(WideTotal(function.asInstanceOf[DeclarativeAggregate]), a.filter), finish)
    }
    new FastDecimals(pairs.map(_._1), pairs.map(_._2), keyCount)
  }
}
