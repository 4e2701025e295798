package io.phantoms.spark.physical

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, DirectShufflePartitionID}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.ShufflePartitionIdPassThrough
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.exchange.REPARTITION_BY_NUM

/**
 * Plans the logical nodes of a rewrite; everything they need was decided when they were made, so planning them again
 * (adaptive execution does) gives the same operators.
 */
object PhantomsStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case m: SharedMerge => SharedMergeExec(m.spec, m.output, planLater(m.child)) :: Nil
    case e: SharedExchange =>
      exchange(e.spec.numPartitions, LftaExec(e.inputs, e.steps, e.spec, e.output, planLater(e.child))) :: Nil
    case e: TierExchange =>
      exchange(e.spec.numPartitions, TierExec(e.spec, e.announced, e.output, planLater(e.child))) :: Nil
    case v: Verified => VerifiedExec(v.columns, v.about, v.fingerprint, planLater(v.plain)) :: Nil
    case _ => Nil
  }

  // A reduce partition is (relation, shard): this origin keeps adaptive execution from coalescing them.
  private def exchange(partitions: Int, blocks: SparkPlan): SparkPlan = {
    val partition = blocks.output.head.asInstanceOf[AttributeReference]
    new BlockExchange(
      ShufflePartitionIdPassThrough(DirectShufflePartitionID(partition), partitions),
      blocks,
      REPARTITION_BY_NUM,
      None
    )
  }
}
