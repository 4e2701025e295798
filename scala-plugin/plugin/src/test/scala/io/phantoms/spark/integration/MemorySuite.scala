package io.phantoms.spark.integration

import io.phantoms.spark.oracle.EverySecondTest
import io.phantoms.spark.run.LftaTask
import io.phantoms.spark.shims.SparkInternals

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.memory.{MemoryConsumer, MemoryMode}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/** What tasks take from Spark's memory they give back; what they do not get, they do without. */
final class MemorySuite extends EverySecondTest with PluginSession {
  override protected def extensions: SparkSessionExtensions => Unit = Variants.extensions

  // 24 MB for the tasks of both cores, and every leak is an exception.
  override protected def confs: Map[String, String] = Map(
    "spark.testing.memory" -> (40 << 20).toString,
    "spark.testing.reservedMemory" -> "0",
    "spark.memory.fraction" -> "0.6",
    "spark.memory.storageFraction" -> "0.1",
    "spark.buffer.pageSize" -> "256k"
  )

  private def used: Long = SparkEnv.get.memoryManager.executionMemoryUsed

  private val numbers = """select k, m, count(*) as n, sum(v) as total, sum(d) as dec from flows
                          |group by grouping sets ((k, m), (k), (m), ())""".stripMargin
  private val queries = Seq("numbers" -> numbers, "strings" -> PluginSession.sets("flows"))

  private def tableBytes(sql: String): (Long, Long, Int) = {
    val df = spark.sql(sql)
    df.collect()
    val lfta = lftas(df.queryExecution.executedPlan).head
    (lfta.metrics("tableBytes").value, lfta.spec.tableBytes, lfta.child.execute().getNumPartitions)
  }

  queries.foreach { case (name, sql) =>
    test(s"tables of the chosen size where there is memory ($name)") {
      bothModes {
        assertSame(sql)
        assert(used == 0)
        val (taken, planned, tasks) = tableBytes(sql)
        assert(taken == planned * tasks)
      }
    }

    test(s"small tables where the chosen ones are refused ($name)") {
      bothModes {
        Variants.using(Variants.tables(1 << 18)) {
          assertSame(sql)
          assert(used == 0)
          val (taken, planned, tasks) = tableBytes(sql)
          assert(planned > (24L << 20), "the test would not refuse anything")
          assert(taken == planned / (1 << 18) * (1 << LftaTask.SmallTable) * tasks)
        }
      }
    }
  }

  test("blocks do not depend on what was granted, within the bound") {
    spark.range(0, 50000, 1, 1).selectExpr("cast(id * 7919 % 20011 as int) as k", "cast(id % 5 as int) as m", "id as v")
      .createOrReplaceTempView("granted")
    def run(buckets: Int, hog: Boolean): (Seq[(Int, Seq[Byte])], Long, Long) = withConf(
      "spark.sql.adaptive.enabled" -> "false"
    ) {
      val planned = Variants.using(Variants.tables(buckets)) {
        lftas(spark.sql(
          "select k, m, sum(v) from granted group by grouping sets ((k, m), (k), (m))"
        ).queryExecution.executedPlan)
      }.head
      val exec = if (hog) planned.copy(child = Hog(planned.child)) else planned
      val blocks = exec.execute().map(r => (r.getInt(0), r.getBinary(1).toSeq)).collect().toSeq
      assert(used == 0)
      (blocks, exec.metrics("tableBytes").value, exec.spec.tableBytes)
    }
    val (granted, bytes, planned) = run(1 << 12, hog = false)
    val (refused, sameBytes, _) = run(1 << 12, hog = true)
    assert(planned < LftaTask.FixedTables && bytes == planned && sameBytes == planned)
    assert(granted.size > 2 && granted == refused)

    // Beyond it they do.
    val (_, large, wanted) = run(1 << 18, hog = false)
    val (_, small, _) = run(1 << 18, hog = true)
    assert(wanted > LftaTask.FixedTables && large == wanted && small < planned, "the memory was not taken away")
  }

