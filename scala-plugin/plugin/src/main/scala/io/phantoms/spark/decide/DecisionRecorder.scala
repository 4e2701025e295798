package io.phantoms.spark.decide

import scala.collection.mutable

import io.phantoms.spark.detect.Workload

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * A decision, and what it is about.
 *
 * @param operators where in the plan
 * @param workload what would have been shared, or is; None if it did not come to one
 */
final case class Finding(decision: Decision, operators: Seq[LogicalPlan], workload: Option[Workload] = None)

/** What was decided of one plan, a query's or a subquery's, as it was before. */
final case class Visited(plan: LogicalPlan, findings: Seq[Finding])

/** Collects the decisions of the plans that the calling thread optimises meanwhile. Off, it costs a look-up. */
object DecisionRecorder {
  private val collecting = new ThreadLocal[mutable.Buffer[Visited]]

  def isOn: Boolean = collecting.get != null

  def record(visit: Visited): Unit = Option(collecting.get).foreach(_ += visit)

  /** Runs `body` and returns what was decided in it. Calls may be nested: the inner one keeps its own. */
  def during(body: => Unit): Seq[Decision] = visits(body).flatMap(_.findings).map(_.decision)

  /** The same by plan. */
  def visits(body: => Unit): Seq[Visited] = {
    val outer = collecting.get
    val mine = mutable.ArrayBuffer.empty[Visited]
    collecting.set(mine)
    try body
    finally if (outer == null) collecting.remove() else collecting.set(outer)
    mine.toSeq
  }
}
