package io.phantoms.spark.detect

import io.phantoms.spark.functions.ExpressionCost

import org.apache.spark.sql.catalyst.expressions.{
  And,
  Attribute,
  AttributeReference,
  AttributeSet,
  EqualNullSafe,
  EqualTo,
  Expression,
  If,
  In,
  Literal,
  Or,
  PlanExpression,
  PredicateHelper,
  PythonFuncExpression
}
import org.apache.spark.sql.catalyst.optimizer.BooleanSimplification
import org.apache.spark.sql.catalyst.plans.{Cross, Inner, LeftExistence, LeftOuter}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, Join, LogicalPlan, Project, Union}
import org.apache.spark.sql.types.{ArrayType, BooleanType, DataType, DoubleType, FloatType, StructType}

/**
 * GroupBys over one input under different filters. Each reads rows that any of them wants, and whether a row satisfies
 * its own filter is one more key: its groups are those where that is true. So what two filters let through of a group is
 * kept apart by a relation with both keys, the fragments of On-the-fly sharing (section 4), where that pays.
 *
 * A filter guards what stands above it: expressions that may fail are evaluated behind it here, too.
 */
private[detect] object Predicates extends PredicateHelper {

  /**
   * A condition of an input's rows.
   *
   * @param guards how much that may fail is computed above the filter that asks it: not for rows that this drops
   */
  final case class Asked(condition: Expression, guards: Int) {
    def above(failing: Int): Asked = copy(guards = guards + failing)
  }

  /**
   * An input less its filters.
   *
   * @param asked what these ask, over `input`
   */
  final case class Filtered(input: LogicalPlan, asked: Seq[Asked] = Nil) {
    def condition: Option[Expression] = asked.map(_.condition).reduceOption(And(_, _))
    def guarded: Int = asked.map(_.guards).maxOption.getOrElse(0)
  }

  /** Something that filters of copies of one input have in common, whatever order they are written in. */
  def constants(plan: LogicalPlan): Seq[Int] =
    plan.collect { case f: Filter => f.condition.collect { case l: Literal => l.hashCode } }.flatten.sorted

  /** Whether Spark computes all of these, always to the same. */
  def arePlain(es: Seq[Expression]): Boolean =
    es.forall(e => e.deterministic && !e.exists(_.isInstanceOf[PythonFuncExpression]))

  /** Whether it may be asked in another place than where it stands, and more than once. */
  def isRepeatable(e: Expression): Boolean = e.deterministic && !e.exists(_.isInstanceOf[PlanExpression[_]])

  /** None where a filter's value is anybody's guess, or where it guards results of groupBys. */
  def filtered(source: LogicalPlan): Option[Filtered] = filtered(source, isDeep = true)

  /** @param isDeep whether filters of groupBys and unions count: what may fail above them would be all that is asked then */
  private def filtered(source: LogicalPlan, isDeep: Boolean): Option[Filtered] = source match {
    case Filter(condition, child) =>
      if (!isRepeatable(condition) || FailingParts.inResults(child))
        Option.when(isDeep)(FiltersBelow.taken(source)).filter(_.asked.nonEmpty)
      else filtered(child, isDeep && !ExpressionCost.canFail(condition))
        .map(f => f.copy(asked = f.asked :+ Asked(condition, 0)))
    case p: Project if p.projectList.forall(_.deterministic) =>
      filtered(p.child, isDeep).map { f =>
        if (f.asked.isEmpty) Filtered(source)
        else {
          val through = AttributeSet(f.condition.toSeq.flatMap(_.references)) -- p.projectList.collect {
            case a: Attribute => a
          }
          val failing = p.projectList.count(ExpressionCost.canFail)
          Filtered(Project(p.projectList ++ through.toSeq, f.input), f.asked.map(_.above(failing)))
        }
      }
    case j: Join => Some(joined(j, isDeep))
    case _: Aggregate | _: Union if isDeep => Some(FiltersBelow.taken(source))
    case other => Some(Filtered(other))
  }

  /**
   * Filters of what is joined hold for the join's rows as well, where those of a side stay what they are; what may fail has
   * to be asked of all rows of the side, and to stay behind what is asked there.
   */
  private def joined(j: Join, isDeep: Boolean): Filtered = {
    def lifted(side: LogicalPlan, stays: Boolean): Option[Filtered] =
      Option.when(stays)(filtered(side, isDeep)).flatten
        .filter(f => f.guarded == 0 && f.condition.exists(!ExpressionCost.canFail(_)))
    val left = lifted(j.left, keepsLeft(j))
    val right = lifted(j.right, isInner(j))
    if ((left ++ right).isEmpty || j.condition.exists(ExpressionCost.canFail)) Filtered(j)
    else {
      val sides = Seq(left.fold(j.left)(_.input), right.fold(j.right)(_.input))
      Filtered(j.withNewChildren(sides), (left ++ right).flatMap(_.asked).toSeq)
    }
  }

  /** An expression that may fail, for rows only that satisfy a condition; NULL for others. */
  def behind(condition: Expression, e: Expression): Expression =
    if (ExpressionCost.canFail(e)) If(condition, e, Literal(null, e.dataType)) else e

  def isInner(j: Join): Boolean = j.joinType == Inner || j.joinType == Cross

  /** Whether a condition on its left side holds for its rows as for those of the side. */
  def keepsLeft(j: Join): Boolean =
    isInner(j) || j.joinType == LeftOuter || LeftExistence.unapply(j.joinType).isDefined

  /** What all of these conditions ask, and what is left of each; nothing in common where one of them may fail. */
  def common(conditions: Seq[Option[Expression]]): (Option[Expression], Seq[Option[Expression]]) =
    if (conditions.exists(_.forall(ExpressionCost.canFail))) (None, conditions)
    else {
      val parts = conditions.flatten.map(splitConjunctivePredicates)
      val shared = parts.map(_.map(_.canonicalized).toSet).reduce(_ & _)
      val (asked, _) = parts.head.partition(c => shared(c.canonicalized))
      val left = parts.map(_.filterNot(c => shared(c.canonicalized)).reduceOption(And(_, _)))
      (asked.reduceOption(And(_, _)), left)
    }

  /**
   * The condition of rows that any of these filters lets through; none where one of them lets all through, or may fail: it
   * is asked of a row that another one drops, as in plain Spark.
   */
  def hull(conditions: Seq[Option[Expression]]): Option[Expression] =
    if (conditions.exists(_.forall(ExpressionCost.canFail))) None
    else Some(or(conditions.flatten.distinctBy(_.canonicalized)))

  /** What they all say about one column each, which is less, and quicker to ask. */
  def columnHull(conditions: Seq[Option[Expression]]): Option[Expression] =
    if (conditions.exists(_.forall(ExpressionCost.canFail))) None
    else byColumn(conditions.flatten.distinctBy(_.canonicalized))

  /** As Spark writes it in the end: it simplifies once more, and takes a second look at that for an error of its own. */
  def simplified(plan: LogicalPlan): LogicalPlan = Iterator.iterate(plan)(BooleanSimplification(_)).take(MostSimplified)
    .sliding(2).collectFirst { case Seq(a, b) if a.fastEquals(b) => a }.getOrElse(plan)

  /** Two by two: a chain of hundreds would be as deep. */
  private def or(es: Seq[Expression]): Expression = if (es.size == 1) es.head
  else {
    val (a, b) = es.splitAt(es.size / 2)
    Or(or(a), or(b))
  }

  /** What many conditions say about columns that all of them restrict: files and partitions are left out by that. */
  private def byColumn(conditions: Seq[Expression]): Option[Expression] = {
    val parts = conditions.map { c =>
      splitConjunctivePredicates(c).filter(_.references.size == 1).groupBy(_.references.head.canonicalized)
    }
    val columns = parts.map(_.keySet).reduce(_ & _).toSeq.sortBy(_.toString)
    columns.flatMap { column =>
      val said = parts.map(_(column).reduce(And(_, _))).distinctBy(_.canonicalized)
      val equal = said.map {
        case EqualTo(a: Attribute, l: Literal) => Some(a -> l)
        case EqualTo(l: Literal, a: Attribute) => Some(a -> l)
        case _ => None
      }
      if (equal.forall(_.isDefined)) Some(In(equal.head.get._1, equal.map(_.get._2)))
      else Option.when(said.size <= Shards.MostKeys)(or(said))
    }.reduceOption(And(_, _))
  }

  private val MostSimplified = 20

  def holdsNoFloat(t: DataType): Boolean = t match {
    case FloatType | DoubleType | _: StructType | _: ArrayType => false
    case _ => true
  }

  /**
   * What a condition says about grouping keys holds for whole groups, and is asked of these: the query under that, and
   * what is left to ask of rows. Where something may fail, the rows that it sees are those of the condition.
   */
  def onGroups(query: WorkloadQuery, condition: Expression): (WorkloadQuery, Option[Expression]) = {
    val failing = ExpressionCost.canFail(condition) || query.inputs.exists(ExpressionCost.canFailOnInput)
    // Zeros of both signs, and all NaN, are one group: what is said of one of them need not hold for the other.
    val keys = query.keys.filter(k => holdsNoFloat(k.expression.dataType))
    val attributes = AttributeSet(keys.map(_.attribute))
    val conjuncts = splitConjunctivePredicates(condition)
      .map(c => c -> AggregateNormalizer.onKeys(keys, c))
    val (groups, rows) = conjuncts.partition { case (_, c) =>
      c.references.nonEmpty && c.references.subsetOf(attributes)
    }
    if (failing || groups.isEmpty) (query, Some(condition))
    else
      (
        query.copy(having = WorkloadBuilder.both(groups.map(_._2).reduceOption(And(_, _)), query.having)),
        rows.map(_._1).reduceOption(And(_, _))
      )
  }

  /** A groupBy of the rows that satisfy a condition, as one of rows of which some do not. */
  def under(query: WorkloadQuery, condition: Expression): WorkloadQuery =
    if (query.rowOnEmptyInput)
      // Its row is there even if no row satisfies the condition, so what it counts is left out row by row.
      query.copy(functions = query.functions.map(_.under(condition)))
    else {
      val holds = AttributeReference("holds", BooleanType, nullable = false)()
      query.guardedBy(condition).copy(
        keys = query.keys.map(k => k.copy(expression = behind(condition, k.expression))) :+
          KeySlot(holds, EqualNullSafe(condition, Literal.TrueLiteral)),
        having = WorkloadBuilder.both(Some(holds), query.having),
        predicate = Some(holds)
      )
    }
}
