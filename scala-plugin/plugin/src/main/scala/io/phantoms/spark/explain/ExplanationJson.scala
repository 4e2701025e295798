package io.phantoms.spark.explain

import io.phantoms.spark.decide.{Decision, Declined, Shared}
import io.phantoms.spark.detect.WindowSlot
import io.phantoms.spark.model.{Configuration, MachineConstants, Notation, Problem, RunnerUp}
import io.phantoms.spark.shims.BuildInfo
import io.phantoms.spark.stats.StatisticsProvider
import io.phantoms.spark.verify.Verifiable

import org.json4s._
import org.json4s.jackson.JsonMethods

/**
 * Decisions as JSON: `{"version": ..., "spark": ..., "decisions": [...]}`.
 *
 * Every decision has `decision` (`shared` or `declined`), `code`, `reason`, `subject`, `tree` (where in the plan) and
 * `workload` (number and groupings of what is shared, or would be; null if it did not come to that). A declined one also has
 * `advice`, a shared one
 * `notation`, `legend` (letter to attribute), `algorithm`, `cost` and `cost_without` (nanoseconds of elapsed time),
 * `savings` (fraction), `runner_up` (the best answer not taken: `description`, `cost`), `margin` (by which fraction of
 * its own cost the choice is ahead of that), `rows`, `statistics` (each number with its source, for people), `machine` (constants of the cost model, nanoseconds), `queries` (their keys),
 * `windows` (of each query, in seconds: `range`, `slide`, `start`; null for a query without one), `predicates` (how many different
 * ones), `consumers` (operators of the plan that get results), `verify` (null where spark.phantoms.verify is off, else its
 * `mode` and why it is `impossible`, or null) and `relations`, parents before children, see [[relations]].
 */
object ExplanationJson {
  def render(found: Explained): String = JsonMethods.compact(document(found))

  def document(found: Explained): JObject = JObject(
    "version" -> JString(BuildInfo.current.version),
    "spark" -> JString(BuildInfo.current.sparkMinor),
    "decisions" -> JArray(found.placed.map(p => decision(p.decision) ~~ place(p)).toList)
  )

  /**
   * The relations of a configuration, the same wherever one is shown: `relation` (in the notation), `keys` (names), `queries`
   * (ordinals), `phantom`, `parent` (ordinal; null: the input), `buckets`, `placement`, `shard_key` and `shards` (null where
   * it is not shipped), `expected_groups`, and of these `slices` of time and `fragments` of rows that satisfy the same
   * predicates (null where it tells none apart).
   */
  def relations(problem: Problem, configuration: Configuration): Seq[JObject] = {
    val notation = Notation(problem)
    RelationView.of(problem, configuration).map { r =>
      val isShipped = r.shards > 0
      JObject(
        "relation" -> JString(notation.render(r.bits)),
        "keys" -> strings(r.keys),
        "queries" -> JArray(r.queries.map(JInt(_)).toList),
        "phantom" -> JBool(r.isPhantom),
        "parent" -> (if (r.parent < 0) JNull else JInt(r.parent)),
        "buckets" -> JInt(r.buckets),
        "placement" -> JString(r.placement),
        "shard_key" -> (if (isShipped) strings(r.shardKey) else JNull),
        "shards" -> (if (isShipped) JInt(r.shards) else JNull),
        "expected_groups" -> number(r.groups),
        "slices" -> r.slices.fold[JValue](JNull)(number),
        "fragments" -> r.fragments.fold[JValue](JNull)(number)
      )
    }
  }

  private def decision(d: Decision): JObject = d match {
    case Declined(subject, reason) =>
      head("declined", reason.code, reason.message, subject) ~~ List("advice" -> JString(reason.advice))
    case s: Shared =>
      head("shared", "SHARED", Text.savings(s), s.subject) ~~ List(
        "notation" -> JString(s.notation),
        "legend" -> JObject(s.legend.map { case (letter, name) => letter -> (JString(name): JValue) }.toList),
        "algorithm" -> JString(s.choice.algorithm),
        "cost" -> number(s.choice.cost),
        "cost_without" -> number(s.choice.costWithout),
        "savings" -> number(s.choice.savings),
        "rows" -> number(s.problem.statistics.rows),
        "statistics" -> strings(StatisticsProvider.describe(s.problem)),
        "machine" -> JObject(MachineConstants.of(s.problem.machine).map { case (k, v) => k -> number(v) }.toList),
        "queries" -> JArray(s.problem.groupings.map(q => strings(RelationView.names(s.problem, q))).toList),
        "windows" -> JArray(s.workload.queries.map(q => q.window.fold[JValue](JNull)(window)).toList),
        "predicates" -> JInt(Text.predicates(s)),
        "consumers" -> JInt(Text.consumers(s)),
        "verify" -> s.verifiable.fold[JValue](JNull)(verify),
        "relations" -> JArray(relations(s.problem, s.configuration).toList)
      ) ~~ nextBest(s.choice.runnerUp, s.choice.margin)
  }

  private def verify(v: Verifiable): JValue = JObject(
    "mode" -> JString(v.mode),
    "impossible" -> v.impossible.fold[JValue](JNull)(JString(_))
  )

  private def place(p: Placed): List[(String, JValue)] =
    List("tree" -> JString(p.tree), "workload" -> p.workload.fold[JValue](JNull)(JString(_)))

  private def window(w: WindowSlot): JValue = JObject(
    "range" -> JDouble(w.range / 1e6),
    "slide" -> JDouble(w.slide / 1e6),
    "start" -> JDouble(w.start / 1e6)
  )

  /** The fields `runner_up` and `margin`. */
  private[spark] def nextBest(runnerUp: Option[RunnerUp], margin: Option[Double]): List[(String, JValue)] = List(
    "runner_up" -> runnerUp.fold[JValue](JNull) { r =>
      JObject("description" -> JString(r.description), "cost" -> number(r.cost))
    },
    "margin" -> margin.fold[JValue](JNull)(number)
  )

  private def head(decision: String, code: String, reason: String, subject: String): JObject = JObject(
    "decision" -> JString(decision),
    "code" -> JString(code),
    "reason" -> JString(reason),
    "subject" -> JString(subject)
  )

  private def strings(values: Seq[String]): JArray = JArray(values.map(JString(_)).toList)

  // JSON has no infinities: an unbounded estimate is null.
  private def number(value: Double): JValue = if (value.isNaN || value.isInfinite) JNull else JDouble(value)

  implicit private class Fields(private val o: JObject) extends AnyVal {
    def ~~(more: List[(String, JValue)]): JObject = JObject(o.obj ++ more)
  }
}
