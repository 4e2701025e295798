package io.phantoms.spark.integration

import java.nio.file.{Files, Path, Paths}

import scala.collection.mutable

import org.apache.spark.{SparkContext, Success}
import org.apache.spark.scheduler._
import org.apache.spark.sql.SparkSessionExtensions
import org.scalatest.Assertions.fail
import org.scalatest.Suite

/**
 * A session whose executors are processes of their own.
 *
 * Shuffle checksums are Spark's defaults, so a map task that runs again and ships other bytes aborts the job (fact 7).
 */
trait ClusterSession extends PluginSession { this: Suite =>
  override protected def extensions: SparkSessionExtensions => Unit = Variants.extensions
  override protected def master: String = ClusterSession.Master

  override protected def confs: Map[String, String] = ClusterSession.ofExecutors ++ Map(
    "spark.sql.shuffle.partitions" -> "4",
    // Spark's default outside of tests. Otherwise shuffle files go before the job that `rdd` makes reads them.
    "spark.sql.classic.shuffleDependency.fileCleanup.enabled" -> "false",
    "spark.task.maxFailures" -> "4",
    "spark.stage.maxConsecutiveAttempts" -> "8"
  )

  override def beforeAll(): Unit = {
    ClusterSession.makeHome()
    super.beforeAll()
    awaitExecutors()
  }

  override def afterAll(): Unit =
    try super.afterAll()
    finally ClusterSession.forgetHome()

  /** Waits until both executors are there: after a test that took one down, for its successor. */
  protected def awaitExecutors(): Unit = ClusterSession.awaitExecutors(spark.sparkContext)

  protected def marker(): Path = {
    val path = Files.createTempDirectory("phantoms-marker").resolve("once")
    assert(!Files.exists(path))
    path
  }

  /** Runs `body` and answers what the scheduler did meanwhile, once the scheduler's events satisfy `complete`. */
  protected def observing(complete: Events => Boolean)(body: => Any): Events = {
    val events = new Events
    spark.sparkContext.addSparkListener(events)
    try {
      val _ = body
      // Events arrive late.
      ClusterSession.eventually(20)(complete(events))
      events
    } finally spark.sparkContext.removeSparkListener(events)
  }

  /** What happened in the cluster, in the order in which the scheduler saw it. */
  protected final class Events extends SparkListener {
    private val seen = mutable.ArrayBuffer.empty[SparkListenerEvent]
    private def add(event: SparkListenerEvent): Unit = synchronized {
      val _ = seen += event
    }
    override def onTaskStart(event: SparkListenerTaskStart): Unit = add(event)
    override def onTaskEnd(event: SparkListenerTaskEnd): Unit = add(event)
    override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit = add(event)
    override def onStageCompleted(event: SparkListenerStageCompleted): Unit = add(event)
    override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit = add(event)

    def all: Seq[SparkListenerEvent] = synchronized(seen.toVector)
    def executors: Set[String] = all.collect { case e: SparkListenerTaskEnd => e.taskInfo.executorId }.toSet
  }
}

object ClusterSession {

  /** Two executors of one core. */
  val Master = "local-cluster[2,1,1024]"

  def ofExecutors: Map[String, String] = Map(
    "spark.executor.extraClassPath" -> System.getProperty("java.class.path"),
    "spark.executor.memory" -> "1g",
    // Executors live for seconds: as in the driver, the optimizing compiler costs more than it gains.
    "spark.executor.extraJavaOptions" -> "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
  )

  private val Home = "spark.test.home"

  /** Before a context of such a master: workers look for jars in Spark's home; the classes come with the class path. */
  def makeHome(): Unit = {
    val home = Files.createTempDirectory("phantoms-spark-home")
    Files.createDirectories(home.resolve("jars"))
    Files.createDirectories(home.resolve("launcher/target/scala-2.13"))
    val _ = System.setProperty(Home, home.toString)
  }

  def forgetHome(): Unit = {
    val _ = System.clearProperty(Home)
  }

  /** Waits until both executors are there. */
  def awaitExecutors(context: SparkContext): Unit =
    if (!eventually(60)(context.getExecutorMemoryStatus.size == 3)) fail("two executors should have come up")

  // Some go to executors: they must not hold a suite.

  def eventually(seconds: Int)(condition: => Boolean): Boolean = {
    val deadline = System.nanoTime + seconds * 1000L * 1000 * 1000
    while (!condition && System.nanoTime < deadline) Thread.sleep(50)
    condition
  }

  def createOnce(marker: String): Boolean =
    try {
      Files.createFile(Paths.get(marker))
      true
    } catch { case _: java.nio.file.FileAlreadyExistsException => false }

  def isSuccess(end: SparkListenerTaskEnd): Boolean = end.reason == Success
}
