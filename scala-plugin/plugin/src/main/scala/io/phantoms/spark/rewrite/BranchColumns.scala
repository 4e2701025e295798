package io.phantoms.spark.rewrite

import io.phantoms.spark.detect.InputAlignment

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, Union}
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.types.MetadataBuilder

/**
 * Columns that a union's branch puts out twice. No branch may put out one attribute twice, and Spark's
 * RemoveRedundantAliases sees to that where a column stands beside an alias of it:
 *
 * {{{
 *   Union
 *   :- ...
 *   +- Project [n AS m, n]              Project [x AS m, x AS n]
 *      +- Aggregate [k], [count(1) AS n]   +- SharedMerge [x]
 * }}}
 *
 * What stands for the Aggregate makes both of them aliases of one, of which it would leave neither. The same goes for unions
 * that are shared inputs, where Spark has put a copy of a key for ROLLUP into each branch: it looks into these once no union
 * of Spark's own keeps it out. The first branch keeps its own, since the union's columns are called by them.
 */
private[rewrite] object BranchColumns {

  def kept(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsAllPatterns(TreePattern.UNION, TreePattern.ALIAS)) plan
    else plan.transformUpWithSubqueries {
      case u: Union if u.children.tail.exists(repeats) =>
        u.withNewChildren(u.children.head +: u.children.tail.map(told))
    }

  private def repeats(branch: LogicalPlan): Boolean = branch.exists {
    case p: Project => p.projectList.exists(isRepeated(_, p))
    case _ => false
  }

  private def told(branch: LogicalPlan): LogicalPlan = branch.transformDown {
    case p: Project => p.copy(projectList = p.projectList.map(c => if (isRepeated(c, p)) marked(c) else c))
  }

  private def isRepeated(column: NamedExpression, project: Project): Boolean = column match {
    case Alias(a: Attribute, name) => name == a.name && (project.outputSet.contains(a) || project.projectList.count {
        case Alias(b: Attribute, `name`) => a.exprId == b.exprId
        case _ => false
      } > 1)
    case _ => false
  }

  /** An alias that says something of its own stays. */
  private def marked(column: NamedExpression): NamedExpression = column match {
    case a: Alias =>
      val said = new MetadataBuilder().withMetadata(a.metadata).withMetadata(InputAlignment.Copied).build()
      Alias(a.child, a.name)(a.exprId, a.qualifier, Some(said))
    case other => other
  }
}
