package io.phantoms.spark.detect

import io.phantoms.spark.detect.Predicates.{Asked, Filtered}
import io.phantoms.spark.functions.ExpressionCost

import org.apache.spark.sql.catalyst.expressions.{
  And,
  Attribute,
  AttributeMap,
  AttributeSet,
  BoundReference,
  Expression,
  IsNotNull,
  NamedExpression,
  PredicateHelper
}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, Join, LogicalPlan, Project, Union}
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.types.{DoubleType, FloatType}

/**
 * Filters that Spark has pushed below groupBys and unions: the way up, to where copies of an input differ in nothing else,
 * and down again.
 *
 * {{{
 *   Aggregate [k], [k, sum(v) AS s]                       Filter (k = 1)
 *   +- Union                                              +- Aggregate [k], [k, sum(v) AS s]
 *      :- Filter (k = 1)                       <->           +- Union
 *      :  +- Relation t [k, v]                                  :- Relation t [k, v]
 *      +- Filter (isnotnull(w) AND (m = 1))                     +- Filter isnotnull(w)
 *         +- Relation u [m, w]                                     +- Relation u [m, w]
 * }}}
 *
 * What a filter asks of grouping keys keeps a group as it is or drops it, and what those of all branches of a union ask
 * holds for the union's rows. Only what cannot fail is moved, and past nothing that may fail but is kept from that by what
 * stays.
 */
