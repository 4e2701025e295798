package io.phantoms.spark.decide

import io.phantoms.spark.conf.{PhantomsConf, PhantomsSettings}
import io.phantoms.spark.detect.{Candidate, DeclineReason, Distincts, GroupingSets, Shape, Workload}
import io.phantoms.spark.detect.DeclineReason._
import io.phantoms.spark.functions.SharedFunction
import io.phantoms.spark.model.Choice
import io.phantoms.spark.shims.BuildInfo

import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.internal.SQLConf

/**
 * What keeps something from being shared although it could be: a ladder, climbed from the plan to the choice, cheapest rung
 * first. What cannot be shared at all, whatever is set, is for `detect` to say, between the second rung and the third.
 */
object Admission {

  /** 0: the Spark that runs. Before it is known to be the jar's, nothing else is touched. */
  def spark(build: BuildInfo, running: String): Option[DeclineReason] = VersionGuard.mismatch(build, running)

  /** Whether a plan has anything to look at; most have not, and need no reason. */
  def concerns(plan: LogicalPlan): Boolean = plan.containsPattern(TreePattern.AGGREGATE)

  /** 1: the plan as a whole. */
  def plan(plan: LogicalPlan, settings: PhantomsSettings): Option[DeclineReason] =
    if (!settings.enabled) Some(Disabled(PhantomsConf.Enabled.key))
    else if (plan.isStreaming) Some(Streaming)
    else None

  /** What keeps an Aggregate with DISTINCT functions from being looked at. */
  def distinct(aggregate: Aggregate, settings: PhantomsSettings): Option[DeclineReason] =
    if (!settings.distinct) Some(Disabled(PhantomsConf.DistinctEnabled.key))
    else if (settings.exactFloatingPoint && Distincts.addsFloats(aggregate)) Some(ExactFloatingPoint)
    else None

  /** What keeps an Aggregate from being shared with others, as far as its own functions go. */
  def functions(aggregate: Aggregate, settings: PhantomsSettings): Option[DeclineReason] =
    Option.when(Distincts.isIn(aggregate))(aggregate).flatMap(distinct(_, settings)).orElse {
      val called = aggregate.aggregateExpressions.flatMap(_.collect { case a: AggregateExpression =>
        a.aggregateFunction
      })
      functions(called, settings)
    }

  private def functions(called: Seq[AggregateFunction], settings: PhantomsSettings): Option[DeclineReason] = {
    def addsFloats = called.exists(f => SharedFunction.of(f).exists(_.addsFloats(f)))
    def approximates = called.exists(f => SharedFunction.of(f).exists(_.isApproximate(f)))
    if (settings.exactFloatingPoint && addsFloats) Some(ExactFloatingPoint)
    else if (!settings.approximate && approximates) Some(Disabled(PhantomsConf.ApproximateEnabled.key))
    else None
  }

  /** 2: an operator, by its shape. */
  def operator(shape: Shape, settings: PhantomsSettings): Option[DeclineReason] = shape match {
    case Shape.UnionOf(_, aggregating) =>
      Option.when(!settings.multiAggregate && aggregating.size > 1)(Disabled(PhantomsConf.MultiAggregateEnabled.key))
    case Shape.DistinctOf(aggregate) => distinct(aggregate, settings).orElse(
        Option.when(!settings.groupingSets && GroupingSets.under(aggregate.child).isDefined)(
          Disabled(PhantomsConf.GroupingSetsEnabled.key)
        )
      )
    case Shape.GroupingSetsOf(_) => Option.when(!settings.groupingSets)(Disabled(PhantomsConf.GroupingSetsEnabled.key))
    case Shape.SlidingWindowOf(_) => Option.when(!settings.windows)(Disabled(PhantomsConf.WindowsEnabled.key))
    case Shape.ConditionalsOf(_) => Option.when(!settings.predicates)(Disabled(PhantomsConf.PredicatesEnabled.key))
  }

  /** Behind 2: subqueries of one grouping are Spark's to merge with others of the query, of which nothing is known here. */
  def subquery(candidate: Candidate): Option[DeclineReason] =
    Option.when(candidate.workloads.flatMap(_.queries).exists(_.plainTimes == 0))(SingleAggregate)

  /** 3: a workload that was found. */
  def workload(workload: Workload, settings: PhantomsSettings): Option[DeclineReason] = {
    def readsTwice = workload.consumers.size > 1 && !ReusableInput(workload.base, SQLConf.get)
    def slides = workload.queries.exists(_.window.nonEmpty)
    val queries = workload.queries.size
    def filtered = workload.queries.exists(q => q.predicate.nonEmpty || q.fragment.nonEmpty || q.masks.nonEmpty)
    if (!settings.windows && slides) Some(Disabled(PhantomsConf.WindowsEnabled.key))
    else if (!settings.predicates && filtered) Some(Disabled(PhantomsConf.PredicatesEnabled.key))
    else if (readsTwice) Some(InputReadTwice)
    else functions(workload.aggregates.map(_.function), settings).orElse(
      Option.when(queries > settings.maxQueries)(TooManyQueries(queries, settings.maxQueries))
    )
  }

  /** 4: the benefit. */
  def choice(choice: Choice): Option[DeclineReason] =
    Option.when(choice.configuration.isEmpty) {
      // What was chosen is plain Spark's own plan; the best that was not says how far off sharing is.
      NoBenefit(choice.runnerUp.fold(choice.cost)(_.cost), choice.costWithout)
    }
}
