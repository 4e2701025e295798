package io.phantoms.spark.stats

import scala.collection.immutable.BitSet
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.{SparkSession => AnySession}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, XxHash64}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.classic.SparkSession

import io.phantoms.spark.conf.{ObservingOptions, SamplingOptions}
import io.phantoms.spark.functions.{FieldType, RecordWidth, SignatureWord, WordsAggregate}
import io.phantoms.spark.model.{KeyAttribute, Machine, Problem}
import io.phantoms.spark.shims.Cancelled
import io.phantoms.spark.stats.bounds.{InputSize, PlanBounds}
import io.phantoms.spark.stats.input.{Estimate, InputIdentity, LinearInput, StatisticSource}
import io.phantoms.spark.stats.observed.ObservedInput
import io.phantoms.spark.stats.sampled.{InputSample, Sampler}
import io.phantoms.spark.stats.supplied.{SuppliedLookup, SuppliedMatch, SuppliedStatistics}

/**
 * The problem of an input's groupings for the chooser, with the statistics known of its input.
 *
 * Sources by priority: supplied by the user, observed by earlier executions, catalog (ANALYZE) and file footers,
 * observed in another state of the input and scaled, a bounded sample, rules of thumb. The only side effect is the sample,
 * which is cached per input snapshot.
 */
object StatisticsProvider extends Logging {

  /**
   * @param session the session that plans (the classic one)
   * @param memory bytes for the LFTA tables of one map task
   * @param sampling whether and how much of the input may be read
   * @param observing whether what executions found out is used
   * @param machine constants of the cost model; parallelism and partitions are the session's and the input's
   */
  def problem(
      session: AnySession,
      asked: GroupedInput,
      memory: Long,
      sampling: SamplingOptions,
      observing: ObservingOptions = ObservingOptions.Off,
      machine: Machine = Machine()
  ): Problem = {
    val known = KnownStatistics.of(session.sparkContext)
    problem(session, asked, memory, sampling, observing, known, machine)
  }

  private[spark] def problem(
      anySession: AnySession,
      asked: GroupedInput,
      memory: Long,
      sampling: SamplingOptions,
      observing: ObservingOptions,
      known: KnownStatistics,
      machine: Machine
  ): Problem = {
    val session = anySession.asInstanceOf[SparkSession]
    val attributes = attributesOf(asked.keys).zip(asked.kinds).map { case (a, kind) => a.copy(kind = kind) }
    val queries = asked.queries.map(_.keys)
    val bounds = quietly(Option.empty[PlanBounds])(Some(PlanBounds.of(session, asked.base)))
    val found = LinearInput.of(asked.base) match {
      case Some(input) =>
        ofInput(
          session,
          input,
          asked.keys,
          queries,
          sampling,
          observing,
          known,
          bounds,
          asked.predicates,
          asked.beside,
          asked.parts
        )
      case None => other(session, asked, queries, bounds)
    }
    Problem(
      attributes,
      asked.queries,
      bufferBits(asked.keys, asked.functions) - 64 * WordsAggregate.sum(asked.functions),
      found.statistics,
      machine.copy(parallelism = math.max(1, session.sparkContext.defaultParallelism), partitions = found.partitions),
      memory,
      math.max(1, session.sessionState.conf.numShufflePartitions),
      sketches = RecordWidth.sketches(asked.functions)
    )
  }

  /** Where the numbers of a problem come from, one line each: rows, then groups and flow length of every query. */
  def describe(problem: Problem): Seq[String] =
    describe(problem, _.iterator.map(problem.attributes(_).name).mkString("(", ", ", ")"))

  /** The same with groupings as `names` writes them. */
  def describe(problem: Problem, names: BitSet => String): Seq[String] = problem.statistics match {
    case s: EstimatedStatistics =>
      f"rows ${s.rowCount.value}%.0f (${s.rowCount.source.name}%s)" +: problem.groupings.distinct.map { q =>
        val (g, l) = (s.groupsOf(q), s.flowOf(q))
        f"groups ${names(q)}%s ${g.value}%.0f (${g.source.name}%s), flow length ${l.value}%.1f (${l.source.name}%s)"
      } ++: s.notes
    case s => Seq(f"rows ${s.rows}%.0f")
  }

