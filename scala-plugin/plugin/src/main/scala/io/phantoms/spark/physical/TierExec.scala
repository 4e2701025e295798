package io.phantoms.spark.physical

import io.phantoms.spark.run.{Kernels, LftaOptions, MergeTask, TierBlocks}
import io.phantoms.spark.spec.SharedSpec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/**
 * Between the shuffles: merges the relations that feed the second tier, aggregates their complete groups to those of the
 * second tier as far as they meet in one task, and writes these as blocks for the second shuffle.
 *
 * @param spec the relations as this stage sees them: received, derived, or derived and shipped
 * @param announced relations that are shipped even when no row came in
 * @param output reduce partition (int) and block (binary)
 * @param child the exchange of the first tier
 */
final case class TierExec(spec: SharedSpec, announced: Seq[Int], output: Seq[Attribute], child: SparkPlan)
    extends UnaryExecNode {
  override def nodeName: String = "PhantomsTier"
  override protected def stringArgs: Iterator[Any] = Iterator(spec.notation)
  override def producedAttributes: AttributeSet = AttributeSet(output)
  override def outputPartitioning: Partitioning = UnknownPartitioning(child.outputPartitioning.numPartitions)

  override lazy val metrics: Map[String, SQLMetric] = SharedMergeExec.metrics(sparkContext) ++ Map(
    "shipped" -> SQLMetrics.createMetric(sparkContext, "entries shipped again"),
    "blocks" -> SQLMetrics.createMetric(sparkContext, "blocks"),
    "blockBytes" -> SQLMetrics.createSizeMetric(sparkContext, "block bytes"),
    "bytesSaved" -> SQLMetrics.createSizeMetric(sparkContext, "bytes saved by packing")
  )

  override protected def doExecute(): RDD[InternalRow] = {
    val options = LftaOptions.read(conf, sparkContext)
    val (ours, ships, packed) = (spec, announced.toSet, options.packed)
    val kernels = Kernels.hfta(ours, Kernels.mode(conf))
    val task =
      new MergeTask(ours, kernels, new TierBlocks(ours, ships, packed, _), metrics, None, options.share.merge)
    val blocks = SharedMergeExec.received(ours, child)
    LastExecution.running(this, spec.notation)
    blocks.mapPartitionsWithIndex((partition, part) => task.run(partition, part))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): TierExec = copy(child = newChild)
}
