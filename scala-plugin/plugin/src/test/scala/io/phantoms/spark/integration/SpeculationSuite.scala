package io.phantoms.spark.integration

import java.util.Arrays

import io.phantoms.spark.Turns
import io.phantoms.spark.oracle.EverySecondTest

import org.apache.spark.{TaskContext, TaskKilled}
import org.apache.spark.scheduler.{SparkListenerTaskEnd, SparkListenerTaskStart}
import org.apache.spark.sql.Row

/** Two attempts at one task at the same time, on either side of the exchange: one of them counts, whichever it is. */
final class SpeculationSuite extends EverySecondTest with ClusterSession {
  import ClusterSession._
  import SpeculationSuite._

  // Two names of one machine are two hosts to Spark.
  private lazy val cluster = new StandaloneCluster(Arrays.asList("127.0.0.1", "localhost"), 2, 1024, folder)

  override protected def master: String = cluster.master

  override protected def confs: Map[String, String] = super.confs ++ Map(
    "spark.driver.host" -> "127.0.0.1",
    "spark.driver.bindAddress" -> "127.0.0.1",
    "spark.executor.cores" -> "2",
    "spark.locality.wait" -> "0s",
    "spark.speculation" -> "true",
    "spark.speculation.interval" -> "100ms",
    "spark.speculation.minTaskRuntime" -> "1s",
    "spark.speculation.quantile" -> "0.5"
  )

  override def afterAll(): Unit =
    try super.afterAll()
    finally cluster.stop()

  private lazy val rows: Seq[Row] = spark.table("flows").collect().toSeq

  private def input(delays: Option[Delays]): Unit = {
    val rdd = spark.sparkContext.parallelize(rows, 4)
    spark.createDataFrame(delays.fold(rdd)(d => rdd.mapPartitions(slow(d))), spark.table("flows").schema)
      .createOrReplaceTempView("input")
  }

  private def race(events: Events, kind: String): Seq[SparkListenerTaskEnd] = {
    val copied = events.all.collect {
      case e: SparkListenerTaskStart if e.taskInfo.speculative => (e.stageId, e.taskInfo.index)
    }.toSet
    events.all.collect {
      case e: SparkListenerTaskEnd if e.taskType == kind && copied((e.stageId, e.taskInfo.index)) => e
    }
  }

  private def assertRaced(kind: String, copyWins: Boolean)(body: => Any): Unit = {
    val events = observing(e => race(e, kind).size >= 2)(body)
    val ends = race(events, kind)
    withClue(ends.map(e => s"${e.taskInfo.attemptNumber} ${e.taskInfo.host}: ${e.reason}")) {
      assert(ends.map(_.taskInfo.host).distinct.size == 2)
      val (won, lost) = ends.partition(isSuccess)
      assert(won.exists(_.taskInfo.speculative == copyWins))
      assert(lost.exists(e => e.taskInfo.speculative != copyWins && e.reason.isInstanceOf[TaskKilled]))
    }
    ()
  }

  private val queries = Seq("union" -> PluginSession.union("input"), "sets" -> PluginSession.sets("input"))

  // Each race waits for seconds: each winner on each side with one of the queries.
  for {
    ((winner, delays), w) <- Seq("the copy" -> Delays(20000, 0), "the original" -> Delays(4000, 20000)).zipWithIndex
    (task, t) <- Seq("map", "reduce").zipWithIndex
    (name, sql) <- Turns.some(queries, 1, w + t)
  } test(s"of two attempts at a $task task $winner wins ($name)") {
    input(None)
    val answer = plain(spark.sql(sql).collect().toSeq)
    if (task == "map") {
      input(Some(delays))
      val df = spark.sql(sql)
      assert(isShared(df))
      assertRaced("ShuffleMapTask", winner == "the copy")(assertRows(df.collect().toSeq, answer))
    } else Variants.using(Variants.spread(3)) {
      val df = spark.sql(sql)
      assert(isShared(df))
      val slowed = df.rdd.mapPartitions(slow(delays))
      assertRaced("ResultTask", winner == "the copy")(assertRows(slowed.collect().toSeq, answer))
    }
  }
}

object SpeculationSuite {
  // What goes to executors must not hold the suite.

  /** Milliseconds that the first and the second attempt at task 0 take longer. */
  final case class Delays(original: Long, copy: Long)

  /** Holds task 0 up after its last row, when all but the end of its work is done. */
  private def slow(delays: Delays): Iterator[Row] => Iterator[Row] = it =>
    it ++ Iterator.single(()).flatMap { _ =>
      if (TaskContext.getPartitionId() == 0) {
        Thread.sleep(if (TaskContext.get().attemptNumber() == 0) delays.original else delays.copy)
      }
      Iterator.empty[Row]
    }
}
