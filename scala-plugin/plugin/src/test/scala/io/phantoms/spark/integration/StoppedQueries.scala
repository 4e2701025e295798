package io.phantoms.spark.integration

import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._

import io.phantoms.spark.oracle.Outcome

import org.apache.spark.TaskContext
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.functions.{col, udf}
import org.scalatest.funsuite.AnyFunSuite

/** Who stops a query while the sample of its input is taken stops the query, and leaves nothing behind. */
trait StoppedQueries { this: AnyFunSuite with PluginSession =>
  import StoppedQueries.Gate

  private val passing = udf((v: Long) => Gate.pass(v))

  private def query: DataFrame =
    spark.table("flows").select(col("k"), passing(col("v")).as("v")).cube("k", "v").count()

  /** Runs the query until a task waits at the gate, and stops it. The class of its error is returned. */
  private def stopped(stop: Thread => Unit): String = {
    val gate = Gate.close()
    @volatile var error: Option[Throwable] = None
    val runs: Runnable = () =>
      try {
        spark.sparkContext.setJobGroup("stopped", "the query itself", interruptOnCancel = false)
        spark.sparkContext.setLocalProperty(Gate.Property, gate.id)
        val _ = query.collect()
      } catch { case e: Throwable => error = Some(e) }
    val thread = new Thread(runs)
    thread.start()
    try {
      assert(gate.reached.await(60, TimeUnit.SECONDS), "no task came to the gate")
      stop(thread)
      thread.join(60000)
      assert(!thread.isAlive, "the query goes on")
    } finally Gate.open()
    Outcome.errorClass(error.getOrElse(fail("the query ended well")))
  }

  private val ways: Seq[(String, Thread => Unit)] = Seq(
    "a cancelled job group" -> (_ => spark.sparkContext.cancelJobGroup("stopped")),
    "all jobs cancelled" -> (_ => spark.sparkContext.cancelAllJobs()),
    "an interrupted thread" -> (_.interrupt())
  )

  for ((name, stop) <- ways) test(s"$name ends the query as it ends plain Spark's, while it samples") {
    io.phantoms.spark.api.StatsApi.statsClear(spark)
    val expected = plain(stopped(stop))
    assert(!Gate.jobs.exists(_.contains("sample")))
    assert(stopped(stop) == expected)
    assert(Gate.jobs.exists(_.contains("sample")), "it was not in the sample that it was stopped")

    // Nothing of that is remembered: it samples anew, and then no more.
    Gate.forget()
    assertSame(query)
    assert(Gate.jobs.exists(_.contains("sample")))
    Gate.forget()
    assert(isShared(query) && Gate.jobs.isEmpty)
  }
}

object StoppedQueries {

  /** Where tasks of one query wait while it is closed; it notes the jobs whose tasks come by. */
  private[integration] object Gate {
    val Property = "phantoms.test.gate"

    final class Closed {
      val id: String = java.util.UUID.randomUUID.toString
      val reached = new CountDownLatch(1)
      val opened = new CountDownLatch(1)
    }

    @volatile private var closed: Option[Closed] = None
    private val seen = new ConcurrentLinkedQueue[String]

    def jobs: Set[String] = seen.asScala.toSet
    def forget(): Unit = seen.clear()

    def close(): Closed = {
      forget()
      val gate = new Closed
      closed = Some(gate)
      gate
    }

    def open(): Unit = {
      closed.foreach(_.opened.countDown())
      closed = None
    }

    // Tasks of a query that was stopped before run on for a while: they are not waited for, nor are they noted.
    def pass(value: Long): Long = {
      // Without a task the optimizer or the analyzer evaluates it.
      Option(TaskContext.get()).foreach { task =>
        val gate = closed
        if (Option(task.getLocalProperty(Property)) == gate.map(_.id)) {
          if (value % 100 == 0 || gate.isDefined)
            seen.add(Option(task.getLocalProperty("spark.job.description")).getOrElse("none"))
          gate.foreach { g =>
            g.reached.countDown()
            g.opened.await()
          }
        }
      }
      value
    }
  }
}
