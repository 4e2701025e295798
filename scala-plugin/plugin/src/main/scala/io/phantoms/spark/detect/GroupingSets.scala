package io.phantoms.spark.detect

import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.functions.ExpressionCost

import org.apache.spark.sql.catalyst.expressions.{
  And,
  Attribute,
  AttributeMap,
  AttributeSet,
  Expression,
  Literal,
  VirtualColumn
}
import org.apache.spark.sql.catalyst.plans.logical.{Expand, Filter, LogicalPlan, Project}

/**
 * GROUPING SETS, CUBE and ROLLUP: `Aggregate > [Filter | Project]* > Expand`, where the Expand makes one copy of each
 * row per set.
 *
 * Sets, absent keys and grouping ids are read off the literals of each Expand projection, never computed anew: the
 * analyzer decides which bit stands for which key, and duplicate sets are told apart by a literal of their own.
 */
object GroupingSets {

  /**
   * What stands between an Aggregate and the Expand of its grouping sets.
   *
   * @param columns the Aggregate's input columns, over the Expand's output
   * @param conditions filters (conjuncts) over the Expand's output
   */
  final case class Chain(expand: Expand, columns: AttributeMap[Expression], conditions: Seq[Expression])

  private val GroupingId = VirtualColumn.groupingIdName

  /** The chain below an Aggregate, if it ends in the Expand of grouping sets. */
  def under(plan: LogicalPlan): Option[Chain] = chain(plan, isGroupingSets)

  /** The chain below an Aggregate, if it ends in an Expand of this kind. */
  private[detect] def chain(plan: LogicalPlan, ends: Expand => Boolean): Option[Chain] = plan match {
    case e: Expand if ends(e) =>
      Some(Chain(e, AttributeMap(e.output.map(a => a -> (a: Expression))), Nil))
    case f: Filter =>
      chain(f.child, ends).map { c =>
        c.copy(conditions = c.conditions ++ conjuncts(Inlining.substitute(f.condition, c.columns)))
      }
    case p: Project =>
      chain(p.child, ends).map { c =>
        c.copy(columns =
          AttributeMap(p.projectList.map { e =>
            e.toAttribute -> Inlining.substitute(Inlining.withoutAlias(e), c.columns)
          })
        )
      }
    case _ => None
  }

  /** One branch per set, less the sets that a filter on grouping columns or ids empties. */
  def branches(parts: AggregateNormalizer.Parts, chain: Chain): Either[DeclineReason, Seq[WorkloadQuery]] = {
    val expand = chain.expand
    val sets = expand.projections.map(p => AttributeMap(expand.output.zip(p)))
    def value(set: AttributeMap[Expression])(e: Expression): Expression =
      Inlining.substitute(Inlining.substitute(e, chain.columns), set)

    // Rows of two sets must never meet in one group: the literals among the keys have to tell the sets apart.
    val marks = sets.map(s => parts.keys.map(k => value(s)(Inlining.withoutAlias(k))).map(constant))
    if (marks.distinct.size < sets.size || marks.exists(_.forall(_.isEmpty)))
      Left(UnsupportedShape("grouping sets whose groups are not told apart by a grouping id"))
    else {
      val kept = sets.flatMap { set =>
        val conditions = chain.conditions.map(Inlining.substitute(_, set))
        if (conditions.exists(isNeverTrue)) None
        else Some((set, conditions.filterNot(isAlwaysTrue)))
      }
      val everyRow = computed(expand)
      val found = kept.map { case (set, conditions) =>
        AggregateNormalizer.branch(
          parts,
          expand.child,
          value(set),
          rowOnEmptyInput = false,
          fromGroupingSets = true,
          conditions = conditions,
          everyRow = everyRow
        ).inlineRenames
      }
      val onRows = found.flatMap(b => b.having.map(h => (b, h))).exists { case (b, h) =>
        !h.references.subsetOf(AttributeSet(b.keys.map(_.attribute)))
      }
      if (onRows) Left(UnsupportedShape("a filter on rows between the grouping sets and their aggregate"))
      else Right(found)
    }
  }

  /** Columns that the Expand copies, of all sets, also of those that a filter empties, and that may fail. */
  private def computed(expand: Expand): Seq[Attribute] =
    AttributeSet(expand.projections.flatten.flatMap(_.references)).toSeq.filter { a =>
      expand.child.collectFirst {
        case p: Project if p.projectList.exists(c => c.exprId == a.exprId && !Inlining.isRename(c)) =>
          p.projectList.find(_.exprId == a.exprId).exists(c => ExpressionCost.canFail(Inlining.withoutAlias(c)))
      }.getOrElse(false)
    }

  private[detect] def isGroupingSets(expand: Expand): Boolean = expand.output.exists(_.name == GroupingId) &&
    expand.output.zipWithIndex.exists { case (a, i) =>
      a.name == GroupingId && expand.projections.forall(_(i).isInstanceOf[Literal])
    }

  private def constant(e: Expression): Option[Any] = e match {
    case l: Literal => Some((l.dataType, Option(l.value)))
    case _ => None
  }

  private def conjuncts(condition: Expression): Seq[Expression] = condition match {
    case And(left, right) => conjuncts(left) ++ conjuncts(right)
    case other => Seq(other)
  }

  private def foldedTo(condition: Expression): Option[Any] =
    if (condition.foldable && condition.deterministic)
      try Some(condition.eval())
      catch { case scala.util.control.NonFatal(_) => None } // it may never be evaluated: then it may not raise here
    else None

  private def isNeverTrue(condition: Expression): Boolean = foldedTo(condition).exists(v => v == null || v == false)

  private def isAlwaysTrue(condition: Expression): Boolean = foldedTo(condition).contains(true)
}