  /** What an execution of a choice for this problem has to know to keep what it finds out. */
  def observing(problem: Problem): Option[ObservedInput] = problem.statistics match {
    case s: EstimatedStatistics => s.observing
    case _ => None
  }

  /** What the chooser calls the keys: attribute names or SQL, made unique by a number. */
  private[spark] def attributesOf(keys: IndexedSeq[Expression]): IndexedSeq[KeyAttribute] = {
    val names = keys.map {
      case a: Attribute => a.name
      case e => toPrettySQL(e)
    }
    keys.indices.foldLeft(Vector.empty[KeyAttribute]) { (made, i) =>
      val taken = made.map(_.name).toSet ++ names.drop(i + 1)
      val name =
        if (!made.exists(_.name == names(i))) names(i)
        else Iterator.from(2).map(n => s"${names(i)}_$n").find(n => !taken.contains(n)).get
      made :+ KeyAttribute(name, FieldType.ofKey(keys(i).dataType).bits)
    }
  }

  /** Width of all aggregate buffers of one entry, of functions as they are run, see [[RecordWidth]]. */
  def bufferBits(keys: Seq[Expression], functions: Seq[AggregateFunction]): Int =
    RecordWidth.bufferBits(functions.flatMap(_.aggBufferAttributes), keys.count(_.nullable))

  /**
   * What is known of an input.
   *
   * @param partitions map tasks that read it
   * @param sample the sample it rests on, or why there is none
   */
  private[stats] final case class Found(
      statistics: EstimatedStatistics,
      partitions: Int,
      sample: Either[String, InputSample]
  )

  /**
   * @param workloadKeys over the output of the input; `queries` are ordinals into them
   * @param bounds what these keys can hold
   * @param predicates as in [[GroupedInput]]
   * @param beside likewise
   * @param parts likewise
   */
  private[spark] def ofInput(
      session: SparkSession,
      input: LinearInput,
      workloadKeys: IndexedSeq[Expression],
      queries: IndexedSeq[BitSet],
      sampling: SamplingOptions,
      observing: ObservingOptions,
      sources: KnownStatistics,
      bounds: Option[PlanBounds] = None,
      predicates: IndexedSeq[Int] = Vector.empty,
      beside: Seq[Expression] = Nil,
      parts: Seq[BitSet] = Nil
  ): Found = {
    val keys = workloadKeys.map(input.overLeaf)
    val names = keys.map(input.canonical)
    val others = beside.map(input.overLeaf)
    val supplied = quietly(Seq.empty[SuppliedMatch])(SuppliedLookup.find(session, sources.supplied, input))
    val every = queries.foldLeft(BitSet.empty)(_ | _)
    val exact = supplied.filter(_.exact)
    val observed = if (!observing.enabled) None
    else
      quietly(Option.empty[ObservedNumbers]) {
        observedInput(session, input, workloadKeys, observing.directory).map(ObservedNumbers(_, sources.observed))
      }
    val suppliedEnough = exact.exists(_.entry.rows.nonEmpty) && exact.exists(_.entry.flowLength.nonEmpty) &&
      queries.forall(q => q.isEmpty || suppliedGroups(exact, workloadKeys).contains(q))
    val sampled: Either[String, InputSample] =
      if (!sampling.enabled) Left("sampling is switched off")
      else if (suppliedEnough) Left("all statistics were supplied")
      // How many slices and fragments there are, and how many rows a predicate lets through, no execution says.
      else if (parts.isEmpty && observed.exists(_.sayAll(queries))) Left("all statistics were observed")
      else
        quietly[Either[String, InputSample]](Left("the input could not be identified")) {
          val wanted = names.toSet ++ others.map(input.canonical)
          sources.samples.getOrElse(InputIdentity.of(input), wanted, sampling.rows) {
            Sampler.sample(session, input, keys ++ others, sampling)
          }
        }
    val sample = sampled.toOption
    val rows = rowsOf(session, input, sample, supplied, observed)
    val asked = (every +: queries).filter(_.nonEmpty)
    val catalog = catalogGroups(input, keys, rows)
    val bound = boundOf(workloadKeys, bounds)
    val distinct = new DistinctCounts(workloadKeys, keys, names, rows.value, sample, asked.toSet, catalog, bound)
    val fromCatalog = distinct.catalogKnown(input.filters.isEmpty)
    val counted = observed.fold(Map.empty[BitSet, Estimate])(_.groups).filter { case (set, e) =>
      e.source == StatisticSource.Observed || !fromCatalog.contains(set)
    }
    val known = fromCatalog ++ counted ++ suppliedGroups(exact, workloadKeys).map {
      case (k, n) => k -> Estimate(n, StatisticSource.Supplied)
    }
    val caps = (observed.toSeq.flatMap(_.caps) ++ distinct.catalogCaps ++
      suppliedGroups(supplied.filterNot(_.exact), workloadKeys)).groupMapReduce(_._1)(_._2)(math.min)
    val flows = suppliedBy(supplied, workloadKeys, _.flowLength)
    def flow(k: BitSet): Estimate = flows.get(k).orElse(flows.get(BitSet.empty)) match {
      case Some(l) => Estimate(l, StatisticSource.Supplied)
      case None => observed.fold(distinct.flowLength(k))(_.flowLength(k, distinct.flowLength))
    }
    val notes = sampled.left.toOption.map(why => s"no sample: $why").toSeq ++
      supplied.filter(_.stale).map(m => s"statistics of ${m.entry.table} were supplied for an older snapshot") ++
      observed.flatMap(_.note)
    val statistics = new EstimatedStatistics(
      rows,
      known,
      caps,
      distinct.estimate,
      flow,
      asked,
      notes,
      observed.fold(IndexedSeq.empty[Double])(_.depthFlowLengths),
      observed.map(_.input),
      observed.fold(0L)(_.revision),
      bound,
      // Of rows that a filter rejects nothing is computed.
      sample.filter(!_.useRejected).fold(oneEach(predicates))(_.signatures(predicates.map(names))),
      sample.filter(!_.useRejected).fold(Map.empty[Int, IndexedSeq[Double]]) { s =>
        keys.indices.filter(keys(_).isInstanceOf[SignatureWord]).flatMap(k => s.bits(names(k)).map(k -> _)).toMap
      }
    )
    val partitions = quietly(session.sparkContext.defaultParallelism)(InputSize.partitions(session, input, sample))
    Found(statistics, partitions, sampled)
  }

