package io.phantoms.spark.integration

import java.io.File
import java.nio.file.{Files, Path}

import io.phantoms.spark.Turns
import io.phantoms.spark.oracle.EverySecondTest

import org.apache.spark.{FetchFailed, SparkException}
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler._
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.DataFrame

/**
 * An executor goes between two tasks of the merge, and what its map tasks had shipped goes with it: some reduce tasks have
 * read the first edition, the others read the second. Fact 7: were that one different, Spark would abort the job.
 */
final class LostExecutorSuite extends EverySecondTest with ClusterSession {
  import ClusterSession._
  import LostExecutorSuite._

  override protected def confs: Map[String, String] = super.confs ++ Map(
    // More map tasks than executors, so that each has some.
    "spark.sql.files.openCostInBytes" -> "0",
    "spark.sql.files.maxPartitionBytes" -> "20k",
    // Whoever asks the dead for blocks need not insist.
    "spark.shuffle.io.maxRetries" -> "1",
    "spark.shuffle.io.retryWait" -> "100ms"
  )

  private lazy val rows: Seq[Row] = spark.table("flows").collect().toSeq

  private def overRdd(prepare: Iterator[Row] => Iterator[Row]): DataFrame =
    spark.createDataFrame(spark.sparkContext.parallelize(rows, 8).mapPartitions(prepare), spark.table("flows").schema)

  private def expected(sql: String): Seq[Row] = {
    spark.table("flows").createOrReplaceTempView("input")
    plain(spark.sql(sql).collect().toSeq)
  }

  /** Reads the result in tasks of which one takes its executor down, once another has finished. */
  private def losing(df: DataFrame, once: Path): RDD[Row] = df.rdd.mapPartitions(killAfterAnother(once))

  /** What the scheduler did around the loss. */
  private final class Loss(events: Seq[SparkListenerEvent]) {
    private val executor = events.collectFirst { case e: SparkListenerExecutorRemoved => e.executorId }
      .getOrElse(fail("no executor was lost"))
    // Those who miss its blocks may notice first.
    private val (before, after) = events.span {
      case e: SparkListenerTaskEnd => !e.reason.isInstanceOf[FetchFailed]
      case e => !e.isInstanceOf[SparkListenerExecutorRemoved]
    }

    private def done(part: Seq[SparkListenerEvent], kind: String): Seq[SparkListenerTaskEnd] = part.collect {
      case e: SparkListenerTaskEnd if isSuccess(e) && e.taskType == kind => e
    }
    // A job of its own makes a stage of its own over the same RDD, so the RDD is what tells that stages are the same.
    private val rddOf = events.collect { case e: SparkListenerStageSubmitted =>
      e.stageInfo.stageId -> e.stageInfo.rddInfos.head.id
    }.toMap
    private def work(e: SparkListenerTaskEnd): (Int, Int) = (rddOf(e.stageId), e.taskInfo.partitionId)

    val reducedBefore: Set[Int] = done(before, "ResultTask").map(_.taskInfo.partitionId).toSet
    val reducedAfter: Set[Int] = done(after, "ResultTask").map(_.taskInfo.partitionId).toSet
    private val mapped = done(before, "ShuffleMapTask")
    private val again = done(after, "ShuffleMapTask")

    /** RDDs whose map stage was complete when the executor went. */
    private val finished = before.collect {
      case e: SparkListenerStageCompleted if e.stageInfo.failureReason.isEmpty => rddOf(e.stageInfo.stageId)
    }.toSet
    val lost: Set[(Int, Int)] = mapped.filter(_.taskInfo.executorId == executor).map(work).toSet
    val kept: Set[(Int, Int)] = mapped.map(work).toSet -- lost
    val repeated: Set[(Int, Int)] = again.map(work).toSet
    val stages: Set[Int] = mapped.map(work(_)._1).toSet
    val repeatedStagesWereFinished: Boolean = repeated.map(_._1).subsetOf(finished)
    val mapAttempts: Set[(Int, Int)] = again.map(e => (e.stageId, e.stageAttemptId)).toSet -- mapped
      .map(e => (e.stageId, e.stageAttemptId))
    val resultAttempts: Set[Int] = done(after, "ResultTask").map(_.stageAttemptId).toSet

    override def toString: String =
      s"executor $executor; reduced before $reducedBefore, after $reducedAfter (attempts $resultAttempts); map tasks lost " +
        s"$lost, kept $kept, again $repeated (new stage attempts $mapAttempts)"
  }

  private def assertSurvives(sql: String, answer: Seq[Row], exchanges: Int = 1): Unit = {
    awaitExecutors()
    val once = marker()
    val df = spark.sql(sql)
    assert(isShared(df))
    val events = observing(_.all.exists(_.isInstanceOf[SparkListenerExecutorRemoved])) {
      assertRows(losing(df, once).collect().toSeq, answer)
    }
    assert(lftas(df.queryExecution.executedPlan).size == 1 && merges(df.queryExecution.executedPlan).size == 1)
    val loss = new Loss(events.all)
    withClue(loss) {
      assert(loss.stages.size == exchanges)
      assert(loss.reducedBefore.nonEmpty, "no reduce task had finished")
      assert((loss.reducedAfter -- loss.reducedBefore).nonEmpty, "no reduce task was left")
      assert(loss.lost.nonEmpty, "the executor had shipped nothing")
      // What is lost is made again, in a new attempt at a stage that was finished; with other bytes Spark would have
      // taken all of it back.
      assert(loss.repeatedStagesWereFinished && loss.mapAttempts.nonEmpty)
      assert(loss.repeated == loss.lost)
    }
    ()
  }

