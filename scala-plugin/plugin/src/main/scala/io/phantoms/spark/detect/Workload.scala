package io.phantoms.spark.detect

import scala.collection.immutable.BitSet

import io.phantoms.spark.functions.{ExecutedFunction, ExpressionCost, RecordWidth, SignatureWord}
import io.phantoms.spark.model.{KeyKind, PeriodicWindow, Query}
import io.phantoms.spark.stats.GroupedInput

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, DeclarativeAggregate}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, Join, LogicalPlan}

/**
 * One aggregate function of a workload, shared by every query that asks for it.
 *
 * @param function over attributes of [[Workload.base]]
 * @param filter the FILTER clause over attributes of [[Workload.base]]
 */
final case class WorkloadAggregate(function: AggregateFunction, filter: Option[Expression]) {

  /** The function as it is run. */
  lazy val executed: ExecutedFunction = ExecutedFunction(function)

  /**
   * What tells calls apart: their canonical forms, and where those are equal but something may fail, the order in which it is
   * evaluated.
   */
  def identity: Any = (
    function.canonicalized,
    filter.map(_.canonicalized),
    (function.children ++ filter).filter(ExpressionCost.canFail).map(EvaluationOrder.ordered)
  )
}

/**
 * An operator of the plan that gets the results of some queries of a workload.
 *
 * @param output the attributes that it, or what replaces it, puts out; one for each of its queries' results
 * @param queries ordinals into [[Workload.queries]]
 * @param repeated whether plain Spark reads for it what it shuffled for another one before
 */
final case class Consumer(output: Seq[Attribute], queries: Seq[Int], repeated: Boolean = false)

/**
 * An input and all queries over it, wherever in the plan their results are wanted.
 *
 * @param base the shared input
 * @param queries over `base`, each in the order in which its consumer lists them; duplicates stay duplicates
 * @param consumers each query is of exactly one
 * @param oneScan whether plain Spark computes what stands below the aggregates once for all queries: grouping sets
 * @param rows rows of `base` that are aggregated at all; what `base` computes is computed for the others, too
 * @param alternatives the same with windows or predicates told apart, or conditional aggregates computed, in other ways
 */
