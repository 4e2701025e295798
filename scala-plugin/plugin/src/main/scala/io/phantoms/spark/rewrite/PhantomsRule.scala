package io.phantoms.spark.rewrite

import java.util.{IdentityHashMap, WeakHashMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.phantoms.spark.conf.{PhantomsConf, PhantomsSettings, PlanningMemory}
import io.phantoms.spark.decide.{Admission, DecisionRecorder, Declined, Finding, Shared, Visit => Visited}
import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.detect.{
  Candidate,
  DeclineReason,
  Detector,
  LeftAlone,
  ScatteredAggregates,
  Shape,
  UnionDetector,
  Workload
}
import io.phantoms.spark.keep.Kept
import io.phantoms.spark.shims.{BuildInfo, Cancelled}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, IntegerLiteral}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LocalLimit, LogicalPlan, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule

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
        val settings = PhantomsConf.read(conf, message => warnOnce(message, message))
        PhantomsConf.unknown(conf).foreach { case (key, message) => warnOnce(key, message) }
        Admission.plan(plan, settings) match {
          case Some(reason) => leave(plan, reason)
          case None if !Admission.concerns(plan) => plan
          case None => guarded(plan, settings)
        }
    }

  /** A bug of ours is no reason for a query to fail. */
  private def guarded(plan: LogicalPlan, settings: PhantomsSettings): LogicalPlan = {
    val visit = new Visit(settings, plan.isInstanceOf[Subquery])
    def bug(e: Throwable): LogicalPlan = {
      logWarning(s"spark-phantoms left a plan alone because of a bug of its own, please report it: $e", e)
      leave(plan, InternalError(e.toString))
    }
    try {
      val result = visit.all(plan)
      DecisionRecorder.record(Visited(plan, if (visit.findings.isEmpty) lonely(plan) else visit.findings.toSeq))
      result
    } catch {
      case Cancelled(e) => throw e
      case NonFatal(e) if !settings.strict => bug(e)
      case e: LinkageError if !settings.strict => bug(e)
    }
  }

  private final class Visit(settings: PhantomsSettings, isSubquery: Boolean) {
    val findings: mutable.Buffer[Finding] = mutable.ArrayBuffer.empty

    // What has several consumers, by the operators themselves: equal ones may stand in other places.
    private val replaced = new IdentityHashMap[LogicalPlan, LogicalPlan]

    /** Aggregates wherever they stand first, then each operator on its own. */
    def all(operator: LogicalPlan): LogicalPlan = {
      if (settings.multiAggregate) ScatteredAggregates.detect(operator, Admission.mayTake(_, settings)).foreach {
        case Right(found) => share(found)
        case Left(LeftAlone(reason, aggregates)) =>
          findings += Finding(Declined(PhantomsRule.subject(operator), reason), aggregates)
      }
      plan(operator)
    }

    private def share(found: ScatteredAggregates): Unit = {
      // Those within another one that was shared are looked for again in what that reads.
      val gone = found.aggregates.exists(a => isWithinReplaced(a))
      if (!gone) shareWorkload(PhantomsRule.subject(found.aggregates), found.workload, found.aggregates).foreach {
        plans =>
          found.aggregates.indices.foreach { i =>
            val plan = found.finish(i)(plans(i))
            plan.copyTagsFrom(found.aggregates(i))
            replaced.put(found.aggregates(i), plan)
          }
      }
    }

    private def isWithinReplaced(a: LogicalPlan): Boolean =
      replaced.keySet.asScala.exists(r => r.exists(_ eq a))

    /** One walk from the root down, so that a union is tried before the aggregates in its branches. */
    private def plan(
        operator: LogicalPlan,
        limitAbove: Option[Int] = None,
        filterAbove: Option[Expression] = None
    ): LogicalPlan =
      if (!Admission.concerns(operator)) operator
      else if (replaced.containsKey(operator)) replaced.get(operator)
      else {
        val found = Shape.of(operator, limitAbove).flatMap(left(_, limitAbove)).map { shape =>
          Admission.operator(shape, settings).toLeft(()).flatMap(_ =>
            Detector.candidate(shape, limitAbove, filterAbove)
          ).flatMap(found => Option.when(isSubquery)(found).flatMap(Admission.subquery).toLeft(found))
        }
        found match {
          case Some(Right(candidate)) => share(candidate).getOrElse(children(operator))
          case Some(Left(reason)) =>
            findings += Finding(Declined(PhantomsRule.subject(operator), reason), Seq(operator))
            children(operator)
          case None => children(operator)
        }
      }

    /** A union without the branches that were shared with others before; nothing, if that leaves it one. */
    private def left(shape: Shape, limitAbove: Option[Int]): Option[Shape] = shape match {
      case Shape.UnionOf(union, aggregating) =>
        val others = aggregating.filterNot { i =>
          UnionDetector.aggregateOf(union.children(i), limitAbove).exists(replaced.containsKey)
        }
        Option.when(others.size == aggregating.size || others.size > 1)(Shape.UnionOf(union, others))
      case other => Some(other)
    }

    private def children(operator: LogicalPlan): LogicalPlan = {
      val limit = operator match {
        case LocalLimit(IntegerLiteral(n), _) => Some(n)
        case _ => None
      }
      val filter = operator match {
        case Filter(condition, _) => Some(condition)
        case _ => None
      }
      operator.mapChildren(plan(_, limit, filter))
    }

    private def share(candidate: Candidate): Option[LogicalPlan] = {
      val subject = PhantomsRule.subject(candidate.operator)
      val replaced = candidate.workloads.zip(candidate.parts).map { case (workload, parts) =>
        shareWorkload(subject, workload, parts).map(_.head)
      }
      findings ++= candidate.leftOut.map(l => Finding(Declined(s"a part of $subject", l.reason), l.operators))
      Option.when(replaced.exists(_.isDefined)) {
        val result = candidate.assemble(replaced, plan(_))
        result.copyTagsFrom(candidate.operator)
        result
      }
    }

    /** A plan for each consumer; the workload is what these operators compute. */
    private def shareWorkload(
        subject: String,
        workload: Workload,
        operators: Seq[LogicalPlan]
    ): Option[IndexedSeq[LogicalPlan]] =
      sharing.decide(session, subject, workload, settings) match {
        case shared: Shared =>
          // Statistics describe the input as the user wrote it; only now may it be rewritten itself.
          val input = all(shared.workload.base)
          val rewritten = shared.workload.copy(base = input)
          sharing.build(rewritten, shared.problem, shared.configuration, shared.notation) match {
            case Right(built) =>
              findings += Finding(shared, operators, Some(workload))
              Some(built)
            case Left(reason) =>
              findings += Finding(Declined(subject, reason), operators, Some(workload))
              None
          }
        case declined: Declined =>
          findings += Finding(declined, operators, Some(workload))
          None
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
