package io.phantoms.spark.stats

import io.phantoms.spark.TestSessions
import io.phantoms.spark.api.StatsApi
import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.stats.observed.ObservationStore

import org.scalatest.funsuite.AnyFunSuite

/**
 * Nothing of the plugin has to be registered with Kryo. Which serializer task results go through is settled with the
 * application, hence a session of its own.
 */
final class RegisteredClassesSuite extends AnyFunSuite with PluginSession {
  override protected def confs: Map[String, String] = Map(
    "spark.serializer" -> "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrationRequired" -> "true",
    "spark.phantoms.stats.observe" -> "true"
  )

  // Without the table of every type: Spark itself cannot ship the rows it is made of.
  override def beforeAll(): Unit = {
    spark = TestSessions.start(PluginSession.confs ++ confs, master, extensions)
    PluginSession.flows(spark, 20000, 4).write.parquet(s"$folder/flows")
    spark.read.parquet(s"$folder/flows").createOrReplaceTempView("flows")
  }

  test("samples, observed executions and counts") {
    StatsApi.statsClear(spark)
    val sampled = StatsApi.statsSample(spark.table("flows"))
    assert(sampled.contains("\"sampled\":20000"), sampled)
    // Rows of single groups: results of plain Spark's own collect are not all registered either.
    val sets = PluginSession.sets("flows")
    val shared = assertSame(s"select count(*) c, sum(n) n, sum(total) t, sum(hash(k, m, s, last)) h from ($sets)")
    assert(merges(shared.queryExecution.executedPlan).nonEmpty)
    val seen = ObservationStore.of(spark.sparkContext).all("")
    assert(seen.exists(_.observation.rows.contains(20000.0)), seen)
    val counted = StatsApi.statsCount(spark.table("flows"), """[["k"], ["k", "m"]]""", 0.02)
    assert(counted.contains("\"rows\":20000"), counted)
    StatsApi.statsClear(spark)
  }
}
