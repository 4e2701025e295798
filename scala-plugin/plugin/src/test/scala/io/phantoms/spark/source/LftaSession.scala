package io.phantoms.spark.source

import java.nio.file.{Files, Path}

import io.phantoms.spark.{PhantomsExtensions, SessionConfs, TestSessions}
import io.phantoms.spark.detect.WorkloadOracle

import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.scalatest.{Assertions, BeforeAndAfterAll, Suite}

/**
 * A session with the functions but without sharing, a capture in a few files, and comparisons of queries over the source
 * with the same over the rows that it gave.
 */
trait LftaSession extends BeforeAndAfterAll with Assertions with AdaptiveSparkPlanHelper with SessionConfs {
  this: Suite =>
  protected var spark: SparkSession = _
  protected lazy val folder: Path = Files.createTempDirectory("phantoms-lfta")

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark = TestSessions.start(
      Map(
        "spark.sql.shuffle.partitions" -> "2",
        "spark.sql.session.timeZone" -> "UTC",
        "spark.sql.planChangeValidation" -> "true",
        "spark.phantoms.enabled" -> "false"
      ),
      extensions = new PhantomsExtensions
    )
  }

  override def afterAll(): Unit =
    try TestSessions.end(spark)
    finally super.afterAll()

  protected def read(path: String, options: (String, String)*): DataFrame =
    spark.read.format("lfta").options(options.toMap).load(path).asInstanceOf[DataFrame]

  protected def scans(df: DataFrame): Seq[LftaScan] =
    df.queryExecution.optimizedPlan.collect { case r: DataSourceV2ScanRelation => r.scan.asInstanceOf[LftaScan] }

  protected def isAggregated(df: DataFrame): Boolean = scans(df).forall(_.aggregate.isDefined) && scans(df).nonEmpty

  /** The rows of a read as a view over nothing that could be pushed down. */
  protected def materialized(df: DataFrame, view: String): Unit =
    spark.createDataFrame(
      spark.sparkContext.parallelize(df.collect().toSeq, 2),
      df.schema
    ).createOrReplaceTempView(view)

  protected def sameRows(found: Seq[Row], expected: Seq[Row]): Unit = {
    val (f, e) = (WorkloadOracle.multiset(found), WorkloadOracle.multiset(expected))
    assert(f == e, s"extra: ${f.toSeq.diff(e.toSeq).take(4)}, missing: ${e.toSeq.diff(f.toSeq).take(4)}")
    ()
  }

  /** What the readers of a query that has run counted. */
  protected def metrics(df: DataFrame): Map[String, Long] =
    collectWithSubqueries(df.queryExecution.executedPlan) { case b: BatchScanExec => b }
      .flatMap(_.metrics.map { case (name, m) => name -> m.value })
      .groupMapReduce(_._1)(_._2)(_ + _)
}
