package io.phantoms.spark.execute

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution._

/**
 * Takes projections and filters that stand between the LFTA and a columnar scan into the LFTA, which evaluates them on
 * the batch. Otherwise they would be run on rows, and every batch turned into rows for them.
 *
 * Before: Lfta > Project > Filter > columnar scan. After: Lfta(inputs over the scan, filters) > columnar scan.
 * Runs before Spark inserts its columnar transitions, with and without adaptive execution.
 */
object AbsorbProjectFilter extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case lfta: LftaExec if isAbsorbable(lfta.child) && columnarBelow(lfta.child) => absorb(lfta)
  }

  private def isAbsorbable(plan: SparkPlan): Boolean = plan.isInstanceOf[ProjectExec] || plan.isInstanceOf[FilterExec]

  @scala.annotation.tailrec
  private def columnarBelow(plan: SparkPlan): Boolean = plan match {
    case p: ProjectExec => p.projectList.forall(isSafe) && columnarBelow(p.child)
    case f: FilterExec => isSafe(f.condition) && columnarBelow(f.child)
    case other => other.supportsColumnar
  }

  /** Expressions that compiled code can evaluate anywhere: no interpreted ones, no state, no subquery still to be run. */
  private def isSafe(e: Expression): Boolean = e.deterministic && !e.exists {
    case _: Attribute => false
    case _: CodegenFallback | _: Unevaluable | _: PlanExpression[_] => true
    case _ => false
  }

  @scala.annotation.tailrec
  private def absorb(lfta: LftaExec): LftaExec = lfta.child match {
    case p: ProjectExec =>
      val aliases = AttributeMap(p.projectList.collect { case a: Alias => a.toAttribute -> a.child })
      def substitute(e: Expression) = e.transform { case a: Attribute => aliases.getOrElse(a, a) }
      val next = lfta.copy(
        inputs = lfta.inputs.map(substitute),
        filters = lfta.filters.map(substitute),
        child = p.child
      )
      next.copyTagsFrom(lfta)
      absorb(next)
    case f: FilterExec =>
      // The filter below ran first: it stays first.
      val next = lfta.copy(filters = f.condition +: lfta.filters, child = f.child)
      next.copyTagsFrom(lfta)
      absorb(next)
    case _ => lfta
  }
}