  test("more strings than the memory of a task may hold") {
    spark.range(0, 12000, 1, 2).selectExpr(
      "concat(id % 9000, repeat('y', 2000)) as s",
      "cast(id % 5 as int) as k",
      "id as v"
    ).write.parquet(s"$folder/wide")
    spark.read.parquet(s"$folder/wide").createOrReplaceTempView("wide")
    // Few groups remain: only the map side has to hold the strings, and it may flush.
    val sql =
      """select k, max(n) as n from (select k, min(length(s)) as n from wide group by k
                |union all select length(s) % 3, max(length(s)) from wide group by length(s) % 3) group by k""".stripMargin
    assertSame(sql)
    assertSame(
      "select k, length(s) as l, count(*), max(s) = min(s) from wide group by grouping sets ((k), (length(s)))"
    )
    assert(used == 0)
  }

  test("a LIMIT that stops reading gives the memory back") {
    bothModes {
      Seq(PluginSession.union("flows"), PluginSession.sets("flows")).foreach { q =>
        assert(spark.sql(q).take(1).length == 1)
        assert(used == 0)
        assert(spark.sql(s"select * from ($q) limit 2").collect().length == 2)
        assert(used == 0)
        assert(spark.sql(q).rdd.mapPartitions(_.take(1)).count() > 0)
        assert(used == 0)
      }
    }
  }

  test("a task that fails gives the memory back") {
    val failing = """select k, m, count(*), sum(raise) from
                    |(select k, m, case when v = 999 then raise_error('no') else 1 end as raise from flows)
                    |group by cube (k, m)""".stripMargin
    bothModes {
      val e = intercept[Exception](spark.sql(failing).collect())
      assert(Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).exists(_.getMessage.contains("no")))
      // The job has failed with its first task; another may still be on its way out.
      val deadline = System.nanoTime + 30L * 1000 * 1000 * 1000
      while (used != 0 && System.nanoTime < deadline) Thread.sleep(20)
      assert(used == 0)
    }
  }

  test("more groups than the memory of a reduce task may hold") {
    spark.range(0, 600000, 1, 2).selectExpr(
      "id as a",
      "id % 500000 as b",
      "id % 10 as c"
    ).createOrReplaceTempView("many")
    val sets = "select a, b, count(*) as n, sum(c) as total from many group by grouping sets ((a), (b), (a, b))"
    withConf("spark.sql.shuffle.partitions" -> "1") {
      val shared = assertSame(
        s"select a is null as x, b is null as y, count(*), sum(n), sum(total), sum(hash(a, b, n, total)) from ($sets) group by 1, 2"
      )
      assert(merges(shared.queryExecution.executedPlan).nonEmpty)
    }
    assert(used == 0)
  }

  test("more short strings than the memory of a task may hold") {
    spark.range(0, 400000, 1, 2).selectExpr("concat('v', id) as s", "cast(id % 5 as int) as k")
      .write.parquet(s"$folder/short_strings")
    spark.read.parquet(s"$folder/short_strings").createOrReplaceTempView("short_strings")
    Variants.using(Variants.tables(1 << 18)) {
      assertSame(
        """select k, max(l), count(*) from (select s, k, count(*) as n, max(length(s)) as l from short_strings
          |group by grouping sets ((s), (s, k), (k))) group by k""".stripMargin
      )
    }
    assert(used == 0)
  }
}

/** Takes all of a task's memory before the operators above start. */
final case class Hog(child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override protected def doExecute(): RDD[InternalRow] = child.execute().mapPartitions { rows =>
    Hog.takeAll(TaskContext.get())
    rows
  }
  override protected def withNewChildInternal(newChild: SparkPlan): Hog = copy(child = newChild)
}

object Hog {
  private def takeAll(context: TaskContext): Unit = {
    val manager = SparkInternals.taskMemoryManager(context)
    val hog = new MemoryConsumer(manager, manager.pageSizeBytes(), MemoryMode.ON_HEAP) {
      override def spill(size: Long, trigger: MemoryConsumer): Long = 0L
    }
    while (hog.acquireMemory(1L << 40) > 0) {}
    val _ = context.addTaskCompletionListener[Unit](_ => hog.freeMemory(hog.getUsed))
  }
}
