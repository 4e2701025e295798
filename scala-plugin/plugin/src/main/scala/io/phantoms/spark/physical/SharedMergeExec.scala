package io.phantoms.spark.physical

import io.phantoms.spark.run.{Kernels, MergeTask, ObservedCounts, ResultRows, TaskShare}
import io.phantoms.spark.spec.SharedSpec

import org.apache.spark.SparkContext
import org.apache.spark.rdd.{PartitionPruningRDD, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/**
 * The high level: merges every relation shipped to it once, derives the relations below it in the same task, and writes the
 * rows of the queries.
 *
 * @param child the exchange of blocks
 */
final case class SharedMergeExec(spec: SharedSpec, output: Seq[Attribute], child: SparkPlan) extends UnaryExecNode {
  override def nodeName: String = "PhantomsMerge"
  override protected def stringArgs: Iterator[Any] = Iterator(spec.notation, output)
  override def producedAttributes: AttributeSet = AttributeSet(output)

  // Rows of several groupings lie in one partition: nothing can be promised of their distribution.
  override def outputPartitioning: Partitioning = UnknownPartitioning(child.outputPartitioning.numPartitions)

  override lazy val metrics: Map[String, SQLMetric] = SharedMergeExec.metrics(sparkContext) +
    ("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows")) +
    ("slices" -> SQLMetrics.createMetric(sparkContext, "slices that windows are put together from")) +
    ("fragments" -> SQLMetrics.createMetric(sparkContext, "fragments that results are put together from")) +
    ("windowMerges" -> SQLMetrics.createMetric(sparkContext, "final merges, of slices and fragments"))

  override protected def doExecute(): RDD[InternalRow] = {
    val ours = spec
    val blocks = SharedMergeExec.received(ours, child)
    LastExecution.running(this, spec.notation)
    val counts = ObservedCounts.merge(ours, blocks.getNumPartitions, sparkContext)
    val kernels = Kernels.hfta(ours, Kernels.mode(conf))
    val overdraft = TaskShare.of(sparkContext).merge
    val task = new MergeTask(ours, kernels, new ResultRows(ours, _), metrics, counts, overdraft)
    blocks.mapPartitionsWithIndex((partition, part) => task.run(partition, part))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): SharedMergeExec = copy(child = newChild)
}

object SharedMergeExec {

  /** What every merge reports. */
  private[spark] def metrics(sparkContext: SparkContext): Map[String, SQLMetric] = Map(
    "received" -> SQLMetrics.createMetric(sparkContext, "entries received"),
    "derived" -> SQLMetrics.createMetric(sparkContext, "entries derived"),
    "groups" -> SQLMetrics.createMetric(sparkContext, "groups"),
    "partialMerges" -> SQLMetrics.createMetric(sparkContext, "partial merges, of entries into groups"),
    "spilledBytes" -> SQLMetrics.createSizeMetric(sparkContext, "spilled to disk"),
    "peakBytes" -> SQLMetrics.createSizeMetric(sparkContext, "peak memory")
  )

  /** The partitions of a shuffle that hold relations which are merged; others are not even fetched. */
  private[spark] def received(spec: SharedSpec, exchange: SparkPlan): RDD[InternalRow] = {
    val wanted = spec.relations.indices.filter(spec.isReceived).flatMap(spec.relations(_).ship.get.partitions).toSet
    val blocks = exchange.execute()
    // A reader that adaptive execution puts between may number partitions in another way.
    val asShuffled = !exchange.isInstanceOf[AQEShuffleReadExec] && blocks.getNumPartitions == spec.numPartitions
    if (asShuffled && wanted.size < spec.numPartitions) PartitionPruningRDD.create(blocks, wanted.contains) else blocks
  }
}
