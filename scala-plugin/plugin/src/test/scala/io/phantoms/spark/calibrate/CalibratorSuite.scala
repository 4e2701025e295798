package io.phantoms.spark.calibrate

import java.io.File
import java.nio.file.Files

import io.phantoms.spark.Turns
import io.phantoms.spark.api.CalibrateApi
import io.phantoms.spark.decide.Shared
import io.phantoms.spark.explain.Explanations
import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.model.{Machine, MachineConstants}
import io.phantoms.spark.oracle.EverySecondTest
import io.phantoms.spark.physical.SharedMergeExec
import io.phantoms.spark.stats.supplied.StatisticsException

import org.json4s._
import org.json4s.jackson.JsonMethods

final class CalibratorSuite extends EverySecondTest with PluginSession {
  private lazy val scratch: String = Files.createTempDirectory("phantoms-calibrator").toString

  private def calibrate(rows: Long): JValue = JsonMethods.parse(CalibrateApi.calibrateJson(spark, rows, 1, 7, scratch))

  test("a whole calibration on few rows") {
    val before = spark.conf.getAll
    val json = calibrate(4000)
    val constants = (json \ "constants").asInstanceOf[JObject].obj.collect { case (k, JDouble(v)) => k -> v }
    assert(constants.map(_._1) == MachineConstants.names)
    MachineConstants.of(Machine()).zip(constants).foreach { case ((name, usual), (_, v)) =>
      assert(v >= usual / 20.01 && v <= usual * 20.01, s"$name: $v")
    }
    for (name <- Seq("map", "reduce", "plain")) {
      val JArray(runs) = json \ "fits" \ name \ "runs": @unchecked
      assert(runs.nonEmpty && runs.forall(r => (r \ "measured").asInstanceOf[JDouble].num > 0), name)
      assert(runs.size == (if (name == "plain") CalibrationJob.plain.size else CalibrationJob.shared.size))
    }
    val JArray(clamped) = json \ "clamped": @unchecked
    clamped.foreach(c => assert(MachineConstants.names.map(JString(_)).contains(c \ "name")))
    assert(spark.conf.getAll == before && spark.experimental.extraOptimizations.isEmpty)
    assert(new File(scratch).list().isEmpty, "the data are gone")
    val text = JsonMethods.compact(json)
    withConf("spark.phantoms.machine" -> text) {
      val JObject(read) = JsonMethods.parse(CalibrateApi.machineJson(text)): @unchecked
      assert(read.toMap == (json \ "constants").asInstanceOf[JObject].obj.toMap)
    }
  }

  test("jobs' answers are those of plain Spark, so that what is measured is the whole work") {
    val session = spark.newSession()
    Calibrator.Confs.foreach { case (k, v) => session.conf.set(k, v) }
    val rows = 3000L
    CalibrationTable.all.foreach { t =>
      session.range(rows).selectExpr(CalibrationJob.columns(5): _*).write.parquet(s"$folder/${t.name}")
      session.read.parquet(s"$folder/${t.name}").createOrReplaceTempView(t.name)
    }
    val half = (CalibrationJob.shared.size + 1) / 2
    (Turns.some(CalibrationJob.shared, half) :+ CalibrationJob.least).foreach { job =>
      val plain = session.sql(job.sql).collect().map(_.toString).sorted.toSeq
      session.experimental.extraOptimizations = Seq(new ForcedConfiguration(job, rows.toDouble, Machine()))
      try {
        val df = session.sql(job.sql)
        assert(df.queryExecution.executedPlan.exists(_.isInstanceOf[SharedMergeExec]), job.name)
        assert(df.collect().map(_.toString).sorted.toSeq == plain, job.name)
      } finally session.experimental.extraOptimizations = Nil
    }
  }

  test("other constants, another choice: where shipping is dear, fewer relations are shipped") {
    def choice(machine: String) = withConf("spark.phantoms.machine" -> machine) {
      val df = spark.sql("select k, m, s, count(*), sum(v) from flows group by cube (k, m, s)")
      val Seq(shared: Shared) = Explanations.explain(df): @unchecked
      shared
    }
    val dear = choice("c2=100000")
    val cheap = choice("c2=0.001,c2PerByte=0,merge=1000")
    assert(dear.problem.machine.c2 == 100000 && dear.problem.machine.partitions == cheap.problem.machine.partitions)
    assert(dear.configuration.relations.count(!_.isDerived) < cheap.configuration.relations.count(!_.isDerived))
  }

  test("options out of range are refused") {
    Seq((0L, 1), (1L, 0)).foreach { case (rows, repeat) =>
      val e = intercept[StatisticsException](CalibrateApi.calibrateJson(spark, rows, repeat, 1, null))
      assert(e.getMessage.contains("at least 1"))
    }
    assert(intercept[StatisticsException](CalibrateApi.machineJson("c9=1")).getMessage.contains("'c9'"))
  }
}