  private val strings =
    """select s, cast(null as int) as m, count(*) as n, sum(v) as total, min(s) as least from input group by s
      |union all select s, m, count(*), sum(v), min(s) from input group by s, m
      |union all select concat(s, '-', k), null, count(*), sum(v), max(s) from input group by concat(s, '-', k)
      |""".stripMargin
  private val chosen = Variants.spread(3) _
  // Few buckets, so that the order of rows shows in what is evicted.
  private val few: LogicalPlan => LogicalPlan = p => Variants.tables(4)(chosen(p))

  /** Name, query, whether adaptive execution is on, tables. */
  private val cases = Seq(
    ("numbers", PluginSession.union("input"), true, few),
    ("strings", strings, false, few),
    ("numbers and strings", PluginSession.sets("input"), true, chosen)
  )

  test("the session has Spark's checksums") {
    Seq("enabled", "enableFullRetryOnMismatch").foreach { key =>
      assert(spark.conf.get(s"spark.sql.shuffle.orderIndependentChecksum.$key") == "true")
      assert(spark.sparkContext.getConf.getOption(s"spark.sql.shuffle.orderIndependentChecksum.$key").isEmpty)
    }
  }

  private def input(kind: String): DataFrame = kind match {
    case "rows of an RDD" => overRdd(identity)
    case _ => spark.table("flows")
  }

  // Each loss costs an executor: of the product, two kinds, each with a case of its own.
  for {
    (kind, k) <- Turns.some(Seq("column batches", "rows of files", "rows of an RDD").zipWithIndex, 2)
    (name, sql, adaptive, variant) <- Turns.some(cases, 1, k + Turns.slower(3))
  } test(s"an executor lost with its map outputs: $name, $kind") {
    val answer = expected(sql)
    input(kind).createOrReplaceTempView("input")
    withConf(
      "spark.sql.adaptive.enabled" -> adaptive.toString,
      "spark.sql.parquet.enableVectorizedReader" -> (kind != "rows of files").toString
    ) {
      Variants.using(variant) {
        val columnar = lftas(spark.sql(sql).queryExecution.executedPlan).map(_.child.supportsColumnar)
        assert(columnar == Seq(kind == "column batches"))
        assertSurvives(sql, answer)
      }
    }
  }

  // After a shuffle rows come in another order the second time, and full tables evict others.
  private val shuffled = Seq(
    ("a repartitioning", false, 2, "select /*+ repartition(6, v) */ * from flows"),
    ("a join", true, 3, "select f.* from flows f join (select distinct v from flows) x on f.v = x.v")
  )

  for ((name, adaptive, exchanges, input) <- Turns.some(shuffled, 1))
    test(s"an executor lost with its map outputs: rows of $name") {
      val sql = "select k, m, count(*) as n, sum(v) from input group by grouping sets ((k), (m), ())"
      val answer = expected(sql)
      withConf(
        "spark.sql.adaptive.enabled" -> adaptive.toString,
        "spark.sql.adaptive.coalescePartitions.enabled" -> "false",
        "spark.sql.autoBroadcastJoinThreshold" -> "-1",
        "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1"
      ) {
        spark.sql(input).createOrReplaceTempView("input")
        Variants.using(few)(assertSurvives(sql, answer, exchanges))
      }
    }

  test("canary for fact 7: a map task that ships other bytes the second time aborts the job") {
    awaitExecutors()
    val sql = PluginSession.union("input")
    val once = marker()
    overRdd(otherOrderOnceMarked(once)).createOrReplaceTempView("input")
    Variants.using(few) {
      val df = spark.sql(sql)
      assert(isShared(df))
      val e = intercept[SparkException](losing(df, once).collect())
      assert(Files.exists(once), "no executor was lost")
      assert(e.getMessage.toLowerCase.contains("indeterminate"), e.getMessage)
    }
  }
}

object LostExecutorSuite {
  // Functions that go to executors: they must not hold the suite.
  import ClusterSession._

  /** The first task to see that another one has finished takes its executor down, once. */
  private def killAfterAnother(once: Path): Iterator[Row] => Iterator[Row] = {
    val marker = once.toString
    it => {
      val rows = it.toVector
      val isFirst = createOnce(marker + "-first")
      if (!isFirst && rows.nonEmpty && createOnce(marker)) {
        // The result of the first one should have arrived.
        Thread.sleep(1000)
        createOnce(marker + "-gone")
        Runtime.getRuntime.halt(1)
      }
      // The other executor may not be done with everything in the meantime.
      val deadline = System.nanoTime + 10000000000L
      while (new File(marker).exists && !new File(marker + "-gone").exists && System.nanoTime < deadline)
        Thread.sleep(20)
      rows.iterator
    }
  }

  private def otherOrderOnceMarked(once: Path): Iterator[Row] => Iterator[Row] = {
    val marker = once.toString
    it => if (new File(marker).exists()) it.toVector.reverseIterator else it
  }
}
