package io.phantoms.spark.detect

import io.phantoms.spark.functions.{ExpressionCost, FilterOrder, ObjectAggregate, WindowShape}

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeMap,
  EqualNullSafe,
  Expression,
  Literal
}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}

/** A grouping expression over [[WorkloadQuery.source]] and the attribute by which [[WorkloadQuery.results]] refer to its value. */
final case class KeySlot(attribute: Attribute, expression: Expression)

/** An aggregate function over [[WorkloadQuery.source]] and the attribute by which [[WorkloadQuery.results]] refer to its result. */
final case class FunctionSlot(attribute: Attribute, function: AggregateFunction, filter: Option[Expression]) {

  /** Everything evaluated on a row. */
  def inputs: Seq[Expression] = function +: filter.toSeq

  /** Whether what it reads may fail, or its filter; adding up apart. */
  def canFail: Boolean = inputs.exists(ExpressionCost.canFailOnInput)

  /** Of rows only that satisfy a condition, too. */
  def under(condition: Expression): FunctionSlot = behind(condition).filteredBy(condition)

  /** Where rows that do not satisfy a condition are nobody's: what may fail is evaluated of the others only. */
  def guardedBy(condition: Expression): FunctionSlot =
    if (filter.exists(ExpressionCost.canFail) || ObjectAggregate.mayRefuse(function)) under(condition)
    else behind(condition)

  /** What it reads is computed for every row where Spark does so for its like, whatever its filter: it has to be safe. */
  private def behind(condition: Expression): FunctionSlot =
    copy(function = function.mapChildren(Predicates.behind(condition, _)).asInstanceOf[AggregateFunction])

  /** Behind NULL a conjunction goes on. */
  private def filteredBy(condition: Expression): FunctionSlot = {
    val holds = if (condition.nullable && filter.exists(ExpressionCost.canFail))
      EqualNullSafe(condition, Literal.TrueLiteral)
    else condition
    copy(filter = WorkloadBuilder.both(Some(holds), filter))
  }
}

/**
 * Sliding windows `[start + k slide, start + k slide + range)` that a query asks about, in microseconds.
 *
 * @param key the attribute of the key that stands for them: what rows are grouped by is where their slice begins, and what
 *   results refer to is where a window begins
 */
final case class WindowSlot(key: Attribute, range: Long, slide: Long, start: Long) {
  def shape: WindowShape = WindowShape(range, slide, start)
}

/**
 * The predicate of a query as a bit of the signature of several.
 *
 * @param signature the attribute of the key that holds the word with the bit
 */
final case class FragmentSlot(signature: Attribute, bit: Int)

/**
 * The result of a function over a part of a group.
 *
 * @param attribute by which [[WorkloadQuery.results]] refer to it
 * @param function the attribute of the function
 * @param bit of the fragments that it is over; None: all of the group
 */
final case class MaskSlot(attribute: Attribute, function: Attribute, bit: Option[FragmentSlot])

/**
 * One groupBy in a normal form: what [[AggregateNormalizer]] makes of a plain Aggregate and of each grouping set. It is
 * found over an input of its own; in a [[Workload]] it is over the one that all queries share.
 *
 * @param source its input, below every Project that could be inlined
 * @param results its output columns, over the attributes of `keys` and `functions` only
 * @param having rows of the result that stay, over the same attributes
 * @param rowOnEmptyInput a global aggregate: one row even from no input
 * @param fromGroupingSets whether an Expand stood between the Aggregate and its source
 * @param rows rows of `source` that are aggregated, by a condition on the keys; groups of other rows are no result
 * @param everyRow columns of `source` that plain Spark computes for every row, whether or not anything reads them, and
 *   whose computation may fail
 * @param window windows that it is asked about; None: all rows at once
 * @param predicate the key that says of a group whether its rows are wanted; None: all are
 * @param fragment the bit of a key that says so
 * @param masks not empty: each function is wanted of parts of a group, and these, not the functions, are what `results` refer
 *   to; they are put together from the group's fragments
 * @param asked the functions as plain Spark computes them, where `masks` take their place
 * @param plainTimes how many groupings of plain Spark it stands for; 0: one that another query stands for
 * @param reads whether plain Spark reads the input for it, and not only for another query of the same Aggregate
 */
final case class WorkloadQuery(
    source: LogicalPlan,
    keys: Seq[KeySlot],
    functions: Seq[FunctionSlot],
    results: Seq[Expression],
    having: Option[Expression],
    rowOnEmptyInput: Boolean,
    fromGroupingSets: Boolean,
    rows: Option[Expression] = None,
    everyRow: Seq[Attribute] = Nil,
    window: Option[WindowSlot] = None,
    predicate: Option[Attribute] = None,
    fragment: Option[FragmentSlot] = None,
    masks: Seq[MaskSlot] = Nil,
    asked: Seq[FunctionSlot] = Nil,
    plainTimes: Int = 1,
    reads: Boolean = true
) {

  /** Everything evaluated on a row of [[source]]. */
  def inputs: Seq[Expression] = keys.map(_.expression) ++ functions.flatMap(_.inputs)

  /** The same groupBy over another source, after rewriting what it evaluates on the source's rows. */
  def onSource(newSource: LogicalPlan, rewrite: Expression => Expression): WorkloadQuery = copy(
    source = newSource,
    keys = keys.map(k => k.copy(expression = rewrite(k.expression))),
    functions = functions.map(f =>
      f.copy(function = rewrite(f.function).asInstanceOf[AggregateFunction], filter = f.filter.map(rewrite))
    ),
    rows = rows.map(rewrite),
    everyRow = everyRow.map(rewrite).collect { case a: Attribute => a }
  )

  /** With a condition before what its functions read, where that may fail: a filter below kept it from other rows. */
  def guardedBy(condition: Expression): WorkloadQuery =
    copy(functions = functions.map(_.guardedBy(condition)))

  /**
   * Under a filter that stands above the groupBy: where results may fail, those are computed only of groups that it lets
   * through, as in Spark's compiled code.
   *
   * @param output what the groupBy puts out, which the filter reads
   */
  def keptBy(filter: Option[Expression], output: Seq[Attribute]): WorkloadQuery = filter match {
    case Some(c) if results.exists(ExpressionCost.canFail) && isCompiled && Predicates.isRepeatable(c) =>
      val kept = Inlining.substitute(FilterOrder.asExpression(c), AttributeMap(output.zip(results)))
      copy(having = WorkloadBuilder.both(having, Some(kept)))
    case _ => this
  }

  /** Whether Spark compiles it. */
  def isCompiled: Boolean =
    FilterOrder.isCompiled(functions.map(_.function), keys.map(_.expression), functions.flatMap(_.filter))

  /**
   * Reads through Projects on top of the source that only choose and rename. One that computes stays: what it computes is
   * computed once a row, and for every row, whatever reads it under whichever condition.
   */
  def inlineRenames: WorkloadQuery = source match {
    case p: Project if p.projectList.forall(Inlining.isRename) =>
      onSource(p.child, Inlining.substitute(_, Inlining.columns(p))).inlineRenames
    case _ => this
  }
}
