package io.phantoms.spark.source

import io.phantoms.spark.source.read.ReaderMetrics
import io.phantoms.spark.source.stream.{EventTimes, GroupedRead, StreamReaders}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, NamedExpression, UnsafeProjection}
import org.apache.spark.sql.catalyst.util.truncatedString
import org.apache.spark.sql.execution.{ExplainUtils, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.aggregate.HashAggregateExec
import org.apache.spark.sql.execution.datasources.v2.{DataSourceRDD, MicroBatchScanExec}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.streaming.operators.stateful.{EventTimeStatsAccum, EventTimeWatermarkExec}

/**
 * The first part of an aggregation over a micro-batch of a stream, done by its readers: what leaves their tables, a group
 * several times.
 *
 * What it stands over is not run, but done by the readers: the scan, its conditions, and the watermark, who are told what
 * they would have counted. They stay in the plan because Spark looks for them there.
 *
 * @param results of the rows of groups: what Spark's own operator hands out
 * @param groups what rows of groups have: grouping columns, aggregates
 * @param read what the readers do
 * @param replaced what Spark would do
 */
private[source] final case class StreamedGroupsExec(
    override val output: Seq[Attribute],
    results: Seq[NamedExpression],
    groups: Seq[Attribute],
    @transient readers: StreamReaders,
    @transient read: GroupedRead,
    @transient replaced: HashAggregateExec,
    child: SparkPlan
) extends UnaryExecNode {
  override lazy val metrics: Map[String, SQLMetric] =
    Map(ReaderMetrics.Rows -> SQLMetrics.createMetric(sparkContext, "number of output rows")) ++
      ReaderMetrics.tables.map(m => m.name -> SQLMetrics.createV2CustomMetric(sparkContext, m))

  override protected def doExecute(): RDD[InternalRow] = {
    val left = longMetric(ReaderMetrics.Rows)
    // Only now: rules that come later make copies of operators, each of which counts for itself.
    val scan = child.collectFirst { case s: MicroBatchScanExec => s }.get
    val watermark = child.collectFirst { case w: EventTimeWatermarkExec => new WatermarkTimes(w.eventTimeStats) }
    val factory = readers.groups(read.copy(times = watermark))
    val counted = scan.metrics ++ (metrics - ReaderMetrics.Rows)
    val rows = new DataSourceRDD(sparkContext, scan.partitions, factory, columnarReads = false, counted)
    val (of, from) = (results, groups)
    rows.mapPartitions { parts =>
      val projection = UnsafeProjection.create(of, from)
      parts.map { row =>
        left += 1
        projection(row)
      }
    }
  }

  // Of the same rows the same groups: what is shuffled may be used again.
  override protected def doCanonicalize(): SparkPlan = replaced.canonicalized

  override def simpleString(maxFields: Int): String = {
    val keys = truncatedString(replaced.groupingExpressions, "[", ", ", "]", maxFields)
    val functions = truncatedString(replaced.aggregateExpressions, "[", ", ", "]", maxFields)
    s"$nodeName(keys=$keys, functions=$functions) ${truncatedString(output, "[", ", ", "]", maxFields)}"
  }

  override def verboseStringWithOperatorId(): String =
    s"""
       |$formattedNodeName
       |${ExplainUtils.generateFieldString("Keys", replaced.groupingExpressions)}
       |${ExplainUtils.generateFieldString("Functions", replaced.aggregateExpressions)}
       |${ExplainUtils.generateFieldString("Output", output)}
       |""".stripMargin

  override protected def withNewChildInternal(newChild: SparkPlan): StreamedGroupsExec = copy(child = newChild)
}

/** Tells Spark's watermark, as the operator itself would. */
private[source] final class WatermarkTimes(stats: EventTimeStatsAccum) extends EventTimes {
  override def add(millis: Long): Unit = stats.add(millis)
}
