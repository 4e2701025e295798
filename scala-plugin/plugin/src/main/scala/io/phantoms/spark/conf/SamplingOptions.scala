package io.phantoms.spark.conf

/**
 * How much of an input may be read to size its groups.
 *
 * @param enabled false: no job is run, other sources of statistics have to do
 * @param rows most rows kept, over all partitions; at most four times as many are read
 * @param millis most time that a plan waits for it: what has been read by then is the sample
 */
final case class SamplingOptions(
    enabled: Boolean = true,
    rows: Int = SamplingOptions.DefaultRows,
    millis: Long = SamplingOptions.MostMillis
)

object SamplingOptions {
  val DefaultRows: Int = 65536
  val DefaultMillis: Long = 1000
  val MostMillis: Long = 3600000
}
