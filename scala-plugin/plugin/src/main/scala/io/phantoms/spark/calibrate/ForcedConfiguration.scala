package io.phantoms.spark.calibrate

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Union}
import org.apache.spark.sql.catalyst.rules.Rule

import io.phantoms.spark.cost.SharedRun
import io.phantoms.spark.decide.Choosing
import io.phantoms.spark.detect.{Detector, Workload}
import io.phantoms.spark.model.{KeyAttribute, Machine, Problem, TableStatistics}
import io.phantoms.spark.rewrite.SharedAggregates
import io.phantoms.spark.stats.StatisticsProvider

/**
 * Rewrites the union of one calibration job under the job's own configuration, good or bad.
 *
 * Goes where Spark takes optimizer rules of users from, in a session of which the plugin's own rule is switched off.
 *
 * @param rows of the job's input
 */
private[calibrate] final class ForcedConfiguration(job: CalibrationJob, rows: Double, machine: Machine)
    extends Rule[LogicalPlan] {

  /** What the cost model expects, once a plan was rewritten. */
  @volatile var expected: Option[SharedRun.Expected] = None

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformDown {
    case u: Union =>
      Detector.detect(u) match {
        case Some(Right(candidate)) => candidate.assemble(candidate.workloads.map(share))
        case _ => u
      }
  }

  private def share(workload: Workload): Option[LogicalPlan] = {
    val letters = workload.keys.map {
      case a: Attribute => a.name.head
      case e => throw new IllegalStateException(s"$e is no column")
    }
    val known = (1 to letters.size).flatMap(letters.combinations(_)).map { set =>
      scala.collection.immutable.BitSet.fromSpecific(set.map(letters.indexOf(_))) -> CalibrationJob.groups(set, rows)
    }
    val problem = Problem(
      letters.map(l => KeyAttribute(l.toString, 32)),
      workload.asked,
      StatisticsProvider.bufferBits(workload.keys, workload.grouped.functions),
      TableStatistics(rows, known.toMap),
      machine,
      memory = 8L << 20,
      maxShards = CalibrationJob.Shards
    )
    val configuration = job.configuration(letters.zipWithIndex.toMap)
    expected = Some(SharedRun.expected(problem, configuration))
    SharedAggregates.build(
      workload,
      problem,
      configuration,
      Choosing.notation(problem, configuration)
    ).toOption.map(_.head)
  }
}
