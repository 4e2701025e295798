package io.phantoms.spark.stats

import io.phantoms.spark.decide.{Declined, Shared}
import io.phantoms.spark.explain.Explanations
import io.phantoms.spark.model.Choice

import org.apache.spark.sql.Dataset

/** What a query would be planned with now. */
object PlannedStatistics {
  def shared(df: Dataset[_]): Shared = Explanations.explain(df) match {
    case Seq(one: Shared) => one
    case Seq(Declined(_, reason)) => throw new AssertionError(s"declined: ${reason.message}")
    case other => throw new AssertionError(s"one decision expected: $other")
  }

  def of(df: Dataset[_]): EstimatedStatistics = shared(df).problem.statistics match {
    case s: EstimatedStatistics => s
    case other => throw new AssertionError(s"estimated statistics expected: $other")
  }

  def choice(df: Dataset[_]): Choice = shared(df).choice
}
