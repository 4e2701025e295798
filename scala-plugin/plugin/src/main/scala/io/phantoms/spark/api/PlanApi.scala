package io.phantoms.spark.api

import org.json4s._
import org.json4s.jackson.JsonMethods

import io.phantoms.spark.explain.ExplanationJson
import io.phantoms.spark.model.{Choice, Notation, Problem, RunnerUp}
import io.phantoms.spark.search.Chooser

/** The chooser alone, for what-if questions: no session, no data. */
object PlanApi {

  /**
   * Answers one question.
   *
   * @param specJson `{"queries": [["A","B"], {"keys": ["B","C"], "window": {"range": r, "slide": s, "start": 0},
   *   "predicate": "p"}], "stats": {"rows": n, "groups": {"A,B": n}, "flow_length": x, "span": t, "signatures": {"p":
   *   share, "p,q": share}}}` and optionally `chooser` (`auto`), `memory` (bytes per map task), `min_savings` (fraction,
   *   0), `buffer_bits` (128), `parallelism`, `partitions` (2), `shards` (200). Windows are in ticks, of which the rows
   *   cover `span`; `signatures` are the shares of the rows that satisfy just the predicates named
   * @return `{"shared", "configuration", "legend", "cost", "cost_without", "savings", "runner_up", "margin", "algorithm",
   *   "tables", "parts"}`: the configuration in the paper's notation (null where nothing is shared), costs in nanoseconds
   *   of elapsed time, the best answer not taken and by which fraction of its own cost the choice is ahead of it, one entry
   *   of `tables` per relation as in an explanation, with estimates. Queries with windows or predicates may
   *   fall into several `parts`; there is one part otherwise. Each has `queries`, `slices`, `fragments`, `cost`, `finals`
   *   (nanoseconds) and the fields of a configuration
   * @throws StatisticsException if a field is missing, unknown or wrong; the message names it
   */
  def planJson(specJson: String): String = {
    val spec = PlanSpec.read(specJson)
    val choice = Chooser.parts(spec.problem, spec.chooser, spec.minSavings)
    val parts = choice.parts.map { p =>
      JObject(
        List(
          "queries" -> ordinals(p.queries),
          "slices" -> JDouble(p.slices),
          "fragments" -> JInt(p.fragments),
          "cost" -> JDouble(p.cost),
          "finals" -> JDouble(p.finals)
        ) ++ configuration(p.problem, p.choice)
      )
    }
    val shared = choice.parts.filter(_.choice.configuration.nonEmpty)
    val notations = shared.flatMap(p => p.choice.configuration.map(Notation(p.problem).render))
    // Where nothing is shared a reader still wants to know what the letters would have been.
    val named = if (shared.isEmpty) choice.parts.take(1) else shared
    JsonMethods.compact(JObject(
      List(
        "shared" -> JBool(shared.nonEmpty),
        "configuration" -> (if (notations.isEmpty) JNull else JString(notations.mkString(" | "))),
        "legend" -> JObject(named.flatMap(p => legend(p.problem)).distinct.toList),
        "tables" -> JArray(shared.flatMap(p => tables(p.problem, p.choice)).toList)
      ) ++ costs(choice.cost, choice.costWithout, choice.runnerUp, choice.margin) ++
        List("algorithm" -> JString(spec.chooser), "parts" -> JArray(parts.toList))
    ))
  }

  private def ordinals(of: Iterable[Int]): JArray = JArray(of.map(JInt(_)).toList)

  private def costs(cost: Double, without: Double, runnerUp: Option[RunnerUp], margin: Option[Double]) = List(
    "cost" -> JDouble(cost),
    "cost_without" -> JDouble(without),
    "savings" -> JDouble(if (without <= 0) 0.0 else 1 - cost / without)
  ) ++ ExplanationJson.nextBest(runnerUp, margin)

  private def legend(problem: Problem): Seq[(String, JValue)] =
    Notation(problem).legend.map { case (letter, name) => letter -> JString(name) }

  private def configuration(problem: Problem, choice: Choice): List[(String, JValue)] = List(
    "configuration" -> choice.configuration.fold[JValue](JNull)(c => JString(Notation(problem).render(c))),
    "legend" -> JObject(legend(problem).toList),
    "tables" -> JArray(tables(problem, choice))
  )

  private def tables(problem: Problem, choice: Choice): List[JValue] = choice.configuration.toList.flatMap { c =>
    ExplanationJson.relations(problem, c).zip(Chooser.estimate(problem, c).relations).map { case (r, e) =>
      JObject(r.obj ++ List(
        "groups" -> JDouble(e.groups),
        "fed" -> JDouble(e.fed),
        "collision_rate" -> JDouble(e.collisionRate),
        "evictions" -> JDouble(e.evictions),
        "bytes" -> JInt(e.tableBytes),
        "cost" -> JDouble(e.cost)
      ))
    }
  }
}
