package io.phantoms.spark.execute

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, DirectShufflePartitionID}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.ShufflePartitionIdPassThrough
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.exchange.REPARTITION_BY_NUM

import io.phantoms.spark.rewrite.{SharedExchange, SharedMerge}

/**
 * Plans the two logical nodes of a rewrite; everything they need was decided when they were made, so planning them again
 * (adaptive execution does) gives the same operators.
 */
object PhantomsStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case m: SharedMerge => SharedMergeExec(m.spec, m.output, planLater(m.child)) :: Nil
    case e: SharedExchange =>
      val lfta = LftaExec(e.inputs, Nil, e.spec, e.output, planLater(e.child))
      val partition = e.output.head.asInstanceOf[AttributeReference]
      // A reduce partition is (relation, shard): this origin keeps adaptive execution from coalescing them.
      new BlockExchange(
        ShufflePartitionIdPassThrough(DirectShufflePartitionID(partition), e.spec.numPartitions),
        lfta,
        REPARTITION_BY_NUM,
        None
      ) :: Nil
    case _ => Nil
  }
}
