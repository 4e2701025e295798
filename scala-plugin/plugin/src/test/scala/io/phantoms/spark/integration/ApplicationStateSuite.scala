package io.phantoms.spark.integration

import io.phantoms.spark.api.StatsApi

import org.apache.spark.sql.classic.SparkSession
import org.scalatest.funsuite.AnyFunSuite

/** What is remembered belongs to one application, and its sessions do not disturb each other. Stops its context itself. */
class ApplicationStateSuite extends AnyFunSuite with PluginSession {
  override protected def confs: Map[String, String] = Map("spark.phantoms.stats.observe" -> "true")

  private def other(confs: (String, String)*): SparkSession = {
    val session = spark.newSession()
    views(session)
    confs.foreach { case (k, v) => session.conf.set(k, v) }
    session
  }

  private def sharedBy(session: SparkSession): Boolean = isShared(session.sql(PluginSession.sets("flows")))

  test("sessions plan under their own confs, whoever planned the same before") {
    val none = other("spark.phantoms.chooser" -> "none")
    val dear = other("spark.phantoms.minSavings" -> "0.999")
    val off = other("spark.phantoms.enabled" -> "false")
    val coarse = other("spark.phantoms.stats.sample.rows" -> "1000", "spark.phantoms.lfta.memory" -> "64k")
    for (_ <- 1 to 3) {
      assert(sharedBy(spark) && sharedBy(coarse))
      assert(!sharedBy(none) && !sharedBy(dear) && !sharedBy(off))
    }
  }

  test("a session that does not observe leaves nothing behind for one that does") {
    StatsApi.statsClear(spark)
    val silent = other("spark.phantoms.stats.observe" -> "false")
    silent.sql(PluginSession.sets("flows")).collect()
    assert(memory.observations.all("").isEmpty)
    spark.sql(PluginSession.sets("flows")).collect()
    assert(memory.observations.all("").size == 1)
  }

  test("the next application of the process starts with nothing") {
    StatsApi.statsSetRows(spark, "flows", 7.0)
    sharedBy(spark)
    val before = memory.choices
    assert(memory.supplied.all.nonEmpty && before.size > 0)
    spark.stop()
    spark = SparkSession.builder().master(master).withExtensions(extensions).config(PluginSession.confs)
      .getOrCreate().asInstanceOf[SparkSession]
    views(spark)
    assert(memory.choices ne before)
    assert(memory.supplied.all.isEmpty && memory.choices.size == 0 && memory.observations.all("").isEmpty)
  }
}
