package io.phantoms.spark

import io.phantoms.spark.decide.Choosing
import io.phantoms.spark.search.ChoiceCache
import io.phantoms.spark.stats.bounds.FooterRows
import io.phantoms.spark.stats.observed.ObservationStore
import io.phantoms.spark.stats.sampled.SampleCache
import io.phantoms.spark.stats.supplied.StatsRegistry

import org.apache.spark.SparkContext

/** What an application remembers between plans, of every room. */
final class ApplicationMemory(context: SparkContext) {
  def observations: ObservationStore = ObservationStore.of(context)
  def supplied: StatsRegistry = StatsRegistry.of(context)
  def samples: SampleCache = SampleCache.of(context)
  def choices: ChoiceCache = Choosing.choices(context)
  def footers: FooterRows = FooterRows.of(context)
}
