package io.phantoms.spark.integration

import java.io.File
import java.nio.file.{Files, Path, Paths}

import scala.collection.mutable

import org.apache.spark.{SparkException, TaskContext}
import org.apache.spark.scheduler.{
  SparkListener,
  SparkListenerExecutorRemoved,
  SparkListenerSpeculativeTaskSubmitted,
  SparkListenerTaskEnd
}
import org.apache.spark.sql.{Row, SparkSessionExtensions}
import org.apache.spark.sql.classic.DataFrame
import org.scalatest.funsuite.AnyFunSuite

/**
 * Executors in processes of their own: lost map outputs, failed tasks, speculation.
 *
 * Shuffle checksums are Spark's defaults, so a map task that runs again and ships other bytes aborts the job (fact 7).
 */
final class ClusterSuite extends AnyFunSuite with PluginSession {
  import ClusterSuite._

  override protected def extensions: SparkSessionExtensions => Unit = Variants.extensions
  override protected def master: String = "local-cluster[2,1,1024]"

  override protected def confs: Map[String, String] = Map(
    "spark.executor.extraClassPath" -> System.getProperty("java.class.path"),
    "spark.executor.memory" -> "1g",
    "spark.sql.shuffle.partitions" -> "4",
    "spark.task.maxFailures" -> "4",
    "spark.stage.maxConsecutiveAttempts" -> "8",
    "spark.speculation" -> "true",
    "spark.speculation.interval" -> "100ms",
    "spark.speculation.minTaskRuntime" -> "4s"
  )

  override def beforeAll(): Unit = {
    // Workers look for jars in Spark's home; the classes come with the class path instead.
    val home = Files.createTempDirectory("phantoms-spark-home")
    Files.createDirectories(home.resolve("jars"))
    Files.createDirectories(home.resolve("launcher/target/scala-2.13"))
    System.setProperty("spark.test.home", home.toString)
    super.beforeAll()
    val sc = spark.sparkContext
    val deadline = System.nanoTime + 60L * 1000 * 1000 * 1000
    while (sc.getExecutorMemoryStatus.size < 3 && System.nanoTime < deadline) Thread.sleep(100)
    if (sc.getExecutorMemoryStatus.size < 3) fail("two executors should have come up")
  }

  override def afterAll(): Unit =
    try super.afterAll()
    finally {
      val _ = System.clearProperty("spark.test.home")
    }

  private val queries = Seq("union" -> PluginSession.union("input"), "sets" -> PluginSession.sets("input"))

  private def marker(): Path = {
    val path = Files.createTempDirectory("phantoms-marker").resolve("once")
    assert(!Files.exists(path))
    path
  }

  /** An input behind an RDD, whose partitions `disturb` may change or fail. */
  private def input(disturb: Iterator[Row] => Iterator[Row] = identity): Unit = {
    val disturbed = spark.sparkContext.parallelize(rows, 6).mapPartitions(disturb)
    spark.createDataFrame(disturbed, spark.table("flows").schema).createOrReplaceTempView("input")
  }

  private lazy val rows: Seq[Row] = spark.table("flows").collect().toSeq

  private def expected(sql: String): Seq[Row] = {
    spark.table("flows").createOrReplaceTempView("input")
    plain(spark.sql(sql).collect().toSeq)
  }

  /** What happened in the cluster meanwhile. */
  private final class Events extends SparkListener {
    val executors: mutable.Set[String] = mutable.Set.empty
    @volatile var lost = 0
    @volatile var speculative = 0
    override def onTaskEnd(end: SparkListenerTaskEnd): Unit = synchronized {
      val _ = executors += end.taskInfo.executorId
    }
    override def onSpeculativeTaskSubmitted(submitted: SparkListenerSpeculativeTaskSubmitted): Unit = speculative += 1
    override def onExecutorRemoved(removed: SparkListenerExecutorRemoved): Unit = lost += 1
  }

  private def observing(body: => Any): Events = {
    val events = new Events
    spark.sparkContext.addSparkListener(events)
    try {
      val _ = body
      // Events arrive late.
      Thread.sleep(1000)
      events
    } finally spark.sparkContext.removeSparkListener(events)
  }

  test("several executors give the same rows") {
    bothModes {
      val events = observing {
        assertSame(PluginSession.union("flows"))
        assertSame(PluginSession.sets("flows", "v > 10"))
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

  /** Reads the result in tasks of which one takes its executor down, after others have finished. */
  private def collectLosingExecutor(df: DataFrame, once: Path): Seq[Row] = {
    val kill = killAfterFirstRow(once)
    df.rdd.mapPartitionsWithIndex(kill).collect().toSeq
  }

  queries.foreach { case (name, sql) =>
    test(s"an executor lost with its map outputs: they are made again, the same ($name)") {
      val answer = expected(sql)
      bothModes {
        val once = marker()
        input()
        // Several reduce tasks, of which some are done when the executor goes.
        Variants.using(Variants.spread(3)) {
          val df = spark.sql(sql)
          assert(isShared(df))
          val events = observing(assertRows(collectLosingExecutor(df, once), answer))
          assert(events.lost > 0, "no executor was lost")
        }
      }
    }
  }

  test("canary for fact 7: a map task that ships other bytes the second time aborts the job") {
    val sql = queries.head._2
    val once = marker()
    input(otherOrderOnceMarked(once))
    // Few buckets, so that the order of rows shows in what is evicted.
    Variants.using(p => Variants.tables(4)(Variants.spread(3)(p))) {
      val df = spark.sql(sql)
      assert(isShared(df))
      val e = intercept[SparkException](collectLosingExecutor(df, once))
      assert(Files.exists(once), "no executor was lost")
      assert(e.getMessage.toLowerCase.contains("indeterminate"), e.getMessage)
    }
  }

  // All workers are on one host, on which Spark starts no copy of a task that runs there: it asks for one only.
  test("speculation on, with a slow task") {
    val (_, sql) = queries.head
    val answer = expected(sql)
    input(slowFirstAttempt)
    val events = observing(assertRows(spark.sql(sql).collect().toSeq, answer))
    assert(events.speculative > 0, "no copy was asked for")
  }
}

object ClusterSuite {
  // Functions that go to executors: they must not hold the suite.

  private def createOnce(marker: String): Boolean =
    try {
      Files.createFile(Paths.get(marker))
      true
    } catch { case _: java.nio.file.FileAlreadyExistsException => false }

  private def failAfter(rows: Int, once: Path): Iterator[Row] => Iterator[Row] = {
    val marker = once.toString
    it =>
      it.zipWithIndex.map { case (row, i) =>
        if (i == rows && createOnce(marker)) throw new IllegalStateException("a failure made for a test")
        row
      }
  }

  private def killAfterFirstRow(once: Path): (Int, Iterator[Row]) => Iterator[Row] = {
    val marker = once.toString
    (partition, it) =>
      if (partition == 0) it
      else {
        val rows = it.toVector
        if (rows.nonEmpty && createOnce(marker)) {
          // The results of tasks that are done should have arrived.
          Thread.sleep(1000)
          Runtime.getRuntime.halt(1)
        }
        rows.iterator
      }
  }

  private def otherOrderOnceMarked(once: Path): Iterator[Row] => Iterator[Row] = {
    val marker = once.toString
    it => if (new File(marker).exists()) it.toVector.reverseIterator else it
  }

  private def slowFirstAttempt: Iterator[Row] => Iterator[Row] = { it =>
    if (TaskContext.get().attemptNumber() == 0 && TaskContext.getPartitionId() == 0) Thread.sleep(12000)
    it
  }
}
