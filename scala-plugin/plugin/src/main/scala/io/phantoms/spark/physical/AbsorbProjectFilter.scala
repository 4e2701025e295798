package io.phantoms.spark.physical

import scala.collection.mutable

import io.phantoms.spark.functions.{FilterOrder, RowValue, StaysIf}
import io.phantoms.spark.spec.RowSteps

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution._

/**
 * Takes projections and filters that stand between the LFTA and a columnar scan into the LFTA, which evaluates them on
 * the batch. Otherwise they would be run on rows, and every batch turned into rows for them.
 *
 * Before: Lfta > Project > Filter > columnar scan. After: Lfta(steps, inputs over the scan and the steps) > columnar scan.
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

  private def absorb(lfta: LftaExec): LftaExec = {
    val chain = Iterator.iterate[SparkPlan](lfta.child)(_.children.head).takeWhile(isAbsorbable).toVector
    val steps = new Steps
    chain.reverseIterator.foreach {
      case p: ProjectExec => steps.project(p.projectList)
      case f: FilterExec => steps.filter(f.condition)
      case _ =>
    }
    steps.end()
    val before = steps.count
    def over(e: Expression): Expression = steps.over(RowSteps.shifted(e, before))
    val next = lfta.copy(
      inputs = lfta.inputs.map(over),
      steps = steps.made.toSeq ++ lfta.steps.map(over),
      child = chain.last.children.head
    )
    next.copyTagsFrom(lfta)
    next
  }

  /**
   * The chain as steps, from the scan up. As in Spark's whole-stage code a column is computed when it is needed first: by
   * a filter above, or by the LFTA.
   */
  private final class Steps {
    val made: mutable.Buffer[Expression] = mutable.ArrayBuffer.empty
    var count = 0

    /** What attributes of the chain are, over the scan and the values that have been computed. */
    private var columns = AttributeMap.empty[Expression]
    private var pending = Vector.empty[Alias]

    def over(e: Expression): Expression = Substitution(e, columns)

    def project(list: Seq[NamedExpression]): Unit = list.foreach {
      case a: Alias if isPlain(a.child) => columns += a.toAttribute -> over(a.child)
      case a: Alias => pending :+= a
      case _ =>
    }

    def filter(condition: Expression): Unit = FilterOrder.asked(condition).foreach { part =>
      compute(needed(part))
      made += StaysIf(over(part))
    }

    def end(): Unit = compute(AttributeSet(pending.map(_.toAttribute)))

    private def isPlain(e: Expression): Boolean = e match {
      case a: Attribute => !pending.exists(_.exprId == a.exprId)
      case _: Literal => true
      case _ => false
    }

    private def needed(e: Expression): AttributeSet = {
      val direct = pending.filter(a => e.references.contains(a.toAttribute))
      direct.foldLeft(AttributeSet(direct.map(_.toAttribute)))((all, a) => all ++ needed(a.child))
    }

    private def compute(wanted: AttributeSet): Unit = {
      val (now, later) = pending.partition(a => wanted.contains(a.toAttribute))
      pending = later
      now.foreach { a =>
        made += over(a.child)
        columns += a.toAttribute -> RowValue(count, a.dataType, a.nullable)
        count += 1
      }
    }
  }

  private object Substitution {
    def apply(e: Expression, columns: AttributeMap[Expression]): Expression =
      e.transformUp { case a: Attribute => columns.getOrElse(a, a) }
  }
}
