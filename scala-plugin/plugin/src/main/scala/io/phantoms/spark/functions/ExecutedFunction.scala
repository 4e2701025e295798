package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.expressions.{Alias, BoundReference, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.DecimalAggregates
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, OneRowRelation}
import org.apache.spark.sql.internal.SQLConf

/**
 * A function as it is run.
 *
 * Sums and averages of short decimals are run as plain Spark runs them: over unscaled longs. Spark's own rule for that
 * comes after ours and sees Aggregate nodes only, so it is applied here, function by function. Not only speed is at stake:
 * the average it makes goes through a double, and ours has to be the same number.
 *
 * @param rewritten the result, over the one aggregate call that is left in it
 */
final class ExecutedFunction private (rewritten: Expression) {
  private val plain = rewritten.collectFirst { case e: AggregateExpression => e.aggregateFunction }.get

  val function: DeclarativeAggregate = SharedFunction.of(plain) match {
    case Some(shared) => shared.executed(plain)
    case None => SharedFunction.declarative(plain)
  }

  /** The original's result, where that of [[function]] has this ordinal. */
  def result(ordinal: Int): Expression = rewritten.transformUp {
    case e: AggregateExpression => BoundReference(ordinal, e.dataType, e.nullable)
  }
}

object ExecutedFunction {
  def apply(original: AggregateFunction): ExecutedFunction = {
    val call = AggregateExpression(original, Complete, isDistinct = false)
    val excluded = SQLConf.get.optimizerExcludedRules.exists(_.contains(DecimalAggregates.ruleName))
    val rewritten =
      if (excluded) call
      else DecimalAggregates(Aggregate(Nil, Seq(Alias(call, "x")()), OneRowRelation())) match {
        case g: Aggregate => g.aggregateExpressions.head.asInstanceOf[Alias].child
        case _ => call
      }
    new ExecutedFunction(rewritten)
  }
}
