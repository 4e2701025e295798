package io.phantoms.spark.api

import scala.jdk.CollectionConverters._

import io.phantoms.spark.decide.VersionGuard
import io.phantoms.spark.files.{JsonFields, StrictJson}
import io.phantoms.spark.physical.LastExecution
import io.phantoms.spark.stats.supplied.StatisticsException
import io.phantoms.spark.verify.Verification

import org.apache.spark.sql.{Dataset, SparkSession}
import org.json4s._
import org.json4s.jackson.JsonMethods

/**
 * The one entry for other languages: what to do by its name, arguments and answer as JSON. Scala programs may as well call
 * the objects that stand behind the names; SQL has [[SqlFunctions]] of `explain`, `why_not` and `last_execution`.
 *
 * | name | arguments | answer |
 * | --- | --- | --- |
 * | `build_info` | | see [[PhantomsApi.buildInfo]] |
 * | `is_active` | | true or false |
 * | `explain`, of a DataFrame | | `{"text", "document"}`, see [[io.phantoms.spark.explain.ExplanationJson]] |
 * | `why_not`, of a DataFrame | | the same, with what was left alone as text |
 * | `plan` | the question | see [[PlanApi.planJson]] |
 * | `last_execution` | | `{"execution_id", "operators": [{"operator", "configuration", "metrics"}], "verified": [...]}`, null before any |
 * | `stats.set_rows` | `table`, `n` | null |
 * | `stats.set_groups` | `table`, `columns`, `n` | null |
 * | `stats.set_flow_length` | `table`, `columns`, `length` | null |
 * | `stats.clear`, `stats.observed` | | null, see [[StatsApi.statsObserved]] |
 * | `stats.save`, `stats.load` | `path` | null |
 * | `stats.sample`, of a DataFrame | | see [[StatsApi.statsSample]] |
 * | `stats.count`, of a DataFrame | `groupings`, `deviation` | see [[StatsApi.statsCount]] |
 * | `calibrate` | `rows`, `repeat`, `seed`, `directory` (may be null) | see [[CalibrateApi.calibrateJson]] |
 * | `machine` | `value` | see [[CalibrateApi.machineJson]] |
 */
object PhantomsCall {

  /**
   * @param session null where none is needed
   * @param df null where none is asked about
   * @throws StatisticsException of class `PHANTOMS_UNKNOWN_CALL` or `PHANTOMS_BAD_CALL`, or as the call has it
   */
  def call(session: SparkSession, df: Dataset[_], name: String, arguments: String): String =
    calls.get(name) match {
      case Some(action) => action(new Request(name, session, df, parsed(name, arguments)))
      case None =>
        throw new StatisticsException(
          "PHANTOMS_UNKNOWN_CALL",
          s"there is no call $name; there are ${calls.keys.toSeq.sorted.mkString(", ")}"
        )
    }

  private val calls: Map[String, Request => String] = Map(
    "build_info" -> (_ => PhantomsApi.buildInfo()),
    "is_active" -> (r => PhantomsApi.isActive(r.session).toString),
    "explain" -> (r => both(PhantomsApi.explained(r.frame))),
    "why_not" -> (r => both(PhantomsApi.leftAlone(r.frame))),
    "plan" -> (r => PlanApi.planJson(JsonMethods.compact(r.arguments))),
    "last_execution" -> (r => lastExecution(r.session)),
    "stats.set_rows" -> (r => nothing(StatsApi.statsSetRows(r.session, r.text("table"), r.number("n")))),
    "stats.set_groups" ->
      (r => nothing(StatsApi.statsSetGroups(r.session, r.text("table"), r.texts("columns").asJava, r.number("n")))),
    "stats.set_flow_length" -> (r =>
      nothing(StatsApi.statsSetFlowLength(r.session, r.text("table"), r.texts("columns").asJava, r.number("length")))
    ),
    "stats.clear" -> (r => nothing(StatsApi.statsClear(r.session))),
    "stats.observed" -> (r => StatsApi.statsObserved(r.session)),
    "stats.save" -> (r => nothing(StatsApi.statsSaveJson(r.session, r.text("path")))),
    "stats.load" -> (r => nothing(StatsApi.statsLoadJson(r.session, r.text("path")))),
    "stats.sample" -> (r => StatsApi.statsSample(r.frame)),
    "stats.count" ->
      (r => StatsApi.statsCount(r.frame, JsonMethods.compact(r.arguments \ "groupings"), r.number("deviation"))),
    "calibrate" -> (r =>
      CalibrateApi.calibrateJson(
        r.session,
        r.number("rows").toLong,
        r.number("repeat").toInt,
        r.number("seed").toLong,
        r.arguments \ "directory" match {
          case JNothing | JNull => null
          case _ => r.text("directory")
        }
      )
    ),
    "machine" -> (r => CalibrateApi.machineJson(r.text("value")))
  )

  private def nothing(unit: Unit): String = "null"

  private def both(found: (String, JValue)): String =
    JsonMethods.compact(JObject("text" -> JString(found._1), "document" -> found._2))

  private def lastExecution(session: SparkSession): String = {
    VersionGuard.requireFitting()
    val last = LastExecution.of(session.sparkContext)
    JsonMethods.compact(last.get.fold[JValue](JNull) { case (id, operators) =>
      JObject(
        "execution_id" -> id.fold[JValue](JNull)(JInt(_)),
        "operators" -> JArray(operators.toList.map(o =>
          JObject(
            "operator" -> JString(o.name),
            "configuration" -> JString(o.configuration),
            "metrics" -> JObject(o.metrics.toList.sortBy(_._1).map { case (n, m) => n -> JInt(m.value) })
          )
        )),
        "verified" -> JArray(last.verified.toList.map(verification))
      )
    })
  }

  private def verification(v: Verification): JObject = JObject(
    "outcome" -> JString(v.outcome),
    "subject" -> JString(v.subject),
    "configuration" -> JString(v.configuration),
    "plain" -> JString(v.plain),
    "shared" -> JString(v.shared),
    "plain_rows" -> JInt(v.plainRows),
    "shared_rows" -> JInt(v.sharedRows),
    "differing_rows" -> JInt(v.differingRows),
    "differing_sums" -> JArray(v.differingSums.toList.map(JString(_))),
    "left_out" -> JArray(v.leftOut.toList.map(JString(_))),
    "error" -> v.error.fold[JValue](JNull)(JString(_))
  )

  private def parsed(name: String, arguments: String): JObject = StrictJson.parse(arguments) match {
    case Right(o: JObject) => o
    case Right(_) => bad(name, "the arguments are no JSON object")
    case Left(why) => bad(name, why)
  }

  private def bad(name: String, why: String): Nothing =
    throw new StatisticsException("PHANTOMS_BAD_CALL", s"$name: $why")

  private final class Request(name: String, givenSession: SparkSession, df: Dataset[_], val arguments: JObject) {
    private val fields = new JsonFields(bad(name, _))

    def session: SparkSession = if (givenSession == null) bad(name, "it needs a session") else givenSession
    def frame: Dataset[_] = if (df == null) bad(name, "it needs a DataFrame") else df
    def text(field: String): String = fields.text(arguments \ field, field)
    def texts(field: String): List[String] = fields.list(arguments \ field, field).map(fields.text(_, field))
    // What is in range is for the call to say.
    def number(field: String): Double = fields.number(arguments \ field, field, least = Int.MinValue)
  }
}
