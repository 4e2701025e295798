package io.phantoms.spark.fuzz

import io.phantoms.spark.PhantomsExtensions
import io.phantoms.spark.conf.PhantomsConf

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, IsNotNull}
import org.apache.spark.sql.catalyst.expressions.aggregate.{Max, Sum}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.LongType

/** The plugin, and a rule that makes results wrong while the plugin is on. */
abstract class WrongPlugin extends PhantomsExtensions {
  protected def wrong(plan: LogicalPlan): LogicalPlan

  override def apply(extensions: SparkSessionExtensions): Unit = {
    super.apply(extensions)
    extensions.injectOptimizerRule(_ =>
      new Rule[LogicalPlan] {
        override def apply(plan: LogicalPlan): LogicalPlan =
          if (conf.getConf(PhantomsConf.Enabled)) wrong(plan) else plan
      }
    )
  }
}

/** Loses the groups whose first key is NULL. */
class LosesNull extends WrongPlugin {
  override protected def wrong(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case a: Aggregate if nullableKey(a).isDefined => Filter(IsNotNull(nullableKey(a).get), a)
  }

  private def nullableKey(a: Aggregate): Option[Attribute] = a.aggregateExpressions.collectFirst {
    case k: Attribute if isKey(a, k) && mayBeNull(a, k) => k
    case k: Alias if isKey(a, k.child) && mayBeNull(a, k.toAttribute) => k.toAttribute
  }

  private def isKey(a: Aggregate, e: Expression): Boolean = a.groupingExpressions.exists(_.semanticEquals(e))

  private def mayBeNull(a: Aggregate, k: Attribute): Boolean = k.nullable && !a.constraints.contains(IsNotNull(k))
}

/** Takes the largest of several numbers for their sum. */
class LosesAddends extends WrongPlugin {
  override protected def wrong(plan: LogicalPlan): LogicalPlan = plan.transformAllExpressions {
    case s: Sum if s.dataType == LongType && s.child.dataType == LongType => Max(s.child)
  }
}
