package io.phantoms.spark.detect

import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.functions.{ExpressionCost, ObjectAggregate, WordsAggregate}

import org.apache.spark.sql.catalyst.expressions.{And, Attribute, AttributeSet, Cast, Expression, Or}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils

/** Makes a [[Workload]] of groupBys that read one base: equal keys and equal functions become one. */
object WorkloadBuilder {

  /**
   * @param found all over `base`
   * @param consumers who gets which of them
   * @param oneAggregate whether they are the grouping sets of one Aggregate: then its functions are evaluated for each
   *   row that any of them takes
   */
  def build(
      base: LogicalPlan,
      found: Seq[WorkloadQuery],
      consumers: IndexedSeq[Consumer],
      oneAggregate: Boolean
  ): Either[DeclineReason, Workload] =
    made(base, found, consumers, oneAggregate).map { workload =>
      val fragments = Masks.ofSome(found).flatMap(q => made(q.head.source, q, consumers, oneAggregate).toOption)
      workload.copy(alternatives = fragments.toSeq)
    }

  private def made(
      base: LogicalPlan,
      found: Seq[WorkloadQuery],
      consumers: IndexedSeq[Consumer],
      oneAggregate: Boolean
  ): Either[DeclineReason, Workload] = {
    val taken = rowsTaken(found, oneAggregate)
    val queries = (if (taken.isGuarding) found else found.map(guarded)).toIndexedSeq
    def inlined(e: Expression): Expression = Inlining.throughProjects(base, e)
    // Hundreds of queries may have a key in common that is as long.
    val keys = each(queries.flatMap(_.keys).map(_.expression))
    val inputs = each(queries.flatMap(_.functions.flatMap(_.inputs)))
    val reasons = Iterator(
      () => Eligibility.source(base),
      () => keys.flatMap(k => Eligibility.key(inlined(k))).headOption,
      () => inputs.flatMap(i => Eligibility.expression(inlined(i), "an aggregate's input")).headOption,
      () => queries.flatMap(b => b.results ++ b.having).flatMap(Eligibility.expression(_, "a result")).headOption,
      () => tooWide(queries).map(found => UnsupportedShape(found._2)),
      () => queries.flatMap(putTogether).headOption,
      () => Option.when(queries.size < 2 && queries.forall(isOneGrouping))(SingleAggregate)
    )
    reasons.flatMap(_.apply()).nextOption() match {
      case Some(reason) => Left(reason)
      case None =>
        val output = consumers.flatMap(c => c.queries.map(_ -> c.output)).toMap
        val typed = queries.zipWithIndex.map { case (q, i) => puttingOut(q, output(i)) }
        typed.collectFirst { case Left(reason) => reason }.toLeft(
          Workload(base, typed.collect { case Right(q) => q }, consumers, oneAggregate, taken.rows)
        )
    }
  }

  /** The kind of functions of which all together take too much of a group, and what is wrong with them. */
  def tooWide(queries: Seq[WorkloadQuery]): Option[(AggregateFunction => Boolean, String)] =
    WordsAggregate.tooWide(different(queries, WordsAggregate.is)).map((WordsAggregate.is _, _))
      .orElse(ObjectAggregate.tooWide(different(queries, ObjectAggregate.is)).map((ObjectAggregate.is _, _)))

  /** Different calls of some functions. */
  private def different(queries: Seq[WorkloadQuery], of: AggregateFunction => Boolean): Seq[AggregateFunction] =
    queries.flatMap(_.functions).filter(f => of(f.function)).map(f => WorkloadAggregate(f.function, f.filter))
      .distinctBy(_.identity).map(_.function)

  /** Results that are put together from several groups are so by words of records; an object is none. */
  def putTogether(query: WorkloadQuery): Option[DeclineReason] = {
    val from =
      if (query.window.nonEmpty) Some("slices of sliding windows")
      else if (query.fragment.nonEmpty) Some("rows under filters of which one may fail")
      else None
    val function = query.functions.map(_.function).find(ObjectAggregate.is)
    for (f <- function; parts <- from)
      yield UnsupportedShape(s"${f.prettyName} is not put together from $parts yet")
  }

  /** Windows are shared among themselves, and so are the aggregates of one groupBy over parts of its groups. */
  private def isOneGrouping(query: WorkloadQuery): Boolean =
    query.window.isEmpty && query.masks.isEmpty && query.plainTimes < 2

  /**
   * @param rows the condition for the rows that are aggregated at all
   * @param isGuarding whether functions that may fail see no row that plain Spark keeps from them
   */
  private final case class Taken(rows: Option[Expression], isGuarding: Boolean)

  private def rowsTaken(branches: Seq[WorkloadQuery], oneAggregate: Boolean): Taken = {
    val conditions = branches.map(_.rows)
    if (conditions.forall(_.isEmpty)) Taken(None, isGuarding = true)
    else if (conditions.exists(_.isEmpty)) Taken(None, isGuarding = false)
    else {
      val different = conditions.flatten.distinctBy(_.canonicalized)
      if (different.size == 1) Taken(Some(different.head), isGuarding = true)
      // Behind the first that holds, the others would not be evaluated: they may not have an error to raise.
      else if (different.exists(ExpressionCost.canFail)) Taken(None, isGuarding = false)
      else Taken(different.reduceOption(Or(_, _)), isGuarding = oneAggregate)
    }
  }

  /** With functions that do not see the rows which a condition on the keys keeps from them in plain Spark. */
  private def guarded(branch: WorkloadQuery): WorkloadQuery = branch.rows.fold(branch)(branch.guardedBy)

  /** The query with results of the types that its consumer puts out. */
  private def puttingOut(query: WorkloadQuery, output: Seq[Attribute]): Either[DeclineReason, WorkloadQuery] = {
    val computed = if (query.masks.isEmpty) query.functions.map(_.attribute) else query.masks.map(_.attribute)
    val own = AttributeSet(query.keys.map(_.attribute) ++ computed)
    val typed = query.results.zip(output).map { case (r, o) => ofType(r, o) }
    if (query.results.size != output.size || (query.results ++ query.having).exists(!_.references.subsetOf(own)))
      Left(UnsupportedShape("a result that is neither grouped nor aggregated"))
    else if (typed.exists(_.isEmpty)) Left(UnsupportedShape("branches of a union that differ in type"))
    else Right(query.copy(results = typed.flatten))
  }

  /** The result as the column's type; types may differ inside in what may be NULL, which costs nothing to widen. */
  private def ofType(result: Expression, column: Attribute): Option[Expression] =
    if (result.dataType == column.dataType) Some(result)
    else Option.when(DataTypeUtils.sameType(result.dataType, column.dataType))(Cast(result, column.dataType))

  /** Each object once. */
  private def each(es: Seq[Expression]): Seq[Expression] = {
    val seen = java.util.Collections.newSetFromMap(new java.util.IdentityHashMap[Expression, java.lang.Boolean])
    es.filter(seen.add)
  }

  /** Two conditions that both have to hold. */
  private[detect] def both(a: Option[Expression], b: Option[Expression]): Option[Expression] =
    (a ++ b).reduceOption(And(_, _))
}
