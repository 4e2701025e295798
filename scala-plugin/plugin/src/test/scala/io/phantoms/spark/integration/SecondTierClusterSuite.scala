package io.phantoms.spark.integration

import io.phantoms.spark.oracle.{TwoTiers, TwoTiersExtensions}
import io.phantoms.spark.physical.TierExec

import org.apache.spark.sql.SparkSessionExtensions
import org.scalatest.funsuite.AnyFunSuite

/** Two shuffles between executors in processes of their own. */
final class SecondTierClusterSuite extends AnyFunSuite with ClusterSession {
  override protected def extensions: SparkSessionExtensions => Unit = new TwoTiersExtensions

  test("several executors give the same rows") {
    for (chained <- Seq(false, true)) {
      TwoTiers.chosen = TwoTiers.configuration(_, _.take(1), chained)
      bothModes {
        val events = observing(_.executors.size == 2) {
          Seq(PluginSession.union("flows"), PluginSession.sets("flows", "v > 10")).foreach { sql =>
            val ran = assertSame(sql)
            assert(collect(ran.queryExecution.executedPlan) { case t: TierExec => t }.size == 1)
          }
        }
        assert(events.executors.size == 2, events.executors)
      }
    }
  }
}
