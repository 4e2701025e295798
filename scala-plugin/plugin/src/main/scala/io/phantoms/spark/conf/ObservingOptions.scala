package io.phantoms.spark.conf

/**
 * Whether executions are observed and what they found out is used.
 *
 * @param directory where it is kept, empty: in memory
 * @param minGain fraction of the expected time by which a plan has to be better than the one in use to take its place
 */
final case class ObservingOptions(enabled: Boolean, directory: String = "", minGain: Double = ObservingOptions.MinGain)

object ObservingOptions {

  /**
   * Twice what the cost model was seen to misjudge two plans of one workload by; making the code of another plan hot was
   * seen to cost as much as the first plan takes.
   */
  val MinGain: Double = 0.2

  val Off: ObservingOptions = ObservingOptions(enabled = false)

  /** A value of `spark.phantoms.stats.path` with the home directory for its `~`, or an error that says what to write. */
  def checkedPath(value: String): String = {
    def refuse(why: String) =
      throw new IllegalArgumentException(s"spark.phantoms.stats.path: '$value' $why")
    if (value.nonEmpty && value.isBlank)
      refuse("is blank: name a directory, or leave it empty to keep statistics in memory.")
    if (value != value.strip) refuse("begins or ends with a blank: leave it out.")
    if (value == "~" || value.startsWith("~/")) System.getProperty("user.home") + value.drop(1)
    else if (value.startsWith("~"))
      refuse("is another user's home directory: write its whole path, or ~/ for your own.")
    else value
  }
}