  /** The input as observations are kept for it; `keys` over its output. */
  private[stats] def observedInput(
      session: SparkSession,
      input: LinearInput,
      keys: IndexedSeq[Expression],
      directory: String
  ): Option[ObservedInput] = {
    def leafRows = InputSize.leafRows(session, input, None).value
    ObservedInput.of(input, keys.map(input.overLeaf), attributesOf(keys).map(_.name), leafRows, directory)
  }

  private def rowsOf(
      session: SparkSession,
      input: LinearInput,
      sample: Option[InputSample],
      supplied: Seq[SuppliedMatch],
      observed: Option[ObservedNumbers]
  ): Estimate = {
    def measured = quietly(Estimate(InputSize.UnknownRows, StatisticSource.Default)) {
      val found = InputSize.rows(session, input, sample)
      if (found.source == StatisticSource.Catalog) found
      else observed.flatMap(_.rows).getOrElse(found)
    }
    val counted = observed.flatMap(_.rows).filter(_.source == StatisticSource.Observed)
    (supplied.find(_.entry.rows.nonEmpty), counted) match {
      case (Some(m), _) if m.exact => Estimate(math.max(1.0, m.entry.rows.get), StatisticSource.Supplied)
      case (_, Some(rows)) => rows.map(math.max(1.0, _))
      case (Some(m), _) =>
        // Said of the whole table: as many of them as pass this input's filters.
        val of = measured
        val all = quietly(of)(InputSize.leafRows(session, input, sample))
        of.map(n => math.max(1.0, m.entry.rows.get * math.min(1.0, n / math.max(1.0, all.value))))
      case _ => measured.map(math.max(1.0, _))
    }
  }

