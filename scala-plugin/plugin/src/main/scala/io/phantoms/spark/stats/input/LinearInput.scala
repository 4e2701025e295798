package io.phantoms.spark.stats.input

import java.util.IdentityHashMap

import io.phantoms.spark.functions.SignatureWord

import org.apache.spark.sql.catalyst.expressions.{Alias, And, Attribute, AttributeMap, AttributeReference}
import org.apache.spark.sql.catalyst.expressions.{ExprId, Expression, IsNotNull, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LogicalPlan, Project, SubqueryAlias, View}
import org.apache.spark.sql.execution.columnar.InMemoryRelation

/**
 * A base that is a chain of Projects and Filters over one leaf, told in terms of the leaf's columns.
 *
 * @param leaf the relation that is read
 * @param filters conjuncts over the leaf's columns, the lowest first: one may rely on those before it
 * @param columns what each attribute of the chain's top is over the leaf's columns
 */
final case class LinearInput(leaf: LeafNode, filters: Seq[Expression], columns: AttributeMap[Expression]) {

  /** An expression over the chain's output, over the leaf's columns. */
  def overLeaf(e: Expression): Expression = inlined.computeIfAbsent(
    e,
    {
      case word: SignatureWord => word.copy(child = overLeaf(word.child))
      case other => LinearInput.inline(other, columns)
    }
  )

  /**
   * A text that is equal for equal expressions over equal leaves, whatever their expression ids. Functions that print
   * alike (two user functions) differ by their semantic hash.
   */
  def canonical(overLeaf: Expression): String = texts.computeIfAbsent(
    overLeaf,
    {
      case word: SignatureWord => s"word ${word.word} of ${canonical(word.child)}"
      case e =>
        val numbered = e.transform { case a: AttributeReference =>
          a.withExprId(ExprId(leaf.output.indexWhere(_.exprId == a.exprId), LinearInput.Numbering))
        }
        f"${numbered.canonicalized}%s@${numbered.semanticHash()}%08x"
    }
  )

  // The words of a signature of hundreds of predicates share it, and are asked about several times.
  private lazy val inlined = new IdentityHashMap[Expression, Expression]
  private lazy val texts = new IdentityHashMap[Expression, String]

  /** The conjuncts that drop rows by value, in canonical form; null checks that the optimizer inferred are left out. */
  lazy val canonicalFilters: Set[String] = filters.filterNot(_.isInstanceOf[IsNotNull]).map(canonical).toSet

  /** True when reading some of its rows once more can do no harm but an error. */
  def isRepeatable: Boolean =
    !leaf.isStreaming &&
      (filters ++ columns.values).forall(e => e.deterministic && !SubqueryExpression.hasSubquery(e))

  /** The input a cached leaf was built from, when that is linear too: statistics are supplied for its tables. */
  def uncached: Option[LinearInput] = leaf match {
    case cached: InMemoryRelation =>
      for {
        plan <- Option(cached.cacheBuilder.logicalPlan)
        inner <- LinearInput.of(plan)
        if cached.output.size == plan.output.size
      } yield {
        val below = AttributeMap(cached.output.zip(plan.output).map { case (c, p) => c -> inner.overLeaf(p) })
        val whole = LinearInput(
          inner.leaf,
          inner.filters ++ filters.map(LinearInput.inline(_, below)),
          AttributeMap(columns.toSeq.map { case (a, e) => a -> LinearInput.inline(e, below) })
        )
        whole.uncached.getOrElse(whole)
      }
    case _ => None
  }
}

object LinearInput {
  private val Numbering = new java.util.UUID(0L, 0L)

  /** The chain a plan is, or None where it is anything else (a join, a union, an aggregate, ...). */
  def of(plan: LogicalPlan): Option[LinearInput] = plan match {
    case leaf: LeafNode => Some(LinearInput(leaf, Nil, AttributeMap(leaf.output.map(a => a -> a))))
    case p: Project =>
      of(p.child).map { below =>
        below.copy(columns = AttributeMap(p.projectList.map(e => e.toAttribute -> below.overLeaf(unaliased(e)))))
      }
    case f: Filter =>
      of(f.child).map(below => below.copy(filters = below.filters ++ conjuncts(below.overLeaf(f.condition))))
    case a: SubqueryAlias => of(a.child)
    case v: View => of(v.child)
    case _ => None
  }

  private def unaliased(e: Expression): Expression = e match {
    case a: Alias => a.child
    case other => other
  }

  private def conjuncts(e: Expression): Seq[Expression] = e match {
    case and: And => conjuncts(and.left) ++ conjuncts(and.right)
    case other => Seq(other)
  }

  private def inline(e: Expression, columns: AttributeMap[Expression]): Expression =
    e.transform { case a: Attribute => columns.getOrElse(a, a) }
}
