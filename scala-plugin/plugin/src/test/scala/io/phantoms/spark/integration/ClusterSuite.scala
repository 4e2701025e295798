package io.phantoms.spark.integration

import java.nio.file.{Files, Path}

import org.apache.spark.sql.Row
import org.scalatest.funsuite.AnyFunSuite

/** Executors in processes of their own: failed tasks. See [[LostExecutorSuite]] and [[SpeculationSuite]] for the rest. */
final class ClusterSuite extends AnyFunSuite with ClusterSession {
  import ClusterSuite._

  private val queries = Seq("union" -> PluginSession.union("input"), "sets" -> PluginSession.sets("input"))

  /** An input behind an RDD, whose partitions `disturb` may change or fail. */
  private def input(disturb: Iterator[Row] => Iterator[Row]): Unit = {
    val disturbed = spark.sparkContext.parallelize(rows, 6).mapPartitions(disturb)
    spark.createDataFrame(disturbed, spark.table("flows").schema).createOrReplaceTempView("input")
  }

  private lazy val rows: Seq[Row] = spark.table("flows").collect().toSeq

  private def expected(sql: String): Seq[Row] = {
    spark.table("flows").createOrReplaceTempView("input")
    plain(spark.sql(sql).collect().toSeq)
  }

  test("several executors give the same rows") {
    bothModes {
      val events = observing(_.executors.size == 2) {
        assertSame(PluginSession.union("flows"))
        assertSame(PluginSession.sets("flows", "v > 10"))
        assertSame(PluginSession.windows("flows"))
        assertSame(
          s"select x.k, y.n from (${PluginSession.union("flows")}) x join (${PluginSession.union("flows")}) y on x.k = y.n"
        )
      }
      assert(events.executors.size == 2, events.executors)
    }
  }

  test("several executors without generated code") {
    withConf("spark.sql.codegen.factoryMode" -> "NO_CODEGEN") {
      bothModes {
        assertSame(PluginSession.union("flows", "v > 10"))
        assertSame(PluginSession.sets("flows"))
      }
    }
  }

  test("a map task that fails once is run again") {
    queries.foreach { case (name, sql) =>
      val answer = expected(sql)
      bothModes {
        val once = marker()
        input(failAfter(100, once))
        val df = spark.sql(sql)
        assert(isShared(df))
        withClue(name)(assertRows(df.collect().toSeq, answer))
        assert(Files.exists(once), "no task failed")
      }
    }
  }
}

object ClusterSuite {
  // Functions that go to executors: they must not hold the suite.
  import ClusterSession._

  private def failAfter(rows: Int, once: Path): Iterator[Row] => Iterator[Row] = {
    val marker = once.toString
    it =>
      it.zipWithIndex.map { case (row, i) =>
        if (i == rows && createOnce(marker)) throw new IllegalStateException("a failure made for a test")
        row
      }
  }
}
