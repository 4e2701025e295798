package io.phantoms.spark.rewrite

import java.util.{IdentityHashMap, WeakHashMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.phantoms.spark.conf.{PhantomsConf, PhantomsSettings, PlanningMemory}
import io.phantoms.spark.decide.{Admission, Decision, DecisionRecorder, Declined, Shared}
import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.detect.{
  Candidate,
  DeclineReason,
  Detector,
  ScatteredAggregates,
  Shape,
  UnionDetector,
  Workload
}
import io.phantoms.spark.keep.Kept
import io.phantoms.spark.physical.Verified
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
          case Some(reason) =>
            if (plan.isStreaming) Verifying.ignored(settings).foreach(text => warnOnce(text, text))
            leave(plan, reason)
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
      DecisionRecorder.record(visit.decisions ++ (if (visit.decisions.isEmpty) lonely(plan) else None))
      result
    } catch {
      case Cancelled(e) => throw e
      case NonFatal(e) if !settings.strict => bug(e)
      case e: LinkageError if !settings.strict => bug(e)
    }
  }

  private final class Visit(settings: PhantomsSettings, isSubquery: Boolean) {
    val decisions: mutable.Buffer[Decision] = mutable.ArrayBuffer.empty

    // What has several consumers, by the operators themselves: equal ones may stand in other places.
    private val replaced = new IdentityHashMap[LogicalPlan, Replacement]
    private val verifying = new Verifying(session, settings, text => warnOnce(text, text))

    /** Aggregates wherever they stand first, then each operator on its own. */
    def all(operator: LogicalPlan): LogicalPlan = {
      if (settings.multiAggregate) ScatteredAggregates.detect(operator, Admission.mayTake(_, settings)).foreach {
        case Right(found) => share(found)
        case Left(reason) => decisions += Declined(PhantomsRule.subject(operator), reason)
      }
      plan(operator)
    }

    private def share(found: ScatteredAggregates): Unit = {
      // Those within another one that was shared are looked for again in what that reads.
      val gone = found.aggregates.exists(a => isWithinReplaced(a))
      if (!gone) shareWorkload(PhantomsRule.subject(found.aggregates), found.workload, found.aggregates).foreach { by =>
        found.aggregates.indices.foreach { i =>
          val plan = found.finish(i)(by.plans(i))
          plan.copyTagsFrom(found.aggregates(i))
          replaced.put(found.aggregates(i), by.copy(plans = IndexedSeq(plan)))
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
      // What is verified was found before, in a subquery or when this plan was optimised: plain Spark's part is to stay.
      if (!Admission.concerns(operator) || operator.isInstanceOf[Verified]) operator
      else if (replaced.containsKey(operator)) {
        val by = replaced.get(operator)
        verifying(operator, by.plans.head, filterAbove, by.notation)
      } else {
        val found = Shape.of(operator, limitAbove).flatMap(left(_, limitAbove)).map { shape =>
          Admission.operator(shape, settings).toLeft(()).flatMap(_ =>
            Detector.candidate(shape, limitAbove, filterAbove)
          ).flatMap(found => Option.when(isSubquery)(found).flatMap(Admission.subquery).toLeft(found))
        }
        found match {
          case Some(Right(candidate)) => share(candidate, filterAbove).getOrElse(children(operator))
          case Some(Left(reason)) =>
            decisions += Declined(PhantomsRule.subject(operator), reason)
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

    private def share(candidate: Candidate, filterAbove: Option[Expression]): Option[LogicalPlan] = {
      val operator = candidate.operator
      val subject = PhantomsRule.subject(operator)
      val by = candidate.workloads.map(shareWorkload(subject, _, Seq(operator)))
      decisions ++= candidate.leftOut.map(Declined(s"a part of $subject", _))
      Option.when(by.exists(_.isDefined)) {
        val result = candidate.assemble(by.map(_.map(_.plans.head)), other => verifying.within(plan(other)))
        result.copyTagsFrom(operator)
        verifying(operator, result, filterAbove, by.flatten.map(_.notation).mkString(" + "))
      }
    }

    /**
     * A plan for each consumer.
     *
     * @param operators what they stand for
     */
    private def shareWorkload(
        subject: String,
        workload: Workload,
        operators: Seq[LogicalPlan]
    ): Option[Replacement] =
      sharing.decide(session, subject, workload, settings) match {
        case shared: Shared =>
          // Statistics describe the input as the user wrote it; only now may it be rewritten itself.
          val input = verifying.within(all(shared.workload.base))
          val rewritten = shared.workload.copy(base = input)
          sharing.build(rewritten, shared.problem, shared.configuration, shared.notation) match {
            case Right(built) =>
              decisions += shared.copy(verifiable = verifying.note(operators))
              Some(Replacement(built, shared.notation))
            case Left(reason) =>
              decisions += Declined(subject, reason)
              None
          }
        case declined: Declined =>
          decisions += declined
          None
      }
  }

  private def leave(plan: LogicalPlan, reason: DeclineReason): LogicalPlan = {
    if (DecisionRecorder.isOn) DecisionRecorder.record(Seq(Declined(PhantomsRule.subject(plan), reason)))
    plan
  }

  /** Why a plan with groupBys has none to share. */
  private def lonely(plan: LogicalPlan): Option[Decision] =
    if (!DecisionRecorder.isOn) None
    else plan.collect { case a: Aggregate => a } match {
      case Seq() => None
      case Seq(one) => Some(Declined(PhantomsRule.subject(one), SingleAggregate))
      case _ => Some(Declined(PhantomsRule.subject(plan), DifferentInputs))
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
