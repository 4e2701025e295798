package io.phantoms.spark.rewrite

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, Union}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BinaryType, IntegerType}

import io.phantoms.spark.cost.CostModel
import io.phantoms.spark.decide.ReusableInput
import io.phantoms.spark.detect.{Consumer, DeclineReason, Workload}
import io.phantoms.spark.functions.{ComposedSlice, FilterOrder, RowValue, SignatureWord, StaysIf}
import io.phantoms.spark.model.{Configuration, Placement, Problem, Relation}
import io.phantoms.spark.physical.{SharedExchange, SharedMerge, TierExchange}
import io.phantoms.spark.search.Chooser
import io.phantoms.spark.shims.SparkInternals
import io.phantoms.spark.spec.{
  AggregateSpec,
  FragmentSpec,
  KeySpec,
  MaskedSpec,
  QuerySpec,
  RelationSpec,
  SharedSpec,
  WindowSpec
}
import io.phantoms.spark.stats.StatisticsProvider

/**
 * Makes the plans of a workload under a configuration, one for each of its consumers over one exchange, which Spark runs
 * once:
 *
 * {{{
 * Project(the consumer's own attributes)
 *   SharedMerge(results of its queries)
 *     SharedExchange(keys and inputs of the aggregate functions)
 *       Project(the columns these read)
 *         base
 * }}}
 *
 * Where it has relations of the second tier, the merges of both tiers meet in a union; the exchange that they share is
 * the same in both branches, so that Spark runs it once:
 *
 * {{{
 * Project(the consumer's own attributes)
 *   Union
 *     SharedMerge(results of the queries complete in the first tier)
 *       SharedExchange ...
 *     SharedMerge(results of the others)
 *       TierExchange
 *         SharedExchange ...
 * }}}
 */
object SharedAggregates {

  /**
   * @param notation the configuration for people
   * @return what computes the results of each consumer
   */
  def build(
      workload: Workload,
      problem: Problem,
      configuration: Configuration,
      notation: String
  ): Either[DeclineReason, IndexedSeq[LogicalPlan]] = {
    val normalized = workload.keys.map(SparkInternals.normalizeFloatingPoint)
    // What only an interpreter can normalise is a column of the input: Spark's projections interpret, too.
    val columns = normalized.collect { case k if k.exists(_.isInstanceOf[CodegenFallback]) => Alias(k, "key")() }
    val keys = normalized.map(k => columns.find(_.child eq k).map(_.toAttribute).getOrElse(k))
    val functions = new ExecutedAggregates(workload)
    val queries = workload.queries.zipWithIndex.map { case (q, i) =>
      QuerySpec(
        configuration.relations.indexWhere(_.queries.contains(i)),
        if (q.masks.isEmpty) q.results.map(functions.bound(i, _)) else Nil,
        q.having.map(functions.bound(i, _)),
        q.rowOnEmptyInput,
        overVariables = q.rowOnEmptyInput && FilterOrder.compilesStages &&
          (q.functions ++ q.asked).forall(_.function.isInstanceOf[DeclarativeAggregate]),
        window = q.window.map { w =>
          val slice = workload.sliceOf(i).get
          WindowSpec(slice, w.range, w.slide, w.start, workload.keys(slice).isInstanceOf[ComposedSlice])
        },
        fragment = workload.fragmentOf(i).map { case (key, bit) => FragmentSpec(key, bit) }
      )
    }.zipWithIndex.map { case (q, i) =>
      if (workload.queries(i).masks.isEmpty) q else masked(q, workload, i, functions)
    }
    val compiled = keys ++
      queries.flatMap(q => q +: q.masked.toSeq.flatMap(_.values)).flatMap(q => q.results ++ q.having) ++
      queries.flatMap(_.masked).flatMap(_.results) ++
      functions.aggregates.flatMap(a => a.function +: a.filter.toSeq)
    compiled.flatMap(notCompiled).headOption match {
      case Some(e) => scala.Left(DeclineReason.UnsupportedShape(s"${e.prettyName} has no generated code"))
      case None => scala.Right(
          plans(workload, problem, configuration, notation, columns, keys, functions.aggregates, queries)
        )
    }
  }

