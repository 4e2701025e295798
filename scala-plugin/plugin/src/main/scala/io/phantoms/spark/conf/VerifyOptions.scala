package io.phantoms.spark.conf

/**
 * Which of the plans in which the plugin acts are run beside plain Spark's.
 *
 * @param mode one of [[VerifyOptions.Modes]]
 * @param fraction of plans that `sample` takes
 */
final case class VerifyOptions(mode: String = VerifyOptions.NoMode, fraction: Double = VerifyOptions.Fraction) {
  def isOn: Boolean = mode != VerifyOptions.NoMode
  def isSample: Boolean = mode == VerifyOptions.Sample
}

object VerifyOptions {
  val NoMode = "off"
  val Sample = "sample"
  val Full = "full"
  val Modes: Seq[String] = Seq(NoMode, Sample, Full)
  val Fraction = 0.1
  val Off: VerifyOptions = VerifyOptions()
}
