package io.phantoms.spark.integration

import io.phantoms.spark.oracle.EverySecondTest
import io.phantoms.spark.physical.LftaExec

import org.apache.spark.sql.SparkSessionExtensions

/** Tables that do not reduce are passed by and tried again; second chances; both leave answers as they are. */
final class AdaptiveSuite extends EverySecondTest with PluginSession {
  override protected def extensions: SparkSessionExtensions => Unit = Variants.extensions

  private val rows = 150000

  /** Rows of one task, in files and as rows of `range`. */
  private def input(name: String, key: String): String = {
    spark.range(0, rows, 1, 1).selectExpr(s"cast($key as int) as k", "cast(id % 3 as int) as m", "id as v")
      .write.mode("overwrite").parquet(s"$folder/$name")
    spark.read.parquet(s"$folder/$name").createOrReplaceTempView(name)
    s"select k, m, count(*) as n, sum(v) as total from $name group by grouping sets ((k, m), (k))"
  }

  private def run(sql: String, buckets: Int, confs: (String, String)*): LftaExec =
    withConf(Seq("spark.sql.files.maxPartitionBytes" -> "1g") ++ confs: _*) {
      Variants.using(Variants.tables(buckets)) {
        // A fingerprint: there are as many groups as rows.
        val summary = "count(*), sum(n), sum(total), sum(cast(xxhash64(k, m, n, total) as decimal(38)))"
        val lfta = lftas(assertSame(s"select $summary from ($sql)").queryExecution.executedPlan) match {
          case Seq(one) => one
          case other => fail(s"$other")
        }
        val spec = lfta.spec
        val roots = spec.mapSide.count(spec.relations(_).parent < 0)
        assert(value(lfta, "probes") + value(lfta, "bypassed") == roots * rows + value(lfta, "internalEvictions"))
        lfta
      }
    }

  private def value(lfta: LftaExec, metric: String): Long = lfta.metrics(metric).value

  test("a table whose groups hardly ever come again is passed by") {
    bothModes {
      val sql = input("unique", "id * 7919 % 400009")
      val lfta = run(sql, 1 << 12)
      assert(value(lfta, "bypassed") > rows / 2, lfta.metrics)
      val off = run(sql, 1 << 12, "spark.phantoms.lfta.adaptive" -> "false")
      assert(value(off, "bypassed") == 0, off.metrics)
    }
    withConf("spark.sql.parquet.enableVectorizedReader" -> "false") {
      val lfta = run(input("unique", "id * 7919 % 400009"), 1 << 12)
      assert(!lfta.child.supportsColumnar && value(lfta, "bypassed") > rows / 2, lfta.metrics)
    }
  }

  test("a table that was passed by is tried again, and stays once it reduces") {
    // After a quarter of the rows there are only 100 groups left.
    val lfta = run(input("phases", s"if(id < ${rows / 4}, id * 7919 % 400009, id % 100)"), 1 << 12)
    assert(value(lfta, "bypassed") > rows / 8, lfta.metrics)
    assert(value(lfta, "hits") > rows * 3 / 8, lfta.metrics)
  }

  test("a table that reduces is never passed by") {
    val lfta = run(input("few", "id % 100"), 1 << 12)
    assert(value(lfta, "bypassed") == 0 && value(lfta, "hits") > rows - rows / 5, lfta.metrics)
  }

  test("with a second chance groups share buckets less") {
    // About as many groups as buckets (30 of both keys), in no order.
    val sql = input("mixed", "pmod(xxhash64(id), 10)")
    bothModes {
      def hits(secondChance: Boolean): Long = value(
        run(
          sql,
          32,
          "spark.phantoms.lfta.secondChance" -> secondChance.toString,
          "spark.phantoms.lfta.adaptive" -> "false"
        ),
        "hits"
      )
      val (without, second) = (hits(secondChance = false), hits(secondChance = true))
      assert(second > without + rows / 20, s"$second hits with a second chance, $without without")
    }
  }
}
