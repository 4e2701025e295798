package io.phantoms.spark.execute

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/**
 * The high level: merges every shipped relation once, derives the relations below it in the same task, and writes the
 * rows of all queries.
 *
 * @param child the exchange of blocks
 */
final case class SharedMergeExec(spec: SharedSpec, output: Seq[Attribute], child: SparkPlan) extends UnaryExecNode {
  override def nodeName: String = "PhantomsMerge"
  override protected def stringArgs: Iterator[Any] = Iterator(spec.notation, output)
  override def producedAttributes: AttributeSet = AttributeSet(output)

  // Rows of several groupings lie in one partition: nothing can be promised of their distribution.
  override def outputPartitioning: Partitioning = UnknownPartitioning(child.outputPartitioning.numPartitions)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "received" -> SQLMetrics.createMetric(sparkContext, "entries received"),
    "derived" -> SQLMetrics.createMetric(sparkContext, "entries derived"),
    "groups" -> SQLMetrics.createMetric(sparkContext, "groups"),
    "spilledBytes" -> SQLMetrics.createSizeMetric(sparkContext, "spilled to disk"),
    "peakBytes" -> SQLMetrics.createSizeMetric(sparkContext, "peak memory")
  )

  override protected def doExecute(): RDD[InternalRow] = {
    val task = new MergeTask(spec, Kernels.hfta(spec, Kernels.mode(conf)), metrics)
    child.execute().mapPartitions(task.run(_))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): SharedMergeExec = copy(child = newChild)
}