final case class Workload(
    base: LogicalPlan,
    queries: IndexedSeq[WorkloadQuery],
    consumers: IndexedSeq[Consumer],
    oneScan: Boolean = true,
    rows: Option[Expression] = None,
    alternatives: Seq[Workload] = Nil
) {
  require(consumers.flatMap(_.queries).sorted == queries.indices, "each query is of one consumer")

  private lazy val numberedKeys =
    Workload.numbered(queries.map(_.keys.map(_.expression)))(e => (e.canonicalized, e.dataType))
  private lazy val numberedAggregates =
    Workload.numbered(
      queries.map(_.functions.map(f => WorkloadAggregate(f.function, f.filter))),
      isLate = (a: WorkloadAggregate) => !a.function.isInstanceOf[DeclarativeAggregate]
    )(_.identity)

  /** Distinct grouping expressions over [[base]], not yet normalised (NaN, -0.0). */
  def keys: IndexedSeq[Expression] = numberedKeys._1

  /** Distinct functions, in the order in which Spark evaluates their inputs: what is made of expressions first. */
  def aggregates: IndexedSeq[WorkloadAggregate] = numberedAggregates._1

  /** By query and by its key slots: ordinals into [[keys]]. */
  def keysOf(query: Int): Seq[Int] = numberedKeys._2(query)

  /** By query and by its function slots: ordinals into [[aggregates]]. */
  def aggregatesOf(query: Int): Seq[Int] = numberedAggregates._2(query)

  /** What the queries ask for, as the chooser sees it. */
  lazy val asked: IndexedSeq[Query] = queries.zipWithIndex.map { case (q, i) =>
    Query(
      BitSet.fromSpecific(keysOf(i)),
      q.window.map(w => PeriodicWindow.startingAt(w.range, w.slide, w.start)),
      predicateOf(i).map(predicates.indexOf(_)),
      fragmentOf(i),
      masksOf(i).flatMap(_._2).distinct.size,
      consumerOf(i),
      consumers(consumerOf(i)).repeated,
      RecordWidth.sketches(aggregatesOf(i).distinct.map(aggregates(_).function)),
      q.plainTimes
    )
  }

  private lazy val consumerOf: Map[Int, Int] =
    consumers.zipWithIndex.flatMap { case (c, i) => c.queries.map(_ -> i) }.toMap

  /** The key of a query that holds slices, if it asks about windows. */
  def sliceOf(query: Int): Option[Int] = queries(query).window.map(w => keyOf(query, w.key))

  /** The key of a query that says whether its predicate holds, if it has one. */
  def predicateOf(query: Int): Option[Int] = queries(query).predicate.map(keyOf(query, _))

  /** The key of a query that holds its signature, and the query's bit of it, if it has one. */
  def fragmentOf(query: Int): Option[(Int, Int)] =
    queries(query).fragment.map(f => (keyOf(query, f.signature), f.bit))

  /** Of each result that a query puts together from parts of a group: the function, and the key and bit of the parts. */
  def masksOf(query: Int): Seq[(Attribute, Option[(Int, Int)])] =
    queries(query).masks.map(m => (m.function, m.bit.map(b => (keyOf(query, b.signature), b.bit))))

  /** Keys that are predicates of queries. */
  lazy val predicates: IndexedSeq[Int] = queries.indices.flatMap(predicateOf).distinct

  private def keyOf(query: Int, slot: Attribute): Int =
    keysOf(query)(queries(query).keys.indexWhere(_.attribute.exprId == slot.exprId))

  /** What each key tells apart. */
  lazy val kinds: IndexedSeq[KeyKind] = {
    val slices = queries.indices.flatMap(sliceOf).toSet
    val signatures = predicates.toSet ++ keys.indices.filter(keys(_).isInstanceOf[SignatureWord])
    keys.indices.map { k =>
      if (slices(k)) KeyKind.Slice else if (signatures(k)) KeyKind.Signature else KeyKind.Grouping
    }
  }

  /** Columns that [[base]] computes for every row although no query may need them: their errors are raised. */
  def everyRow: Seq[Attribute] = queries.flatMap(_.everyRow).distinct

  /** Nanoseconds a row for what is computed of it, shared and by plain Spark: keys, inputs and filters, not the adding up. */
  def rowWork: (Double, Double) = {
    val known = new java.util.IdentityHashMap[Expression, Double]
    def nanos(e: Expression): Double =
      known.computeIfAbsent(e, _ => ExpressionCost.nanos(Inlining.throughProjects(base, e)))
    def cost(es: Seq[Expression]): Double = es.map(nanos).sum
    def inputs(a: WorkloadAggregate): Seq[Expression] = a.function.children ++ a.filter
    def distinct(es: Seq[Expression]): Seq[Expression] = es.distinctBy(_.canonicalized)
    // All words of a signature are of one evaluation; plain Spark evaluates each predicate for itself.
    val (words, own) = keys.partition(_.isInstanceOf[SignatureWord])
    val signatures = words.map(_.children.head).distinctBy(_.canonicalized)
    val asked = queries.flatMap(_.asked)
    val computed = queries.indices.filterNot(this.asked(_).repeated)
    val shared = cost(distinct(own ++ aggregates.flatMap(inputs))) + cost(signatures)
    val below = cost(distinct((own ++ aggregates.flatMap(inputs)).filter(_.isInstanceOf[Attribute])))
    val plain = computed.map { q =>
      val read = aggregatesOf(q).sorted.flatMap(a => inputs(aggregates(a)))
      if (oneScan) cost(distinct(read.filterNot(_.isInstanceOf[Attribute])))
      else cost(distinct(keysOf(q).sorted.map(keys).filterNot(_.isInstanceOf[SignatureWord]) ++ read))
    }.sum + signatures.flatMap(_.children).map(ExpressionCost.nanos).sum + asked.size * Workload.Adding
    val joined = Workload.joins(base) * Workload.Joining
    (shared + joined, if (oneScan) below + plain + joined else plain + joined * computed.count(queries(_).reads))
  }

  /** Shuffles that plain Spark makes: one for each groupBy that it computes by itself, and one more for what is DISTINCT. */
  def plainShuffles: Int = consumers.filterNot(_.repeated).map { c =>
    val (sets, others) = c.queries.map(queries).partition(_.fromGroupingSets || oneScan)
    sets.size.min(1) + others.count(_.reads) + (if (c.queries.forall(queries(_).reads)) 0 else 1)
  }.sum

  /** What statistics are kept and asked of. */
  def grouped: GroupedInput = GroupedInput(
    base,
    keys,
    asked,
    aggregates.map(_.executed.function),
    kinds,
    predicates,
    alternatives.filter(_.base.eq(base)).flatMap(_.keys)
  )

  /** How windows and predicates are told apart, for people. */
  def form: String = {
    val slices = queries.indices.flatMap(sliceOf).distinct
    def many(n: Int, one: String, several: String) = if (n == 0) None else Some(if (n == 1) one else several)
    val parts = many(slices.size, "slices in common", "slices of their own") ++
      many(predicates.size, "a key for the filter", "a key for each filter") ++
      Option.when(queries.exists(_.fragment.nonEmpty))("a signature of the filters") ++
      Option.when(queries.exists(_.masks.nonEmpty))("conditional aggregates from fragments")
    if (parts.isEmpty) "row by row" else parts.mkString(", ")
  }

  /** The same over the input as it is read, below the Projects on top of it. */
  def groupedAsRead: GroupedInput = {
    val below = Inlining.belowProjects(base)
    val here = grouped
    here.copy(
      base = rows.map(Inlining.throughProjects(base, _)).fold(below)(Filter(_, below)),
      keys = keys.map(Inlining.throughProjects(base, _)),
      beside = here.beside.map(Inlining.throughProjects(base, _))
    )
  }
}

object Workload {

  /** What plain Spark takes for one aggregate of hundreds of a group, nanoseconds a row, wanted or not. */
  private val Adding = 2.0

  /** What finding a row's partner in a join takes, nanoseconds. */
  private val Joining = 60.0

  /** Joins of a row's way to the aggregates: what a groupBy below reads, plain Spark shuffles once for all its copies, too. */
  private def joins(plan: LogicalPlan): Int = plan match {
    case _: Aggregate => 0
    case _: Join => 1 + plan.children.map(joins).sum
    case _ => plan.children.map(joins).sum
  }

  /** Distinct things in the order of their first appearance, late ones last, and for each query the ordinals of its own. */
  private def numbered[T](ofQueries: IndexedSeq[Seq[T]], isLate: T => Boolean = (_: T) => false)(
      identity: T => Any
  ): (IndexedSeq[T], IndexedSeq[Seq[Int]]) = {
    val (late, first) = ofQueries.flatten.distinctBy(identity).partition(isLate)
    val distinct = first ++ late
    val ordinals = distinct.map(identity).zipWithIndex.toMap
    (distinct, ofQueries.map(_.map(t => ordinals(identity(t)))))
  }
}
