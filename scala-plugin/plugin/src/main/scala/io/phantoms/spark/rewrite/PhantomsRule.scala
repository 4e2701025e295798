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
  Shuffles,
  UnionCandidate,
  Workload
}
import io.phantoms.spark.keep.Kept
import io.phantoms.spark.shims.{BuildInfo, Cancelled}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, IntegerLiteral}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LocalLimit, LogicalPlan}
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
    val visit = new Visit(settings)
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

  private final class Visit(settings: PhantomsSettings) {
    val decisions: mutable.Buffer[Decision] = mutable.ArrayBuffer.empty

    // What has several consumers, by the operators themselves: equal ones may stand in other places.
    private val replaced = new IdentityHashMap[LogicalPlan, LogicalPlan]

    // Unions that nothing is to be shared of.
    private val tried = new IdentityHashMap[LogicalPlan, Unit]

    /** All of what is looked at together. */
    private var root: LogicalPlan = _

    /** Aggregates wherever they stand first, then each operator on its own. */
    def all(operator: LogicalPlan): LogicalPlan = {
      val outside = root
      val opened = if (settings.multiAggregate) scattered(operator) else operator
      root = opened
      try plan(opened)
      finally root = outside
    }

    /** The plan in which what is shared of aggregates in several places is decided. */
    private def scattered(operator: LogicalPlan): LogicalPlan = {
      root = operator
      val first = ScatteredAggregates.detect(operator)
      val outer = first.collect { case Right(found) => found }.flatMap(_.aggregates)
      // A union that reads copies of some of them may do with one; what it leaves alone may find others.
      val opened = unions(operator, a => outer.exists(_ eq a), None)
      root = opened
      (if (opened eq operator) first else ScatteredAggregates.detect(opened)).foreach {
        case Right(found) => share(found)
        case Left(reason) => decisions += Declined(PhantomsRule.subject(opened), reason)
      }
      opened
    }

    /**
     * Decides of the unions that stand below nothing which may be shared itself.
     *
     * @param outer aggregates that may be
     */
    private def unions(
        operator: LogicalPlan,
        outer: LogicalPlan => Boolean,
        limitAbove: Option[Int]
    ): LogicalPlan =
      if (!Admission.concerns(operator) || outer(operator)) operator
      else Shape.of(operator, limitAbove) match {
        case None => operator.mapChildren(unions(_, outer, limitOf(operator)))
        case Some(union: Shape.UnionOf) =>
          val shared = candidate(union, limitAbove, None).collect { case u: UnionCandidate => u }.flatMap { u =>
            decided(u).map(DecidedUnion.of(u, _, unions(_, _.isInstanceOf[Aggregate], None), unions(_, outer, None)))
          }
          shared.getOrElse {
            val left = operator.mapChildren(unions(_, outer, None))
            tried.put(left, ())
            left
          }
        case _ => operator
      }

    private def share(found: ScatteredAggregates): Unit = {
      // Those within another one that was shared are looked for again in what that reads.
      val gone = found.aggregates.exists(a => isWithinReplaced(a))
      if (!gone) {
        val subject = PhantomsRule.subject(found.aggregates)
        val shared = decide(subject, found.workload).flatMap(keepingShuffles(_, found.aggregates))
        shared.flatMap(s => build(s, all(s.workload.base))).foreach { plans =>
          found.aggregates.zip(plans).foreach { case (a, plan) =>
            plan.copyTagsFrom(a)
            replaced.put(a, plan)
          }
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
      else if (tried.containsKey(operator)) children(operator)
      else operator match {
        case union: DecidedUnion => planned(union)
        case _ =>
          Shape.of(operator, limitAbove).flatMap(candidate(_, limitAbove, filterAbove)).flatMap(c => share(c))
            .getOrElse(children(operator))
      }

    private def limitOf(operator: LogicalPlan): Option[Int] = operator match {
      case LocalLimit(IntegerLiteral(n), _) => Some(n)
      case _ => None
    }

    private def children(operator: LogicalPlan): LogicalPlan = {
      val filter = operator match {
        case Filter(condition, _) => Some(condition)
        case _ => None
      }
      operator.mapChildren(plan(_, limitOf(operator), filter))
    }

    private def candidate(shape: Shape, limitAbove: Option[Int], filterAbove: Option[Expression]): Option[Candidate] =
      Admission.operator(shape, settings).toLeft(())
        .flatMap(_ => Detector.candidate(shape, limitAbove, filterAbove)) match {
        case Right(candidate) => Some(candidate)
        case Left(reason) =>
          decisions += Declined(PhantomsRule.subject(shape.operator), reason)
          None
      }

    /** What is shared of an operator, by its workloads, if anything is. */
    private def decided(candidate: Candidate): Option[IndexedSeq[Option[Shared]]] = {
      val subject = PhantomsRule.subject(candidate.operator)
      val found = candidate.workloads.map(decide(subject, _))
      decisions ++= candidate.leftOut.map(Declined(s"a part of $subject", _))
      val replaced = found.indices.filter(found(_).isDefined).flatMap(candidate.partOf)
      val kept = found.map(_.flatMap(keepingShuffles(_, replaced)))
      Option.when(kept.exists(_.isDefined))(kept)
    }

    private def share(candidate: Candidate): Option[LogicalPlan] = decided(candidate).flatMap { shared =>
      assembled(candidate, shared.map(_.flatMap(s => build(s, all(s.workload.base)))))
    }

    private def planned(union: DecidedUnion): LogicalPlan = {
      val plans = union.inputs.map(_.flatMap { case (shared, input) => build(shared, plan(input)) })
      assembled(union.candidate, plans).getOrElse(children(union.candidate.operator))
    }

    private def assembled(
        candidate: Candidate,
        plans: IndexedSeq[Option[IndexedSeq[LogicalPlan]]]
    ): Option[LogicalPlan] =
      Option.when(plans.exists(_.isDefined)) {
        val result = candidate.assemble(plans.map(_.map(_.head)), plan(_))
        result.copyTagsFrom(candidate.operator)
        result
      }

    private def decide(subject: String, workload: Workload): Option[Shared] =
      sharing.decide(session, subject, workload, settings) match {
        case shared: Shared => Some(shared)
        case declined: Declined =>
          decisions += declined
          None
      }

    /** None where plain Spark shuffles less for what stands below, as others read the same. */
    private def keepingShuffles(shared: Shared, replaced: Seq[LogicalPlan]): Option[Shared] = {
      val isMore = Shuffles.moreWith(root, replaced, shared.workload.base)
      if (isMore) decisions += Declined(shared.subject, DifferentInputs)
      Option.when(!isMore)(shared)
    }

    /**
     * A plan for each consumer.
     *
     * @param input statistics describe the input as the user wrote it; only now may it be rewritten itself
     */
    private def build(shared: Shared, input: => LogicalPlan): Option[IndexedSeq[LogicalPlan]] = {
      val rewritten = shared.workload.copy(base = input)
      sharing.build(rewritten, shared.problem, shared.configuration, shared.notation) match {
        case Right(built) =>
          decisions += shared
          Some(built)
        case Left(reason) =>
          decisions += Declined(shared.subject, reason)
          None
      }
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
