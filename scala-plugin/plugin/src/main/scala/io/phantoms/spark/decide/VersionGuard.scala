package io.phantoms.spark.decide

import io.phantoms.spark.detect.DeclineReason.WrongSpark
import io.phantoms.spark.shims.BuildInfo
import io.phantoms.spark.stats.supplied.StatisticsException

/** Asked first by whatever is called from outside: on another Spark minor than the jar's nothing is touched. */
object VersionGuard {

  /** None on the Spark minor the jar was built for. */
  def mismatch(build: BuildInfo = BuildInfo.current, running: String = BuildInfo.runningSpark): Option[WrongSpark] =
    Option.when(!build.fits(running))(WrongSpark(build.sparkMinor, running))

  /** @throws StatisticsException of class `PHANTOMS_WRONG_SPARK` on any other */
  def requireFitting(build: BuildInfo = BuildInfo.current): Unit =
    mismatch(build).foreach(reason => throw new StatisticsException("PHANTOMS_WRONG_SPARK", reason.message))
}
