package io.phantoms.spark.rewrite

import java.util.WeakHashMap

import scala.util.control.NonFatal

import io.phantoms.spark.conf.{PhantomsConf, PhantomsSettings, PlanningMemory}
import io.phantoms.spark.decide.{Admission, DecisionRecorder, Declined, Finding, Visited}
import io.phantoms.spark.detect.{DeclineReason, ScatteredAggregates}
import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.keep.Kept
import io.phantoms.spark.shims.{BuildInfo, Cancelled}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/**
 * Computes groupBys that read one input through shared relations.
 *
 * Before:
 * {{{
 *   Union
 *   :- Aggregate [srcip], [srcip, count(1)]
 *   :  +- Relation flows
 *   +- Aggregate [srcip, dstip], [dstip, sum(octets)]
 *      +- Relation flows
 * }}}
 * After:
 * {{{
 *   Project
 *   +- SharedMerge  AB(A)
 *      +- SharedExchange
 *         +- Project [srcip, dstip, octets]
 *            +- Relation flows
 * }}}
 *
 * Likewise for an Aggregate over the Expand of GROUPING SETS, CUBE and ROLLUP, and for Aggregates in several places of the
 * plan, each of which gets a SharedMerge of its own over the one SharedExchange.
 *
 * Conditions, in this order: the first rungs of [[Admission]]; [[ScatteredAggregates]] or [[Detector]] finds at least two
 * groupBys over one input; its last ones. Each that fails leaves the plan as it was (the same instance) and records why.
 *
 * Position: `injectPreCBORule`, once per query and once per subquery: expressions are pushed down and pruned, common
 * table expressions inlined; DISTINCT, decimals and source push-down are still to come.
 *
 * @param session passed on to the statistics; confs are read from the plan's own
 * @param running the Spark release that runs
 */
final class PhantomsRule(
    session: SparkSession,
    sharing: Sharing,
    build: BuildInfo = BuildInfo.current,
    running: String = BuildInfo.runningSpark
) extends Rule[LogicalPlan] {

  private val warned = PhantomsRule.warnedIn(session)

  override def apply(plan: LogicalPlan): LogicalPlan =
    Admission.spark(build, running) match {
      case Some(reason) =>
        warnOnce("version", s"spark-phantoms is off: ${reason.message}. Use the jar for this Spark.")
        leave(plan, reason)
      case None =>
        val settings = PhantomsConf.read(conf, warnOnce(_))
        PhantomsConf.unknown(conf).foreach { case (key, message) => warnOnce(key, message) }
        Admission.plan(plan, settings) match {
          case Some(reason) =>
            if (plan.isStreaming) Verifying.ignored(settings).foreach(warnOnce(_))
            leave(plan, reason)
          case None if !Admission.concerns(plan) || plan.getTagValue(PhantomsRule.VisitedTag).isDefined => plan
          case None => guarded(plan, settings)
        }
    }

  /** A bug of ours is no reason for a query to fail. */
  private def guarded(plan: LogicalPlan, settings: PhantomsSettings): LogicalPlan = {
    val visit = new Visit(session, sharing, settings, plan.isInstanceOf[Subquery], warnOnce(_))
    def bug(e: Throwable): LogicalPlan = {
      logWarning(s"spark-phantoms left a plan alone because of a bug of its own, please report it: $e", e)
      leave(plan, InternalError(e.toString))
    }
    try {
      val visited = visit.query(plan)
      val result = if (visited eq plan) plan else BranchColumns.kept(visited)
      DecisionRecorder.record(Visited(plan, if (visit.findings.isEmpty) lonely(plan) else visit.findings.toSeq))
      // What was left alone is another query's plan as well.
      if (result ne plan) result.setTagValue(PhantomsRule.VisitedTag, ())
      result
    } catch {
      case Cancelled(e) => throw e
      case NonFatal(e) if !settings.strict => bug(e)
      case e @ (_: LinkageError | _: StackOverflowError) if !settings.strict => bug(e)
    }
  }

  private def leave(plan: LogicalPlan, reason: DeclineReason): LogicalPlan = {
    if (DecisionRecorder.isOn) DecisionRecorder.record(
      Visited(plan, Seq(Finding(Declined(PhantomsRule.subject(plan), reason), Seq(plan))))
    )
    plan
  }

  /** Why a plan with groupBys has none to share. */
  private def lonely(plan: LogicalPlan): Seq[Finding] =
    if (!DecisionRecorder.isOn) Nil
    else plan.collect { case a: Aggregate => a } match {
      case Seq() => Nil
      case Seq(one) => Seq(Finding(Declined(PhantomsRule.subject(one), SingleAggregate), Seq(one)))
      case several =>
        val refused = several.flatMap(a => ScatteredAggregates.refused(a).map(r => a -> r))
        val others = several.filterNot(a => refused.exists(_._1 eq a))
        refused.map { case (a, reason) => Finding(Declined(PhantomsRule.subject(a), reason), Seq(a)) } ++
          // One that could be shared with those that cannot has no other input.
          Option.when(others.size > 1)(Finding(Declined(PhantomsRule.subject(plan), DifferentInputs), others))
    }

  private def warnOnce(message: String): Unit = warnOnce(message, message)

  private def warnOnce(key: String, message: String): Unit = {
    val isNew = warned.synchronized {
      val isNew = warned.get(key).isEmpty
      if (isNew) warned.put(key, ())
      isNew
    }
    if (isNew) logWarning(message)
  }
}

object PhantomsRule {

  /** What a rule that runs once has made: where tests run it once more, nothing may change. */
  private val VisitedTag = TreeNodeTag[Unit]("io.phantoms.visited")

  private val MaxSubject = 120
  private val MostNamed = 3

  // Spark makes a session's rules anew for each plan; what a session was warned of has to outlive them.
  private val warnings = new WeakHashMap[SparkSession, Kept[String, Unit]]

  /** Bytes of what a session was warned of: values that are wrong may be different ones each time. */
  private[spark] val WarnedBytes = 64L << 10

  private def none = new Kept[String, Unit](WarnedBytes, (key, _) => PlanningMemory.weigh(key))

  private[spark] def warnedIn(session: SparkSession): Kept[String, Unit] =
    if (session == null) none else warnings.synchronized(warnings.computeIfAbsent(session, _ => none))

  /** One line naming operators in several places of a plan. */
  def subject(operators: Seq[LogicalPlan]): String = {
    val shown = operators.take(MostNamed).map(subject)
    val more = if (operators.size > shown.size) Seq(s"${operators.size - shown.size} more") else Nil
    (shown ++ more).mkString(", ")
  }

  /** One line naming an operator, without the ids that change from plan to plan. */
  def subject(operator: LogicalPlan): String = {
    val columns = operator.output.map(_.name).mkString(", ")
    val shown = if (columns.length > MaxSubject) columns.take(MaxSubject) + "..." else columns
    s"${operator.nodeName} [$shown]"
  }
}
