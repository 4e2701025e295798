package io.phantoms.spark.run

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.Files

import io.phantoms.spark.integration.PluginSession

import org.apache.spark.SparkEnv
import org.scalatest.funsuite.AnyFunSuite

/**
 * What a merge puts on disk is encrypted where the application says so. The key is made with the application, hence a
 * session of its own.
 */
final class SpillSecretsSuite extends AnyFunSuite with PluginSession {
  override protected def confs: Map[String, String] = Map(
    "spark.testing.memory" -> (32L << 20).toString,
    "spark.testing.reservedMemory" -> "0",
    "spark.io.encryption.enabled" -> "true",
    // Compressed text could not be found either.
    "spark.shuffle.spill.compress" -> "false",
    "spark.phantoms.lfta.memory" -> "1m",
    "spark.phantoms.secondTier.enabled" -> "false",
    "spark.sql.shuffle.partitions" -> "1"
  )

  test("no word of the rows is in the spill files, and the rows are plain Spark's") {
    spark.range(0, 200000, 1, 2).selectExpr(
      "int(id * 7919 % 66671) a",
      "concat('a secret that is long enough to fill memory ', id % 50021) b",
      "id v"
    ).createOrReplaceTempView("secrets")
    val sets = "select a, b, count(*) n, sum(v) s from secrets group by grouping sets ((a, b), (a), (b))"
    val df = spark.sql(sets)
    assert(isShared(df))
    // Tasks are asked once the merge has its first row: from then on there is a file until they end.
    val found = df.rdd.mapPartitions { rows =>
      val first = rows.hasNext
      val files = SparkEnv.get.blockManager.diskBlockManager.getAllFiles().filter(_.getName.startsWith("temp_local_"))
      val bytes = files.map(f => Files.readAllBytes(f.toPath))
      val readable = bytes.count(b => new String(b, ISO_8859_1).contains("a secret that is long"))
      assert(first && rows.length > 0)
      Iterator((bytes.map(_.length.toLong).sum, readable))
    }.collect()
    assert(found.map(_._1).sum > (1L << 20), "nothing went to disk")
    assert(found.map(_._2).sum == 0, "plain text on disk")
    val shared = assertSame(
      s"select a is null x, b is null y, count(*), sum(n), sum(s), sum(hash(a, b, n, s)) from ($sets) group by 1, 2"
    )
    assert(merges(shared.queryExecution.executedPlan).exists(_.metrics("spilledBytes").value > 0))
  }
}
