package io.phantoms.spark.physical

import io.phantoms.spark.functions.SharedFunction
import io.phantoms.spark.run.LftaTask

import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.expressions.CollectionGenerator
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, HashAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins._

/**
 * Stages whose rows, taken as a multiset, are a function of the rows they read, whatever the order of these: a task of such
 * a stage that runs again over the same input has the same rows.
 *
 * Not so a limit, a sample, row numbers among ties, or a sum of floats. Operators not known here are not trusted.
 */
object OrderInsensitive {

  /**
   * Whether a map task that runs again may ship other blocks of the very same groups.
   *
   * @param plan what makes blocks, an [[LftaExec]] or a [[TierExec]] on top
   * @param unordered whether its input rows come in any order
   */
  def mayShipOtherBlocks(plan: SparkPlan, unordered: Boolean): Boolean = plan match {
    case l: LftaExec => (unordered || l.spec.tableBytes > LftaTask.FixedTables) && deterministic(l) && holds(l.child)
    case w: WholeStageCodegenExec => mayShipOtherBlocks(w.child, unordered)
    // It reads nothing but blocks; sums of floats, whose last digits may differ, are no keys.
    case _: TierExec => unordered
    case _ => false
  }

  /** Whether it holds for the stage that ends with `plan`. */
  def holds(plan: SparkPlan): Boolean = plan match {
    // Read from here on: Spark watches over what was written, and broadcasts are made once.
    case _: Exchange | _: ReusedExchangeExec | _: ShuffleQueryStageExec | _: BroadcastQueryStageExec => true
    // A part of a cached table that is lost is made again, by the end of the plan that made it.
    case s: TableCacheQueryStageExec => holds(s.plan)
    case s: InMemoryTableScanExec => holds(s.relation.cachedPlan)
    case a: AdaptiveSparkPlanExec => holds(a.executedPlan)
    case s: ResultQueryStageExec => holds(s.plan)
    case _: RangeExec | _: LocalTableScanExec => true
    case scan: FileSourceScanExec => failsOnLostFiles(scan)
    case _: WholeStageCodegenExec | _: InputAdapter | _: ColumnarToRowExec | _: AQEShuffleReadExec => below(plan)
    case _: ProjectExec | _: FilterExec | _: ExpandExec | _: SortExec | _: UnionExec | _: CoalesceExec =>
      deterministic(plan) && below(plan)
    case g: GenerateExec => g.generator.isInstanceOf[CollectionGenerator] && deterministic(g) && below(g)
    case _: SortMergeJoinExec | _: ShuffledHashJoinExec | _: BroadcastHashJoinExec |
        _: BroadcastNestedLoopJoinExec | _: CartesianProductExec => deterministic(plan) && below(plan)
    case a @ (_: HashAggregateExec | _: SortAggregateExec) => exact(a.asInstanceOf[BaseAggregateExec])
    case v: VerifiedExec => below(v)
    case m: SharedMergeExec => m.spec.aggregates.forall(a => isExact(a.function)) && below(m)
    case _ => false
  }

  private def exact(a: BaseAggregateExec): Boolean =
    a.groupingExpressions.forall(k => UnsafeRowUtils.isBinaryStable(k.dataType)) &&
      a.aggregateExpressions.forall(e => isExact(e.aggregateFunction)) && deterministic(a) && below(a)

  private def below(plan: SparkPlan): Boolean = plan.children.forall(holds)

  private def deterministic(plan: SparkPlan): Boolean = plan.expressions.forall(_.deterministic)

  private def failsOnLostFiles(scan: FileSourceScanExec): Boolean = {
    val options = new FileSourceOptions(scan.relation.options)
    !options.ignoreMissingFiles && !options.ignoreCorruptFiles
  }

  private def isExact(function: AggregateFunction): Boolean = SharedFunction.of(function).exists(_.isExact(function))
}