  /** Distinct counts of ANALYZE by key ordinal; none when its row count shows that the table has changed since. */
  private def catalogGroups(input: LinearInput, keys: IndexedSeq[Expression], rows: Estimate): Map[Int, Double] = {
    val of = input.uncached.getOrElse(input)
    InputSize.catalogStatistics(of.leaf) match {
      case Some(s) if !input.filters.isEmpty || s.rowCount.forall(n => math.abs(n.toDouble / rows.value - 1) < 0.2) =>
        keys.zipWithIndex.collect { case (a: Attribute, i) =>
          s.colStats.get(a.name).flatMap { c =>
            c.distinctCount.map(n => i -> math.max(1.0, n.toDouble + (if (c.nullCount.exists(_ > 0)) 1 else 0)))
          }
        }.flatten.toMap
      case _ => Map.empty
    }
  }

  private def suppliedGroups(matches: Seq[SuppliedMatch], keys: IndexedSeq[Expression]): Map[BitSet, Double] =
    suppliedBy(matches, keys, _.groups).filter(_._1.nonEmpty)

  /** Numbers by columns as numbers by key ordinals, of those columns that are keys. */
  private def suppliedBy(
      matches: Seq[SuppliedMatch],
      keys: IndexedSeq[Expression],
      of: SuppliedStatistics => Map[Set[String], Double]
  ): Map[BitSet, Double] = matches.reverse.flatMap { m =>
    val names = keys.map(k => m.input.canonical(m.input.overLeaf(k)))
    of(m.entry).toSeq.flatMap { case (columns, n) =>
      val ordinals = columns.toSeq.map(c => m.keys.get(c).map(names.indexOf).getOrElse(-1))
      if (ordinals.contains(-1)) None else Some(BitSet.fromSpecific(ordinals) -> math.max(1.0, n))
    }
  }.toMap

  /** A base that is no chain over one relation: its rows by what stands between it and its relations, rules of thumb for groups. */
  private def other(
      session: SparkSession,
      asked: GroupedInput,
      queries: IndexedSeq[BitSet],
      bounds: Option[PlanBounds]
  ): Found = {
    def leaves = asked.base.collectLeaves().flatMap(LinearInput.of)
    def largest = leaves.map(l => quietly(InputSize.UnknownRows)(InputSize.leafRows(session, l, None).value)).maxOption
    val n = bounds match {
      case Some(b) => Estimate(b.rows, if (b.reduced) StatisticSource.PlanBound else StatisticSource.Default)
      case None => Estimate(math.max(1.0, largest.getOrElse(InputSize.UnknownRows)), StatisticSource.Default)
    }
    val names = asked.keys.map(_.sql)
    val bound = boundOf(asked.keys, bounds)
    val distinct = new DistinctCounts(asked.keys, asked.keys, names, n.value, None, Set.empty, Map.empty, bound)
    val statistics = new EstimatedStatistics(
      n,
      Map.empty,
      Map.empty,
      distinct.estimate,
      distinct.flowLength,
      queries.filter(_.nonEmpty),
      Seq(s"no sample: $NotLinear"),
      bound = bound,
      signatures = oneEach(asked.predicates)
    )
    Found(statistics, math.max(1, session.sparkContext.defaultParallelism), Left(NotLinear))
  }

  /** Nothing is known of predicates: each row of their hull is taken to satisfy one, each of them as often. */
  private def oneEach(predicates: IndexedSeq[Int]): Seq[(BitSet, Long)] = predicates.indices.map(BitSet(_) -> 1L)

  /** The most groups of sets of these keys. */
  private def boundOf(keys: IndexedSeq[Expression], bounds: Option[PlanBounds]): BitSet => Option[Estimate] =
    set => bounds.flatMap(_.groups(set.toSeq.map(keys)))

  /** Whether samples and sketches can tell values of this expression apart. */
  private[spark] def isHashable(e: Expression): Boolean = new XxHash64(Seq(e)).checkInputDataTypes().isSuccess

  private[stats] val NotLinear = "the input is more than projections and filters over one relation"

  private def quietly[T](otherwise: => T)(body: => T): T =
    try body
    catch {
      case Cancelled(e) => throw e
      case NonFatal(e) =>
        logWarning(s"spark-phantoms: a statistic could not be read, a default is used: $e")
        otherwise
    }
}
