package io.phantoms.spark.detect

import scala.annotation.tailrec

import io.phantoms.spark.functions.{ExpressionCost, FilterOrder, ObjectAggregate}

import org.apache.spark.sql.catalyst.expressions.{
  Add,
  Alias,
  And,
  AttributeReference,
  CaseWhen,
  EqualNullSafe,
  EqualTo,
  Expression,
  ExpressionEquals,
  GreaterThan,
  Greatest,
  If,
  Least,
  Literal,
  Not,
  Or
}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Project}
import org.apache.spark.sql.types.{BooleanType, NumericType}

/**
 * One groupBy with many conditional aggregates: `sum(x) FILTER (WHERE p)`, `sum(CASE WHEN p THEN x END)`,
 * `sum(CASE WHEN p THEN x ELSE 0 END)`, `max(CASE WHEN p THEN x ELSE y END)`, `count_if(p)`. Each is its function over the
 * rows that satisfy a predicate of its own, so the fragments of On-the-fly sharing (section 4) serve them as they serve
 * queries with a WHERE each: a relation by the keys and the signature of all predicates holds every function once, and a
 * group's aggregates are put together from those of its fragments that have their bits.
 *
 * Rows that satisfy no predicate stay: they may be all that there is of a group.
 */
private[detect] object Masks {

  /** Different predicates from which on it may pay to know which of them hold, and no more, of a row. */
  val Fewest = 8

  /** A function over rows that satisfy a predicate. */
  private final case class Masked(function: AggregateFunction, predicate: Expression)

  /** What an aggregate is made of: functions under predicates, and its result over what these give. */
  private final case class Split(parts: Seq[Masked], result: Seq[Expression] => Expression)

  /** Whether so many aggregates are conditional that it is worth a closer look. */
  def mayHelp(aggregate: Aggregate): Boolean = aggregate.aggregateExpressions.iterator.flatMap(_.collect {
    case a: AggregateExpression if isConditional(a.aggregateFunction, a.filter) => a
  }).drop(Fewest - 1).hasNext

  private def mayHelp(query: WorkloadQuery): Boolean =
    query.functions.iterator.filter(f => isConditional(f.function, f.filter)).drop(Fewest - 1).hasNext

  private def isConditional(function: AggregateFunction, filter: Option[Expression]): Boolean =
    filter.nonEmpty || function.children.exists(isConditional)

  private def isConditional(e: Expression): Boolean = e match {
    case _: If | _: CaseWhen => true
    case _ => false
  }

  /** The groupBy over fragments, or as it is. */
  def orAsIs(query: WorkloadQuery): WorkloadQuery = of(query).getOrElse(query)

  /**
   * Several groupBys of one source, those over fragments of which so many aggregates can be told apart by predicates; None
   * where there is no such.
   */
  def ofSome(queries: Seq[WorkloadQuery]): Option[Seq[WorkloadQuery]] = {
    val below = if (queries.exists(mayHelp)) queries.map(inlined) else queries
    val made = below.map(q => if (canBeMasked(q) && mayHelp(q)) ofInlined(q).getOrElse(q) else q)
    Option.when(made.exists(_.masks.nonEmpty) && made.forall(_.source.eq(made.head.source)))(made)
  }

  private def canBeMasked(query: WorkloadQuery): Boolean =
    query.window.isEmpty && query.fragment.isEmpty && query.predicate.isEmpty && query.having.isEmpty &&
      !query.functions.exists(f => ObjectAggregate.is(f.function))

  /** The groupBy over fragments, if so many of its aggregates can be told apart by predicates. */
  def of(query: WorkloadQuery): Option[WorkloadQuery] =
    if (canBeMasked(query)) ofInlined(computedFirst(inlined(query))) else None

  /**
   * Reads through Projects that compute what may not fail and takes no time: the optimizer puts the conditions of count_if
   * there, and many comparisons of one column are cheaper together.
   */
  @tailrec
  private def inlined(query: WorkloadQuery): WorkloadQuery = query.source match {
    case p: Project if p.projectList.forall(e => e.deterministic && isCheap(Inlining.withoutAlias(e))) =>
      inlined(query.onSource(p.child, Inlining.substitute(_, Inlining.columns(p))))
    case _ => query
  }

  private def isCheap(e: Expression): Boolean = !ExpressionCost.canFail(e) && ExpressionCost.nanos(e) <= MostInlined

  /** Nanoseconds of an expression that may be evaluated once for each use. */
  private val MostInlined = 50.0

  /**
   * With columns for what plain Spark evaluates for every row, and may fail, since several conditions have it in common: it
   * fails here for the same rows, and the conditions themselves cannot any more.
   */
  private def computedFirst(query: WorkloadQuery): WorkloadQuery = {
    val functions = query.functions.map(f => f.function -> f.filter)
    val common = FilterOrder.takenOutOfProjection(functions, query.keys.map(_.expression))
      .filter(e => ExpressionCost.canFail(e) && e.references.subsetOf(query.source.outputSet))
    if (common.isEmpty) query
    else {
      val columns = common.map(e => ExpressionEquals(e) -> Alias(e, "common")())
      val named = columns.toMap
      val source = Project(query.source.output ++ columns.map(_._2), query.source)
      // The outermost first: what an expression that has a column is made of is nobody else's business.
      def replaced(e: Expression): Expression = e.transformDown {
        case part if named.contains(ExpressionEquals(part)) => named(ExpressionEquals(part)).toAttribute
      }
      val made = query.onSource(source, replaced)
      made.copy(keys = query.keys, everyRow = made.everyRow ++ columns.map(_._2.toAttribute))
    }
  }

  private def ofInlined(query: WorkloadQuery): Option[WorkloadQuery] = {
    val everyRow = FilterOrder
      .takenOut(query.functions.map(_.function), query.keys.map(_.expression), query.functions.flatMap(_.filter))
      .map(ExpressionEquals(_)).toSet
    val splits = query.functions.map(f => f -> split(f, everyRow))
    val predicates = splits.flatMap(_._2.toSeq.flatMap(_.parts.map(_.predicate))).distinctBy(_.canonicalized)
    Option.when(predicates.size >= Fewest)(masked(query, splits, predicates))
  }

  private def masked(
      query: WorkloadQuery,
      splits: Seq[(FunctionSlot, Option[Split])],
      predicates: Seq[Expression]
  ): WorkloadQuery = {
    val bits = new Shards.Bits(predicates)
    val shared = splits.flatMap(_._2.toSeq.flatMap(_.parts.map(_.function))).distinctBy(_.canonicalized).map { f =>
      f.canonicalized -> FunctionSlot(AttributeReference("shared", f.dataType, f.nullable)(), f, None)
    }
    val sharedBy = shared.toMap
    val whole = splits.collect { case (f, None) => f }
    val made = splits.map {
      case (f, None) => (Seq(MaskSlot(f.attribute, f.attribute, None)), None)
      case (f, Some(split)) =>
        val slots = split.parts.map { part =>
          val from = sharedBy(part.function.canonicalized).attribute
          MaskSlot(from.newInstance(), from, Some(bits.slot(bits.of(part.predicate))))
        }
        (slots, Some(f.attribute.exprId -> split.result(slots.map(_.attribute))))
    }
    val results = made.flatMap(_._2).toMap
    query.copy(
      keys = query.keys ++ bits.words,
      functions = shared.map(_._2) ++ whole,
      results = query.results.map(_.transform {
        case a: AttributeReference if results.contains(a.exprId) => results(a.exprId)
      }),
      masks = made.flatMap(_._1),
      asked = query.functions
    )
  }

  /**
   * What is read of every row may not fail, unless it does so in plain Spark; what tells a row that counts from one that does
   * not has to fail as it did.
   */
  private def split(slot: FunctionSlot, everyRow: Set[ExpressionEquals]): Option[Split] = {
    def canFail(e: Expression): Boolean = ExpressionCost.canFail(e.transformDown {
      case part if everyRow(ExpressionEquals(part)) => AttributeReference("known", part.dataType)()
    })
    val found = slot.function match {
      case s: Sum => alternatives(s).orElse(single(s))
      case c: Count if c.children.size == 1 =>
        single(c).map(s => s.copy(parts = s.parts.map(notNull))).orElse(counted(c))
      case f @ (_: Min | _: Max) => single(f).orElse(extreme(f))
      case f @ (_: Average | _: CentralMomentAgg | _: HyperLogLogPlusPlus) => single(f)
      case _ => None
    }
    found.orElse(Option.when(slot.filter.nonEmpty)(Split(Seq(Masked(slot.function, Literal.TrueLiteral)), _.head)))
      .filter(!_.parts.exists(_.function.children.exists(canFail)))
      .flatMap { s =>
        val parts = s.parts.flatMap(p => under(slot.filter, p.predicate).map(c => p.copy(predicate = c)))
        Option.when(parts.size == s.parts.size)(s.copy(parts = parts))
      }
  }

  /**
   * Where a FILTER clause and then a condition are TRUE, as a predicate of a signature, which asks its parts as a compiled
   * FILTER clause does. Of conditions that may fail Spark evaluates what several of them have in common for every row;
   * those stay what they are.
   */
  private def under(filter: Option[Expression], condition: Expression): Option[Expression] = {
    val asked = filter.map(f => FilterOrder.partsOf(f).fold(f)(_.reduce(And(_, _))))
    val isCompiled = filter.exists(FilterOrder.partsOf(_).isDefined)
    val sure = filter.filterNot(_ => isCompiled) ++ Some(condition)
    val both = asked.toSeq ++ Some(condition).filter(_ != Literal.TrueLiteral)
    if (sure.exists(ExpressionCost.canFail)) None else both.reduceOption(And(_, _)).filter(isSafe)
  }

  private def isSafe(predicate: Expression): Boolean =
    predicate.dataType == BooleanType && Predicates.isRepeatable(predicate)

  /** A function that passes NULL by, of something that is NULL unless a predicate holds. */
  private def single(f: AggregateFunction): Option[Split] = f.children match {
    case Seq(value) =>
      conditional(value).map { case (predicate, inner) =>
        Split(Seq(Masked(f.withNewChildren(Seq(inner)).asInstanceOf[AggregateFunction], predicate)), _.head)
      }
    case _ => None
  }

  /** Counting a value under a predicate that says it is not NULL is counting rows. */
  private def notNull(count: Masked): Masked = {
    val isThere = count.function.children.forall(c => !c.nullable || c.semanticEquals(count.predicate))
    if (isThere) count.copy(function = Count(Literal(1))) else count
  }

  /** The predicate without which a value is NULL, and the value with it. */
  private[detect] def conditional(value: Expression): Option[(Expression, Expression)] = value match {
    case If(p, x, Literal(null, _)) => Some((p, x))
    case CaseWhen(Seq((p, x)), None | Some(Literal(null, _))) => Some((p, x))
    // What is left of count_if.
    case If(EqualTo(p, Literal.FalseLiteral), Literal(null, _), x) if x.semanticEquals(p) => Some((p, x))
    case If(Not(p), Literal(null, _), x) if x.semanticEquals(p) => Some((p, x))
    case If(p, Literal(null, _), x) => Some((isNotTrue(p), x))
    case _ => None
  }

  private def isNotTrue(p: Expression): Expression = Not(EqualNullSafe(p, Literal.TrueLiteral))

  /** The values of a condition, each with what holds where it is taken; those that are NULL are left out. */
  private def branches(value: Expression): Seq[(Expression, Expression)] = {
    val (whens, otherwise) = value match {
      case If(p, x, y) => (Seq((p, x)), Some(y))
      case CaseWhen(bs, y) => (bs, y)
      case _ => (Nil, None)
    }
    val all = whens ++ otherwise.map((Literal.TrueLiteral: Expression, _))
    all.indices.map { i =>
      val holds = whens.take(i).map(w => isNotTrue(w._1)) ++ Some(all(i)._1).filter(_ != Literal.TrueLiteral)
      (holds.reduceOption(And(_, _)).getOrElse(Literal.TrueLiteral), all(i)._2)
    }.filter { case (_, Literal(v, _)) => v != null; case _ => true }
  }

  /**
   * `sum(CASE WHEN p THEN x ELSE 0 END)`, with more cases that are zero or NULL: the sum where p holds; but zero, not NULL,
   * if it has no addend and there is a row with a zero.
   */
  private def alternatives(sum: Sum): Option[Split] = branches(sum.child).partition(b => isZero(b._2)) match {
    case (zeros, Seq((p, x))) if zeros.nonEmpty =>
      val addends = notNull(Masked(Count(x), p))
      val others = Masked(Count(Literal(1)), zeros.map(_._1).reduce(Or(_, _)))
      Some(
        Split(
          Seq(Masked(sum.copy(child = x), p), addends, others),
          values => {
            val none = And(EqualTo(values(1), Literal(0L)), GreaterThan(values(2), Literal(0L)))
            If(none, Literal.default(sum.dataType), values.head)
          }
        )
      )
    case _ => None
  }

  /** `max(CASE WHEN p THEN x ELSE y END)`: the greatest of what it is where p holds, and where not. */
  private def extreme(f: AggregateFunction): Option[Split] = {
    val found = branches(f.children.head)
    Option.when(found.size > 1) {
      val parts = found.map { case (p, x) => Masked(f.withNewChildren(Seq(x)).asInstanceOf[AggregateFunction], p) }
      Split(parts, values => if (f.isInstanceOf[Max]) Greatest(values) else Least(values))
    }
  }

  /** `count(CASE WHEN p THEN x WHEN q THEN y END)`: as many as there are of each. */
  private def counted(count: Count): Option[Split] = {
    val found = branches(count.children.head)
    Option.when(found.size > 1) {
      Split(found.map { case (p, x) => notNull(Masked(Count(x), p)) }, _.reduce[Expression](Add(_, _)))
    }
  }

  private def isZero(e: Expression): Boolean = e match {
    case Literal(v, _: NumericType) if v != null => Literal.default(e.dataType).value == v
    case _ => false
  }
}
