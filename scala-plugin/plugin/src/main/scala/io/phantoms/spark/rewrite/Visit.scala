package io.phantoms.spark.rewrite

import java.util.IdentityHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.phantoms.spark.conf.PhantomsSettings
import io.phantoms.spark.decide.{Admission, Declined, Finding, Shared}
import io.phantoms.spark.detect.{
  Candidate,
  DeclineReason,
  Detector,
  LeftAlone,
  ScatteredAggregates,
  Shape,
  Shuffles,
  Subqueries,
  UnionCandidate,
  UnionDetector,
  Workload
}
import io.phantoms.spark.detect.DeclineReason.DifferentInputs
import io.phantoms.spark.physical.Verified

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Expression, IntegerLiteral}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LocalLimit, LogicalPlan, Union}
import org.apache.spark.sql.catalyst.trees.TreePattern

/**
 * One walk of [[PhantomsRule]] over a plan.
 *
 * @param isSubquery whether the plan is one of several of a query
 * @param warn called once for each text
 */
private[rewrite] final class Visit(
    session: SparkSession,
    sharing: Sharing,
    settings: PhantomsSettings,
    isSubquery: Boolean,
    warn: String => Unit
) {
  import Visit._

  val findings: mutable.Buffer[Finding] = mutable.ArrayBuffer.empty

  // What has several consumers, by the operators themselves: equal ones may stand in other places.
  private val replaced = new IdentityHashMap[LogicalPlan, Replacement]
  private val verifying = new Verifying(session, settings, warn)

  // Unions that nothing is to be shared of.
  private val tried = new IdentityHashMap[LogicalPlan, Unit]

  /** All of what is looked at together. */
  private var root: LogicalPlan = _

  /** A query, and what its subqueries share with it and with each other. */
  def query(operator: LogicalPlan): LogicalPlan = {
    val visited = all(operator)
    if (replaced.isEmpty) visited else subqueries(visited)
  }

  /** What is verified was found before, in a subquery or when this plan was optimised: plain Spark's part is to stay. */
  private def isLeft(plan: LogicalPlan): Boolean = !Admission.concerns(plan) || plan.isInstanceOf[Verified]

  /** A plan in whose subqueries what is shared stands in its place. */
  private def subqueries(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(TreePattern.PLAN_EXPRESSION)) plan
    else plan match {
      case both: Verified => both.copy(shared = verifying.within(subqueries(both.shared)))
      case other => Subqueries.mapOwn(other.mapChildren(subqueries))(p => subqueries(inSubquery(p, None)))
    }

  private def inSubquery(plan: LogicalPlan, filterAbove: Option[Expression]): LogicalPlan =
    if (isLeft(plan)) plan
    else if (replaced.containsKey(plan)) verified(plan, replaced.get(plan), filterAbove)
    else plan.mapChildren(inSubquery(_, filterOf(plan)))

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
    val first = detected(operator)
    val outer = aggregatesOf(first)
    // A union that reads copies of some of them may do with one; what it leaves alone may find others.
    val opened = unions(operator, Outer(outer.contains, outer.contains), None)
    root = opened
    (if (opened eq operator) first else detected(opened)).foreach {
      case Right(found) => share(found)
      case Left(LeftAlone(reason, aggregates)) =>
        findings += Finding(Declined(PhantomsRule.subject(opened), reason), aggregates)
    }
    opened
  }

  private def detected(operator: LogicalPlan): Seq[Either[LeftAlone, ScatteredAggregates]] =
    ScatteredAggregates.detect(operator, Admission.functions(_, settings))

  private def aggregatesOf(found: Seq[Either[LeftAlone, ScatteredAggregates]]): Same =
    new Same(found.collect { case Right(f) => f }.flatMap(_.aggregates))

  /**
   * Decides of the unions that stand below nothing which may be shared itself.
   *
   * @param limitAbove a limit on rows that stands directly above
   */
  private def unions(operator: LogicalPlan, outer: Outer, limitAbove: Option[Int]): LogicalPlan =
    if (isLeft(operator) || outer.hides(operator)) operator
    else Shape.of(operator, limitAbove) match {
      case None => operator.mapChildren(unions(_, outer, limitOf(operator)))
      case Some(Shape.UnionOf(union, _)) if branchesOf(union, limitAbove).exists(outer.shares) =>
        val own = new Same(branchesOf(union, limitAbove))
        operator.mapChildren(unions(_, outer.copy(hides = p => outer.hides(p) || own.contains(p)), None))
      case Some(union: Shape.UnionOf) =>
        val shared = candidate(union, limitAbove, None).collect { case u: UnionCandidate => u }.flatMap { u =>
          decided(u).map(DecidedUnion.of(u, _, unionsOfInput, unions(_, outer, None)))
        }
        shared.getOrElse {
          val left = operator.mapChildren(unions(_, outer, None))
          tried.put(left, ())
          left
        }
      // Most of them are of one column, and nothing of theirs can be shared.
      case Some(one: Shape.DistinctOf) if admitted(one, limitAbove, None).isLeft =>
        operator.mapChildren(unions(_, outer, None))
      case _ => operator
    }

  /** Of an input that a union has left: nothing is known yet of the aggregates in it. */
  private def unionsOfInput(input: LogicalPlan): LogicalPlan =
    if (!input.containsPattern(TreePattern.UNION)) input
    else unions(input, Outer(_.isInstanceOf[Aggregate], aggregatesOf(detected(input)).contains), None)

  private def branchesOf(union: Union, limitAbove: Option[Int]): Seq[Aggregate] =
    union.children.flatMap(UnionDetector.aggregateOf(_, limitAbove))

  private def share(found: ScatteredAggregates): Unit = {
    // Those within another one that was shared are looked for again in what that reads.
    val gone = found.aggregates.exists(a => isWithinReplaced(a))
    if (!gone) {
      val subject = PhantomsRule.subject(found.aggregates)
      val shared = decide(subject, found.workload, found.aggregates).flatMap(keepingShuffles(_, found.aggregates))
      shared.flatMap(s => build(s, found.aggregates, found.aggregates, all(s.workload.base))).foreach { by =>
        found.aggregates.indices.foreach { i =>
          val plan = found.finish(i)(by(i).plan)
          plan.copyTagsFrom(found.aggregates(i))
          replaced.put(found.aggregates(i), by(i).copy(plan = plan))
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
    if (isLeft(operator)) operator
    else if (replaced.containsKey(operator)) verified(operator, replaced.get(operator), filterAbove)
    else if (tried.containsKey(operator)) children(operator)
    else operator match {
      case union: DecidedUnion => planned(union, filterAbove)
      case _ =>
        Shape.of(operator, limitAbove).flatMap(left(_, limitAbove)).flatMap(candidate(_, limitAbove, filterAbove))
          .flatMap(share(_, filterAbove)).getOrElse(children(operator))
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

  private def limitOf(operator: LogicalPlan): Option[Int] = operator match {
    case LocalLimit(IntegerLiteral(n), _) => Some(n)
    case _ => None
  }

  private def filterOf(operator: LogicalPlan): Option[Expression] = operator match {
    case Filter(condition, _) => Some(condition)
    case _ => None
  }

  private def children(operator: LogicalPlan): LogicalPlan =
    operator.mapChildren(plan(_, limitOf(operator), filterOf(operator)))

  private def candidate(shape: Shape, limitAbove: Option[Int], filterAbove: Option[Expression]): Option[Candidate] =
    admitted(shape, limitAbove, filterAbove) match {
      case Right(candidate) => Some(candidate)
      case Left(reason) =>
        findings += Finding(Declined(PhantomsRule.subject(shape.operator), reason), Seq(shape.operator))
        None
    }

  private def admitted(
      shape: Shape,
      limitAbove: Option[Int],
      filterAbove: Option[Expression]
  ): Either[DeclineReason, Candidate] = {
    val refused = refusedBranches(shape, limitAbove)
    for {
      _ <- Admission.operator(shape, settings).toLeft(())
      candidate <- refused match {
        case Seq() => Detector.candidate(shape, limitAbove, filterAbove)
        case some => Detector.candidate(without(shape, some.map(_._1)), limitAbove, filterAbove)
            .map(leaving(_, some.map(_._2))).left.map(_ => some.head._2.reason)
      }
      _ <- Option.when(isSubquery)(candidate).flatMap(Admission.subquery).toLeft(())
    } yield candidate
  }

  /** Branches of a union that may not be shared whatever they read, by ordinal. */
  private def refusedBranches(shape: Shape, limitAbove: Option[Int]): Seq[(Int, LeftAlone)] = shape match {
    case Shape.UnionOf(union, aggregating) => for {
        i <- aggregating
        aggregate <- UnionDetector.aggregateOf(union.children(i), limitAbove)
        reason <- Admission.functions(aggregate, settings)
      } yield i -> LeftAlone(reason, Seq(aggregate))
    case _ => Nil
  }

  /** What is shared of an operator, by its workloads, if anything is. */
  private def decided(candidate: Candidate): Option[IndexedSeq[Option[Shared]]] = {
    val subject = PhantomsRule.subject(candidate.operator)
    val found = candidate.workloads.zip(candidate.parts).map { case (w, parts) => decide(subject, w, parts) }
    findings ++= candidate.leftOut.map(l => Finding(Declined(s"a part of $subject", l.reason), l.operators))
    val replaced = found.indices.filter(found(_).isDefined).flatMap(candidate.parts)
    val kept = found.map(_.flatMap(keepingShuffles(_, replaced)))
    Option.when(kept.exists(_.isDefined))(kept)
  }

  private def share(candidate: Candidate, filterAbove: Option[Expression]): Option[LogicalPlan] =
    decided(candidate).flatMap { shared =>
      val by = shared.zip(candidate.parts).map { case (found, parts) =>
        found.flatMap(s => build(s, parts, Seq(candidate.operator), all(s.workload.base))).map(_.head)
      }
      assembled(candidate, candidate.operator, by, filterAbove)
    }

  private def planned(union: DecidedUnion, filterAbove: Option[Expression]): LogicalPlan = {
    val by = union.inputs.zip(union.candidate.parts).map { case (found, parts) =>
      found.flatMap { case (shared, input) => build(shared, parts, Seq(union.original), plan(input)) }.map(_.head)
    }
    assembled(union.candidate, union.original, by, filterAbove).getOrElse(children(union.candidate.operator))
  }

  private def assembled(
      candidate: Candidate,
      operator: LogicalPlan,
      by: IndexedSeq[Option[Replacement]],
      filterAbove: Option[Expression]
  ): Option[LogicalPlan] =
    Option.when(by.exists(_.isDefined)) {
      val result = candidate.assemble(by.map(_.map(_.plan)), other => verifying.within(plan(other)))
      result.copyTagsFrom(operator)
      verified(operator, Replacement(result, by.flatten.map(_.notation).mkString(" + ")), filterAbove)
    }

  /** What an operator is replaced by, beside the operator if that is to be verified. */
  private def verified(operator: LogicalPlan, by: Replacement, filterAbove: Option[Expression]): LogicalPlan =
    verifying(DecidedUnion.asWritten(operator), by.plan, filterAbove, by.notation)

  /** @param operators what computes the workload */
  private def decide(subject: String, workload: Workload, operators: Seq[LogicalPlan]): Option[Shared] =
    sharing.decide(session, subject, workload, settings) match {
      case shared: Shared => Some(shared)
      case declined: Declined =>
        findings += Finding(declined, operators, Some(workload))
        None
    }

  /** None where plain Spark shuffles less for what stands below, as others read the same. */
  private def keepingShuffles(shared: Shared, replaced: Seq[LogicalPlan]): Option[Shared] = {
    val isMore = Shuffles.moreWith(root, replaced, shared.workload.base)
    if (isMore) findings += Finding(Declined(shared.subject, DifferentInputs), replaced, Some(shared.workload))
    Option.when(!isMore)(shared)
  }

  /**
   * A plan for each consumer.
   *
   * @param parts what computes the workload
   * @param operators what is replaced, and with that compared where both plans run
   * @param input statistics describe the input as the user wrote it; only now may it be rewritten itself
   */
  private def build(
      shared: Shared,
      parts: Seq[LogicalPlan],
      operators: Seq[LogicalPlan],
      input: => LogicalPlan
  ): Option[IndexedSeq[Replacement]] = {
    val rewritten = shared.workload.copy(base = verifying.within(input))
    sharing.build(rewritten, shared.problem, shared.configuration, shared.notation) match {
      case Right(built) =>
        val noted = shared.copy(verifiable = verifying.note(operators.map(DecidedUnion.asWritten)))
        findings += Finding(noted, parts, Some(shared.workload))
        Some(built.map(Replacement(_, shared.notation)))
      case Left(reason) =>
        findings += Finding(Declined(shared.subject, reason), parts, Some(shared.workload))
        None
    }
  }
}

private object Visit {

  private def without(shape: Shape, branches: Seq[Int]): Shape = shape match {
    case union: Shape.UnionOf => union.copy(aggregating = union.aggregating.diff(branches))
    case other => other
  }

  private def leaving(candidate: Candidate, left: Seq[LeftAlone]): Candidate = candidate match {
    case union: UnionCandidate => union.copy(leftOut = union.leftOut ++ left)
    case other => other
  }

  /** Some operators, by themselves: equal ones may stand in other places. */
  private final class Same(operators: Seq[LogicalPlan]) {
    def contains(operator: LogicalPlan): Boolean = operators.exists(_ eq operator)
  }

  /**
   * What comes before a union.
   *
   * @param hides whether an operator may be shared itself, with all that stands below
   * @param shares whether an Aggregate may be shared with others, apart from a union that it is a branch of
   */
  private final case class Outer(hides: LogicalPlan => Boolean, shares: LogicalPlan => Boolean)
}