private[detect] object FiltersBelow extends PredicateHelper {

  /** A condition over a plan below, as one over the columns of the plan itself; None where it stays below. */
  private type Naming = Expression => Option[Expression]

  /** An input less those filters. */
  def taken(plan: LogicalPlan): Filtered = taken(plan, Some(_), isOpen = true)

  /** @param isOpen whether columns that a condition reads may be put out for its sake */
  private def taken(plan: LogicalPlan, naming: Naming, isOpen: Boolean): Filtered = plan match {
    case Filter(condition, child) if condition.deterministic =>
      val guardsResults = FailingParts.inResults(child)
      val conjuncts = splitConjunctivePredicates(condition).map { c =>
        c -> Option.when(!guardsResults && isMoved(c))(c).flatMap(naming)
      }
      val stay = conjuncts.collect { case (c, None) => c }
      val below = taken(child, naming, isOpen)
      val asked = below.asked ++ conjuncts.flatMap(_._2).map(Asked(_, 0))
      if (asked.isEmpty || stay.exists(ExpressionCost.canFail)) Filtered(plan)
      else Filtered(stay.reduceOption(And(_, _)).fold(below.input)(Filter(_, below.input)), asked)
    case p: Project if Predicates.arePlain(p.projectList) =>
      if (isOpen) {
        val below = taken(p.child, naming, isOpen)
        above(p.copy(projectList = p.projectList ++ missing(below, p)), Seq(below))
      } else above(p, Seq(taken(p.child, named(p.projectList.map(slot), naming), isOpen)))
    case j: Join if !j.condition.exists(ExpressionCost.canFail) =>
      val sides = sidesOf(j).map { case (side, stays) =>
        Option.when(stays)(taken(side, naming, isOpen)).filter(_.guarded == 0).getOrElse(Filtered(side))
      }
      above(j, sides)
    case a: Aggregate =>
      val keys = keysOf(a)
      if (isOpen) {
        val ofKeys: Naming = c => Option.when(c.references.subsetOf(keys))(c).flatMap(naming)
        val below = taken(a.child, ofKeys, isOpen = false)
        above(a.copy(aggregateExpressions = a.aggregateExpressions ++ missing(below, a)), Seq(below))
      } else {
        val slots = a.aggregateExpressions.map(slot).filter(s => isOneOf(keys, s.expression))
        above(a, Seq(taken(a.child, named(slots, naming), isOpen)))
      }
    // Branches are looked at several times, and so are those of unions in them.
    case u: Union if nested(u) <= MostNested =>
      val ofColumns = UnionFilters.ofColumns(u, naming)
      if (isOpen) UnionFilters.ofOthers(ofColumns, naming) else ofColumns
    case other => Filtered(other)
  }

  private val MostNested = 4

  /** Unions that stand one in another. */
  private def nested(plan: LogicalPlan): Int =
    if (!plan.containsPattern(TreePattern.UNION)) 0
    else (if (plan.isInstanceOf[Union]) 1 else 0) + plan.children.map(nested).maxOption.getOrElse(0)

  /** The sides of a join, and whether a condition on one holds for the join's rows as for those of the side. */
  private def sidesOf(j: Join): Seq[(LogicalPlan, Boolean)] =
    j.children.zip(Seq(Predicates.keepsLeft(j), Predicates.isInner(j)))

  /** What conditions read of below an operator that it does not put out. */
  private def missing(below: Filtered, plan: LogicalPlan): Seq[Attribute] =
    (AttributeSet(below.asked.flatMap(_.condition.references)) -- plan.outputSet).toSeq

  /** Those of all branches of a union. */
  private object UnionFilters {

    /** What all branches ask of columns of the union. */
    def ofColumns(u: Union, naming: Naming): Filtered = {
      val namings = u.children.map(child => named(slotsOf(u, child), naming))
      val any = u.children.zip(namings).map { case (child, n) => taken(child, n, isOpen = false) }
      val all = any.map(_.asked.map(_.condition.canonicalized).toSet).reduce(_ & _)
      if (all.isEmpty) Filtered(u)
      else {
        val branches = u.children.zip(namings).map { case (child, n) =>
          taken(child, n(_).filter(c => all(c.canonicalized)), isOpen = false)
        }
        val asked = branches.head.asked.map(_.condition).distinctBy(_.canonicalized)
        Filtered(
          u.withNewChildren(branches.map(_.input)),
          asked.map(c => Asked(c, branches.map(guards(_, _.canonicalized == c.canonicalized)).sum))
        )
      }
    }

    /** And what they all ask of one column each that is none of the union's, since nothing else reads it. */
    def ofOthers(found: Filtered, naming: Naming): Filtered = found.input match {
      case u: Union =>
        val asked =
          u.children.map(taken(_, Some(_), isOpen = true).asked.map(_.condition).filter(_.references.size == 1))
        val columns = columnsOf(asked).filter(_.nonEmpty)
        def isWanted(branch: Int)(c: Expression): Boolean = columns.exists { column =>
          c.references.size == 1 && c.references.head.exprId == column(branch).exprId && isOfAll(asked, column, form(c))
        }
        lazy val branches = u.children.indices.map { i =>
          taken(u.children(i), c => Option.when(isWanted(i)(c))(c), isOpen = true)
        }
        if (columns.isEmpty || branches.exists(_.asked.isEmpty)) found
        else {
          val children = u.children.zip(branches).zipWithIndex.map { case ((child, branch), i) =>
            val more =
              columns.map(c => if (child.outputSet.contains(c(i))) InputAlignment.copyOf(c(i), c(i).name) else c(i))
            Project(child.output ++ more, branch.input)
          }
          val wider = u.withNewChildren(children)
          val added = wider.output.drop(u.output.size)
          val lifted = columns.zip(added).flatMap { case (column, name) =>
            val own = branches.head.asked.map(_.condition).filter(_.references.head.exprId == column.head.exprId)
            own.distinctBy(_.canonicalized).flatMap { c =>
              val guarded = branches.zip(column).map { case (branch, attribute) =>
                guards(branch, o => o.references.head.exprId == attribute.exprId && form(o) == form(c))
              }
              naming(c.transform { case _: Attribute => name }).map(Asked(_, guarded.sum))
            }
          }
          Filtered(wider, found.asked ++ lifted)
        }
      case _ => found
    }

    private def guards(branch: Filtered, which: Expression => Boolean): Int =
      branch.asked.filter(a => which(a.condition)).map(_.guards).max

    /** A condition of one column, whichever that is. */
    private def form(c: Expression): Expression =
      c.transform { case a: Attribute => BoundReference(0, a.dataType, nullable = true) }.canonicalized

    /** By branch what a new column is: columns of which as many in each branch are asked the same. */
    private def columnsOf(asked: Seq[Seq[Expression]]): Seq[Seq[Attribute]] = {
      val forms = asked.map(_.filterNot(_.isInstanceOf[IsNotNull]).groupMap(form)(_.references.head))
      val ofAll = asked.head.map(form).distinct.filter(f => forms.forall(_.contains(f)))
      ofAll.map(f => forms.map(_(f).distinctBy(_.exprId))).filter(_.map(_.size).distinct.size == 1)
        .flatMap(_.transpose).foldLeft(Vector.empty[Seq[Attribute]]) { (taken, column) =>
          // No branch may put out one of its columns twice.
          val isNew = taken.forall(_.zip(column).forall { case (a, b) => a.exprId != b.exprId })
          if (isNew) taken :+ column else taken
        }
    }

    private def isOfAll(asked: Seq[Seq[Expression]], column: Seq[Attribute], of: Expression): Boolean =
      asked.zip(column).forall { case (cs, a) => cs.exists(c => c.references.head.exprId == a.exprId && form(c) == of) }
  }

  /** An operator over what is left of its children, if anything was taken from these. */
  private def above(plan: LogicalPlan, children: Seq[Filtered]): Filtered =
    if (children.forall(_.asked.isEmpty)) Filtered(plan)
    else Filtered(
      plan.withNewChildren(children.map(_.input)),
      children.flatMap(_.asked).map(_.above(failingIn(plan)))
    )

  private def isMoved(c: Expression): Boolean =
    c.references.nonEmpty && Predicates.isRepeatable(c) && !ExpressionCost.canFail(c)

  private def slot(column: NamedExpression): KeySlot = KeySlot(column.toAttribute, Inlining.withoutAlias(column))

  private def slotsOf(u: Union, child: LogicalPlan): Seq[KeySlot] =
    u.output.zip(child.output).collect { case (o, c) if o.dataType == c.dataType => KeySlot(o, c) }

  /** What columns are made of is called what they are called; nothing else has a name. */
  private def named(slots: Seq[KeySlot], naming: Naming): Naming = {
    val usable = slots.filterNot(_.expression.foldable)
    def over(e: Expression): Option[Expression] =
      usable.find(_.expression.semanticEquals(e)).map(_.attribute).orElse(e match {
        case _: Attribute => None
        case other =>
          val children = other.children.map(over)
          Option.when(children.forall(_.isDefined))(other.withNewChildren(children.flatten))
      })
    over(_).flatMap(naming)
  }

  /** Keys of which what is asked of a row holds for its whole group; none where there is a row of no group. */
  private def keysOf(a: Aggregate): AttributeSet =
    if (!Predicates.arePlain(a.groupingExpressions ++ a.aggregateExpressions) || GroupingSets.under(a.child).isDefined)
      AttributeSet.empty
    else AttributeSet(a.groupingExpressions.collect {
      case k: Attribute if Predicates.holdsNoFloat(k.dataType) && Eligibility.key(k).isEmpty => k
    })

  private def isOneOf(keys: AttributeSet, e: Expression): Boolean = e match {
    case a: Attribute => keys.contains(a)
    case _ => false
  }

  /** The rows of an input that satisfy a condition, asked as far below as can be; what may fail, above any join and group. */
  def placed(condition: Expression, input: LogicalPlan): LogicalPlan =
    placed(condition, input, Filter(_, _))

  /** How much that may fail would still be computed for rows which do not satisfy a condition, once that is placed. */
  def unguarded(condition: Expression, input: LogicalPlan): Int = {
    var failing = 0
    placed(
      condition,
      input,
      (c, plan) => {
        failing += failingBelow(plan)
        Filter(c, plan)
      }
    )
    failing
  }

  private type Put = (Expression, LogicalPlan) => LogicalPlan

  private def placed(condition: Expression, input: LogicalPlan, put: Put): LogicalPlan =
    if (ExpressionCost.canFail(condition)) belowProjects(condition, input, put)
    else {
      val conjuncts = splitConjunctivePredicates(condition)
      input match {
        case p: Project if Predicates.arePlain(p.projectList) =>
          val columns = p.projectList.map(slot).filter(s => !ExpressionCost.canFail(s.expression))
          onChildren(conjuncts, p, Seq(columns), put)
        case f: Filter if f.condition.deterministic && !ExpressionCost.canFail(f.condition) =>
          f.copy(child = placed(condition, f.child, put))
        case j: Join =>
          onChildren(
            conjuncts,
            j,
            sidesOf(j).map { case (side, stays) => if (stays) side.output.map(slot) else Nil },
            put
          )
        case a: Aggregate =>
          val keys = keysOf(a)
          val handedOn = a.aggregateExpressions.map(slot).filter(s => isOneOf(keys, s.expression))
          onChildren(conjuncts, a, Seq(handedOn), put)
        case u: Union => onChildren(conjuncts, u, u.children.map(slotsOf(u, _)), put)
        case other => put(condition, other)
      }
    }

  /**
   * What conditions say about columns of a child is asked there, in full or in part, and above what no child was asked in
   * full; of a union's children all are.
   *
   * @param slots by child the columns by which it may be asked
   */
  private def onChildren(
      conjuncts: Seq[Expression],
      plan: LogicalPlan,
      slots: Seq[Seq[KeySlot]],
      put: Put
  ): LogicalPlan = {
    val known = slots.map(s => AttributeSet(s.map(_.attribute)))
    def isAsked(c: Expression, of: AttributeSet): Boolean = c.references.nonEmpty && c.references.subsetOf(of)
    val stay = plan match {
      case _: Union => conjuncts.filterNot(c => known.forall(isAsked(c, _)))
      case _ => conjuncts.filterNot(c => known.exists(isAsked(c, _)))
    }
    val children = plan.children.indices.map { i =>
      val child = plan.children(i)
      val own = conjuncts.diff(stay).filter(isAsked(_, known(i))) ++
        stay.flatMap(extractPredicatesWithinOutputSet(_, known(i)))
      val columns = AttributeMap(slots(i).map(s => s.attribute -> s.expression))
      own.distinctBy(_.canonicalized).map(Inlining.substitute(_, columns)).reduceOption(And(_, _))
        .fold(child)(placed(_, child, put))
    }
    val over = plan.withNewChildren(children)
    stay.reduceOption(And(_, _)).fold(over)(put(_, over))
  }

  private def belowProjects(condition: Expression, input: LogicalPlan, put: Put): LogicalPlan = input match {
    case p: Project if condition.references.subsetOf(p.child.outputSet) =>
      p.copy(child = belowProjects(condition, p.child, put))
    case other => put(condition, other)
  }

  /** What is computed, of a plan's rows and groups, down to its first joins that may fail. */
  def failingBelow(plan: LogicalPlan): Int = plan match {
    case _: Project | _: Aggregate | _: Filter | _: Union => failingIn(plan) + plan.children.map(failingBelow).sum
    case _ => 0
  }

  /** What an operator computes that may fail; adding up is part of it, as groups that nobody wants might not come to an end. */
  private def failingIn(plan: LogicalPlan): Int = plan match {
    case p: Project => p.projectList.count(ExpressionCost.canFail)
    case a: Aggregate => (a.groupingExpressions ++ a.aggregateExpressions).count(mayFail)
    case _ => 0
  }

  private def mayFail(column: Expression): Boolean =
    ExpressionCost.canFail(column.transform { case call: AggregateExpression => call.resultAttribute }) ||
      column.exists {
        case call: AggregateExpression => !isSafe(call)
        case _ => false
      }

  private def isSafe(call: AggregateExpression): Boolean =
    !(call.aggregateFunction.children ++ call.filter).exists(ExpressionCost.canFail) && (call.aggregateFunction match {
      case _: Count | _: Min | _: Max => true
      case _: Sum | _: Average => call.dataType == DoubleType || call.dataType == FloatType
      case _ => false
    })
}
