package io.phantoms.spark.physical

import java.lang.invoke.{MethodHandles, MethodType}

import org.apache.spark.ShuffleDependency
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.apache.spark.sql.execution.exchange.{ShuffleExchangeExec, ShuffleOrigin}

import io.phantoms.spark.shims.SparkInternals

/**
 * Spark's exchange for blocks, which goes without Spark's row-based checksums where a map task that runs again makes other
 * blocks of the same groups.
 *
 * The checksums are of bytes, and Spark aborts a job whose result stage has read some when they differ. Blocks differ where
 * input rows come in another order (over a shuffle), or where tables are as large as memory allows at the time. Any mix of
 * attempts then still gives the same totals: reduce partitions depend on a record's relation and key alone, reduce tasks
 * read whole map outputs, and merging is associative. That needs the same input rows, which the checksums of the shuffles
 * below see to; [[OrderInsensitive]] tells whether the operators in between keep it so. Otherwise, and over inputs whose
 * order is fixed, the checksums stay, and find sources that have changed.
 *
 * Not a case class, and its constructor takes what Spark's class takes: Spark copies nodes by calling it.
 */
final class BlockExchange(
    outputPartitioning: Partitioning,
    child: SparkPlan,
    shuffleOrigin: ShuffleOrigin,
    advisoryPartitionSize: Option[Long]
) extends ShuffleExchangeExec(outputPartitioning, child, shuffleOrigin, advisoryPartitionSize) {

  @transient override lazy val shuffleDependency: ShuffleDependency[Int, InternalRow, InternalRow] = {
    // The input is planned first, under the session's conf as it is.
    val unordered = SparkInternals.isUnordered(inputRDD)
    if (OrderInsensitive.mayShipOtherBlocks(child, unordered)) {
      SparkInternals.withoutRowChecksums(() => sparksDependency())
    } else sparksDependency()
  }

  /** What the class above makes, whatever its version: a lazy value, for which Scala has no `super`. */
  private def sparksDependency(): ShuffleDependency[Int, InternalRow, InternalRow] = MethodHandles.lookup()
    .findSpecial(
      classOf[ShuffleExchangeExec],
      "shuffleDependency",
      MethodType.methodType(classOf[ShuffleDependency[_, _, _]]),
      classOf[BlockExchange]
    )
    .invokeWithArguments(this)
    .asInstanceOf[ShuffleDependency[Int, InternalRow, InternalRow]]

  /**
   * Scans of one cached table are stages of their own under adaptive execution, told apart by their numbers: what counts is
   * what they scan, or several consumers would each have the blocks made.
   */
  override protected def doCanonicalize(): SparkPlan = {
    val scanned = child.transformUp { case stage: TableCacheQueryStageExec => stage.plan }
    if (scanned eq child) super.doCanonicalize() else withNewChildren(Seq(scanned)).canonicalized
  }

  override protected def withNewChildInternal(newChild: SparkPlan): ShuffleExchangeExec =
    new BlockExchange(outputPartitioning, newChild, shuffleOrigin, advisoryPartitionSize)

  override def canEqual(other: Any): Boolean = other.isInstanceOf[BlockExchange]
  override def equals(other: Any): Boolean = canEqual(other) && super.equals(other)
  override def hashCode: Int = super.hashCode
}
