package io.phantoms.spark.api

import io.phantoms.spark.decide.{Decision, Declined, VersionGuard}
import io.phantoms.spark.explain.{Explained, ExplanationJson, Explanations, Text}
import io.phantoms.spark.rewrite.PhantomsRule
import io.phantoms.spark.shims.BuildInfo

import org.apache.spark.sql.{Dataset, SparkSession}
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.json4s.{JObject, JString, JValue}
import org.json4s.jackson.JsonMethods

/** Decisions about queries, and whether the plugin is there. */
object PhantomsApi {

  /** The decisions about a query, as [[ExplanationJson]] describes them. */
  def explainJson(df: Dataset[_]): String = ExplanationJson.render(found(df))

  /** The decisions about a query, for people. */
  def explainText(df: Dataset[_]): String = Text.render(decisions(df))

  /** What of a query was left alone, and why. */
  def whyNotText(df: Dataset[_]): String = Text.whyNot(found(df))

  /** Text and JSON of one planning. */
  private[api] def explained(df: Dataset[_]): (String, JValue) = {
    val all = found(df)
    (Text.render(all.decisions), ExplanationJson.document(all))
  }

  /** The same, with what was left alone as text. */
  private[api] def leftAlone(df: Dataset[_]): (String, JValue) = {
    val all = found(df)
    (Text.whyNot(all), ExplanationJson.document(all))
  }

  private[spark] def decisions(df: Dataset[_], build: BuildInfo = BuildInfo.current): Seq[Decision] =
    found(df, build).decisions

  /** Of another Spark nothing is touched, not even the DataFrame. */
  private def found(df: Dataset[_], build: BuildInfo = BuildInfo.current): Explained =
    VersionGuard.mismatch(build) match {
      case Some(reason) => Explained.unseen(Declined("any query", reason))
      case None => Explanations.explained(df)
    }

  /** `{"version", "spark_minor", "spark_version", "running"}`: what the jar was built for, and what runs. */
  def buildInfo(): String = {
    val build = BuildInfo.current
    JsonMethods.compact(
      JObject(
        "version" -> JString(build.version),
        "spark_minor" -> JString(build.sparkMinor),
        "spark_version" -> JString(build.sparkVersion),
        "running" -> JString(BuildInfo.runningSpark)
      )
    )
  }

  /** Whether the session has the extension and runs the Spark minor it was built for; also while switched off. */
  def isActive(session: SparkSession): Boolean = VersionGuard.mismatch().isEmpty && hasRule(session)

  private def hasRule(session: SparkSession): Boolean = session match {
    case classic: ClassicSession => classic.sessionState.optimizer.preCBORules.exists(_.isInstanceOf[PhantomsRule])
    case _ => false
  }
}