  /** A query whose results are put together from values of parts of its groups. */
  private def masked(
      query: QuerySpec,
      workload: Workload,
      ordinal: Int,
      functions: ExecutedAggregates
  ): QuerySpec = {
    val asked = workload.queries(ordinal)
    val keys = asked.keys.filterNot(_.expression.isInstanceOf[SignatureWord])
    val masks = workload.masksOf(ordinal)
    val valued = masks.map(_._1).distinctBy(_.exprId)
    val values = keys.map(_.attribute) +: valued.map(Seq(_))
    val slots = masks.map { case (function, bit) =>
      (1 + valued.indexWhere(_.exprId == function.exprId), bit.map { case (key, bit) => FragmentSpec(key, bit) })
    }
    val read = keys.map(_.attribute) ++ asked.masks.map(_.attribute)
    val ordinals = AttributeMap(read.zipWithIndex.map { case (a, i) => a -> BoundReference(i, a.dataType, a.nullable) })
    query.copy(masked =
      Some(
        MaskedSpec(
          values.map(of => query.copy(results = of.map(functions.bound(ordinal, _)))).toIndexedSeq,
          slots.toIndexedSeq,
          asked.results.map(_.transform { case a: Attribute => ordinals.getOrElse(a, a) })
        )
      )
    )
  }

  private def notCompiled(e: Expression): Option[Expression] = e.find {
    case _: CodegenFallback | _: PlanExpression[_] | _: Nondeterministic => true
    case _ => false
  }

