package io.phantoms.spark.api

import java.math.{MathContext, RoundingMode}

import org.json4s._
import org.json4s.jackson.JsonMethods

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}

import io.phantoms.spark.calibrate.{CalibrationOptions, CalibrationResult, Calibrator}
import io.phantoms.spark.conf.MachineConf
import io.phantoms.spark.cost.Fit
import io.phantoms.spark.decide.VersionGuard
import io.phantoms.spark.model.{Machine, MachineConstants}
import io.phantoms.spark.shims.BuildInfo
import io.phantoms.spark.stats.supplied.StatisticsException

/** Calibration, see [[PhantomsCall]]. */
object CalibrateApi {

  /**
   * Measures the machine constants on a session.
   *
   * @param rows of the generated input, at least 1
   * @param repeat measured runs of each job, at least 1
   * @param directory null: a temporary directory of the driver
   * @return `{"format": "phantoms-machine", "version": 1, "spark", "cores", "rows", "repeat", "seed", "seconds",
   *   "constants": {NAME: nanoseconds}, "defaults": likewise, "clamped": [{"name", "measured", "used"}], "fits": {"map",
   *   "reduce", "plain": {"r2", "median_error", "nanos_per": {COUNT: nanoseconds}, "runs": [{"job", "measured",
   *   "predicted", "counts"}]}}}`: what `spark.phantoms.machine` reads. Times in nanoseconds unless named otherwise.
   * @throws StatisticsException if an option is out of range, or the executors are elsewhere and no directory is given
   */
  def calibrateJson(session: SparkSession, rows: Long, repeat: Int, seed: Long, directory: String): String = {
    VersionGuard.requireFitting()
    if (rows < 1 || repeat < 1)
      throw new StatisticsException(
        "PHANTOMS_BAD_NUMBER",
        s"$rows rows, $repeat repetitions: at least 1 is needed of each"
      )
    val options = CalibrationOptions(rows, repeat, seed, Option(directory))
    render(new Calibrator(session.asInstanceOf[ClassicSession], options).run())
  }

  /** The constants a value of `spark.phantoms.machine` stands for, as a JSON object; an error says what is wrong. */
  def machineJson(value: String): String = MachineConf.read(value) match {
    case Right(machine) => JsonMethods.compact(constants(machine))
    case Left(why) => throw new StatisticsException("PHANTOMS_MACHINE_FORMAT", why)
  }

  private def render(result: CalibrationResult): String = JsonMethods.compact(
    JObject(
      "format" -> JString("phantoms-machine"),
      "version" -> JInt(1),
      "spark" -> JString(BuildInfo.runningSpark),
      "cores" -> JInt(result.cores),
      "rows" -> JInt(result.options.rows),
      "repeat" -> JInt(result.options.repeat),
      "seed" -> JInt(result.options.seed),
      "seconds" -> number(result.seconds),
      "constants" -> constants(result.fit.machine),
      "defaults" -> constants(Machine()),
      "clamped" -> JArray(result.fit.clamped.toList.map { c =>
        JObject("name" -> JString(c.name), "measured" -> number(c.measured), "used" -> number(c.used))
      }),
      "fits" -> JObject(result.fit.regressions.toList.map { regression =>
        val runs = result.jobs(regression.name).zip(regression.observations).zip(regression.fit.predicted).map {
          case ((job, o), predicted) =>
            JObject(
              "job" -> JString(job),
              "measured" -> number(o.nanos),
              "predicted" -> number(predicted),
              "counts" -> JObject(o.counts.toList.map { case (name, n) => name -> number(n) })
            )
        }
        val Fit(coefficients, _, r2, medianError) = regression.fit
        val prices = regression.observations.head.counts.map(_._1).zip(coefficients)
        regression.name -> JObject(
          "r2" -> number(r2),
          "median_error" -> number(medianError),
          "nanos_per" -> JObject(prices.toList.map { case (name, n) => name -> number(n) }),
          "runs" -> JArray(runs.toList)
        )
      })
    )
  )

  private def constants(machine: Machine): JObject =
    JObject(MachineConstants.of(machine).toList.map { case (name, value) => name -> number(value) })

  // Four digits are more than any measurement has.
  private def number(value: Double): JValue =
    if (value.isNaN || value.isInfinite) JNull
    else JDouble(new java.math.BigDecimal(value).round(new MathContext(4, RoundingMode.HALF_UP)).doubleValue)
}
