package io.phantoms.spark.rewrite

import scala.collection.immutable.BitSet

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.types.{BinaryType, IntegerType}

import io.phantoms.spark.choose.{Configuration, Placement, Problem}
import io.phantoms.spark.detect.{DeclineReason, Workload, WorkloadQuery}
import io.phantoms.spark.execute._
import io.phantoms.spark.shims.SparkInternals

/**
 * Makes the plan of a workload under a configuration:
 *
 * {{{
 * Project(the operator's own attributes)
 *   SharedMerge(results of all queries)
 *     SharedExchange(keys and inputs of the aggregate functions)
 *       Project(the columns these read)
 *         base
 * }}}
 */
object SharedAggregates {

  /** @param notation the configuration for people */
  def build(
      workload: Workload,
      problem: Problem,
      configuration: Configuration,
      notation: String
  ): Either[DeclineReason, LogicalPlan] = {
    val keys = workload.keys.map(SparkInternals.normalizeFloatingPoint)
    val functions = FastDecimals(workload)
    val queries = workload.queries.map(q =>
      q.copy(
        results = q.results.map(functions.results),
        having = q.having.map(functions.results)
      )
    )
    val compiled = keys ++ queries.flatMap(q => q.results ++ q.having) ++
      functions.aggregates.flatMap(a => a.function +: a.filter.toSeq)
    compiled.flatMap(notCompiled).headOption match {
      case Some(e) => scala.Left(DeclineReason.UnsupportedShape(s"${e.prettyName} has no generated code"))
      case None => scala.Right(plan(workload, problem, configuration, notation, keys, functions.aggregates, queries))
    }
  }

  private def notCompiled(e: Expression): Option[Expression] = e.find {
    case _: CodegenFallback | _: PlanExpression[_] | _: Nondeterministic => true
    case _ => false
  }

  private def plan(
      workload: Workload,
      problem: Problem,
      configuration: Configuration,
      notation: String,
      keys: IndexedSeq[Expression],
      aggregates: IndexedSeq[AggregateSpec],
      queries: IndexedSeq[WorkloadQuery]
  ): LogicalPlan = {
    // The functions read attributes, not precomputed arguments: below a FILTER clause an argument must not be evaluated.
    val read = AttributeSet(aggregates.flatMap(a => a.function +: a.filter.toSeq)).toSeq
    val ordinals = AttributeMap(read.zipWithIndex.map { case (a, i) => a -> (keys.size + i) })
    def bind[E <: Expression](e: E): E = e.transform {
      case a: AttributeReference if ordinals.contains(a) => BoundReference(ordinals(a), a.dataType, a.nullable)
    }.asInstanceOf[E]
    val relations = relationSpecs(configuration, queries, problem)
    val spec = SharedSpec(
      keys.map(k => KeySpec(k.dataType, k.nullable)),
      aggregates.map(a => AggregateSpec(bind(a.function), a.filter.map(bind(_)))),
      relations,
      queries.zipWithIndex.map { case (q, i) =>
        QuerySpec(configuration.relations.indexWhere(_.queries.contains(i)), q.results, q.having, q.rowOnEmptyInput)
      },
      relations.flatMap(_.ship).flatMap(_.partitions).max + 1,
      notation
    )
    val inputs = keys ++ read
    val needed = AttributeSet(inputs)
    val base =
      if (AttributeSet(workload.base.output) == needed) workload.base
      else Project(workload.base.output.filter(needed.contains), workload.base)
    // The map side is told no result column: consumers that read different ones still share one exchange.
    val shipping = spec.copy(queries = spec.queries.map(_.copy(results = Nil, having = None)))
    val exchange = SharedExchange(
      inputs,
      shipping,
      Seq(
        AttributeReference("partition", IntegerType, nullable = false)(),
        AttributeReference("block", BinaryType, nullable = false)()
      ),
      base
    )
    val fresh = workload.output.map(a => AttributeReference(a.name, a.dataType, a.nullable, a.metadata)())
    val expectedRows = queries.map(q => BigDecimal(problem.statistics.groups(q.keys)).toBigInt).sum
    Project(
      fresh.zip(workload.output).map { case (f, a) => Alias(f, a.name)(a.exprId, a.qualifier, Some(a.metadata)) },
      SharedMerge(spec, expectedRows, fresh, exchange)
    )
  }

  private def relationSpecs(
      configuration: Configuration,
      queries: IndexedSeq[WorkloadQuery],
      problem: Problem
  ): IndexedSeq[RelationSpec] = {
    val partitions = PartitionLayout(configuration, problem)
    def aggregatesBelow(r: Int): BitSet = {
      val own = configuration.relations(r).queries.map(queries(_).aggregates)
      (own ++ configuration.children(r).map(aggregatesBelow)).foldLeft(BitSet.empty)(_ | _)
    }
    def shards(r: Int): Int =
      if (configuration.relations(r).isDerived) shards(configuration.relations(r).parent)
      else math.max(1, partitions(r).size)
    configuration.relations.zipWithIndex.map { case (r, i) =>
      val ship = r.placement match {
        case Placement.Shipped(shardKey, _) => Some(ShipSpec(shardKey.toSeq, partitions(i)))
        case _ => None
      }
      val groups = (problem.statistics.groups(r.keys) / shards(i)).toLong
      RelationSpec(r.keys.toSeq, aggregatesBelow(i).toSeq, r.parent, r.buckets, ship, r.isDerived, groups)
    }
  }
}