  private def plans(
      workload: Workload,
      problem: Problem,
      configuration: Configuration,
      notation: String,
      columns: Seq[Alias],
      allKeys: IndexedSeq[Expression],
      allAggregates: IndexedSeq[AggregateSpec],
      queries: IndexedSeq[QuerySpec]
  ): IndexedSeq[LogicalPlan] = {
    val roots = configuration.relations.count(_.parent < 0)
    val CommonInputs(values, keys, aggregates) =
      CommonInputs(
        allKeys,
        allAggregates,
        queries.indices.map(q => (workload.keysOf(q), workload.aggregatesOf(q))),
        roots
      )
    // Beside what is common, functions read attributes, not precomputed arguments: below a FILTER clause an argument must
    // not be evaluated.
    val read: Seq[Expression] = aggregates.flatMap(a => a.function +: a.filter.toSeq)
      .flatMap(_.collect { case e @ (_: AttributeReference | _: RowValue) => e }).distinctBy(_.canonicalized)
    val ordinals = read.zipWithIndex.map { case (e, i) => e.canonicalized -> (keys.size + i) }.toMap
    def bind[E <: Expression](e: E): E = e.transform {
      case a @ (_: AttributeReference | _: RowValue) if ordinals.contains(a.canonicalized) =>
        BoundReference(ordinals(a.canonicalized), a.dataType, a.nullable)
    }.asInstanceOf[E]
    val stages = new StageRelations(configuration, workload, problem)
    val spec = SharedSpec(
      keys.zip(workload.kinds).map { case (k, kind) => KeySpec(k.dataType, k.nullable, kind) },
      aggregates.map(a => AggregateSpec(bind(a.function), a.filter.map(bind(_)))),
      stages.mapSide,
      queries,
      stages.partitions(stages.mapSide),
      notation,
      StatisticsProvider.observing(problem)
    )
    val inputs = keys ++ read ++ workload.everyRow.filterNot(a => (keys ++ read).exists(_.semanticEquals(a)))
    // Where the input computes something that may fail on a row that is not aggregated, it fails.
    val (late, early) = workload.rows.partition(_ => workload.everyRow.nonEmpty)
    val steps = late.toSeq.flatMap(FilterOrder.asked).map(StaysIf(_)) ++ values
    val filtered = early.foldLeft(workload.base)((plan, condition) => Filter(condition, plan))
    val rows = if (columns.isEmpty) filtered else Project(filtered.output ++ columns, filtered)
    val needed = AttributeSet(inputs ++ steps)
    val base =
      if (AttributeSet(rows.output) == needed) rows
      else Project(rows.output.filter(needed.contains), rows)
    // What ships is told no result column: consumers that read different ones still share one exchange.
    val shipping = spec.copy(queries = spec.queries.map(_.copy(results = Nil, having = None, masked = None)))
    val exchange = SharedExchange(inputs, steps, shipping, blocks(), base)
    val tier = Option.when(configuration.hasSecondTier) {
      val between = shipping.copy(relations = stages.tier, numPartitions = stages.partitions(stages.secondMerge))
      val announced = stages.announced(shipping.copy(relations = stages.secondMerge))
      TierExchange(between, announced, blocks(), exchange)
    }
    workload.consumers.zipWithIndex.map { case (consumer, i) =>
      def merge(part: Consumer, first: Boolean)(
          relations: IndexedSeq[RelationSpec],
          exchange: LogicalPlan
      ): Option[SharedMerge] = {
        // What several merge is counted once.
        val counting = if (first) spec else spec.copy(observed = None)
        val answered = part.queries.filter(q => stages.answers(relations, spec.queries(q).relation))
        Option.when(answered.nonEmpty) {
          val merged = counting.copy(relations = relations, queries = answered.map(spec.queries).toIndexedSeq)
          val expectedRows =
            answered.map { q =>
              val copies = math.max(1.0, problem.queries(q).copies)
              BigDecimal(problem.statistics.groups(problem.groupings(q)) * copies).toBigInt
            }.sum
          val fresh = consumer.output.map(a => AttributeReference(a.name, a.dataType, a.nullable, a.metadata)())
          SharedMerge(merged, expectedRows, fresh, exchange)
        }
      }
      val parts = apart(consumer, workload.base, queries, problem, configuration)
      val merges = parts.zipWithIndex.flatMap { case (part, p) =>
        merge(part, i == 0 && p == 0)(stages.firstMerge(part), exchange)
      } ++ tier.flatMap(merge(consumer, i == 0)(stages.secondMerge(consumer), _))
      val result = merges match {
        case Seq(one) => one
        case several => Union(several)
      }
      Project(
        result.output.zip(consumer.output).map { case (f, a) =>
          Alias(f, a.name)(a.exprId, a.qualifier, Some(a.metadata))
        },
        result
      )
    }
  }

  /**
   * A consumer, or parts of it that merge the one partition of a relation each for some of its queries, all over the
   * shuffle that Spark runs once.
   */
  private def apart(
      consumer: Consumer,
      base: LogicalPlan,
      specs: IndexedSeq[QuerySpec],
      problem: Problem,
      configuration: Configuration
  ): Seq[Consumer] = {
    lazy val estimate = Chooser.estimate(problem, configuration).relations
    val found = configuration.relations.zipWithIndex.collectFirst {
      case (Relation(_, queries, _, _, Placement.Shipped(_, 1)), r)
          if queries.size > 1 && configuration.children(r).isEmpty && queries.exists(specs(_).combines) =>
        val own = queries.filter(consumer.queries.contains)
        (own, new CostModel(problem).mergedApart(estimate(r).groups, estimate(r).evictions, own))
    }.filter(_._2 > 1 && ReusableInput(base, SQLConf.get))
    found match {
      case Some((queries, tasks)) =>
        val dealt = queries.zipWithIndex.groupMap(_._2 % tasks)(_._1)
        val others = (1 until tasks).map(t => consumer.copy(queries = dealt(t)))
        consumer.copy(queries = consumer.queries.filterNot(others.flatMap(_.queries).toSet)) +: others
      case None => Seq(consumer)
    }
  }

  private def blocks(): Seq[Attribute] = Seq(
    AttributeReference("partition", IntegerType, nullable = false)(),
    AttributeReference("block", BinaryType, nullable = false)()
  )
}
