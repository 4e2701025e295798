package io.phantoms.spark.conf

/**
 * How much of an input may be read to size its groups.
 *
 * @param enabled false: no job is run, other sources of statistics have to do
 * @param rows most rows kept, over all partitions; at most four times as many are read
 */
final case class SamplingOptions(enabled: Boolean = true, rows: Int = SamplingOptions.DefaultRows)

object SamplingOptions {
  val DefaultRows: Int = 65536
}
