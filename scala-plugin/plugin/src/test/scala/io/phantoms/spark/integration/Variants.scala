package io.phantoms.spark.integration

import io.phantoms.spark.oracle.ChangedPlans
import io.phantoms.spark.physical.{
  AbsorbProjectFilter,
  LftaExec,
  PhantomsStrategy,
  SharedExchange,
  SharedMerge,
  SharedMergeExec
}
import io.phantoms.spark.rewrite.PhantomsRule
import io.phantoms.spark.spec.{SharedSpec, ShipSpec}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.ShufflePartitionIdPassThrough
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.exchange.{REPARTITION_BY_NUM, ShuffleExchangeExec}

/**
 * The plugin with a hook on the plan it makes: with the identity it is the plugin; other functions give it other table
 * sizes, or take one remedy away, so that a test can show what that remedy is for.
 */
object Variants {
  def using[T](f: LogicalPlan => LogicalPlan)(body: => T): T = HookedSharing.during(f)(body)

  val extensions: SparkSessionExtensions => Unit = { e =>
    e.injectPreCBORule(session => new PhantomsRule(session, HookedSharing))
    e.injectPlannerStrategy(_ => VariantStrategy)
    e.injectPlannerStrategy(_ => PhantomsStrategy)
    e.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions = AbsorbProjectFilter })
  }

  private object HookedSharing extends ChangedPlans

  /** Another configuration of the same shape. */
  def respec(f: SharedSpec => SharedSpec)(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case m: SharedMerge => m.copy(spec = f(m.spec))
    case e: SharedExchange => e.copy(spec = f(e.spec))
  }

  /** All tables of `buckets` buckets; 0: no table, everything passes through. */
  def tables(buckets: Int)(plan: LogicalPlan): LogicalPlan =
    respec(s => s.copy(relations = s.relations.map(r => if (r.derived) r else r.copy(buckets = buckets))))(plan)

  /** Every relation shipped from the map side, in reduce partitions of its own, `shards` of them where it has keys. */
  def spread(shards: Int)(plan: LogicalPlan): LogicalPlan = respec { s =>
    val counts = s.relations.map(r => if (r.keys.isEmpty) 1 else shards)
    val starts = counts.scanLeft(0)(_ + _)
    s.copy(
      relations = s.relations.zipWithIndex.map { case (r, i) =>
        r.copy(
          buckets = math.max(r.buckets, 16),
          ship = Some(ShipSpec(r.keys, starts(i) until starts(i + 1))),
          derived = false
        )
      },
      numPartitions = starts.last
    )
  }(plan)

  /** Both nodes as one, which inherits what a UnaryNode does. */
  def oneNode(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case SharedMerge(spec, _, output, e: SharedExchange) => OneNode(e.inputs, e.steps, spec, e.output, output, e.child)
  }

  /** One node that puts out the operator's own attributes, which are the input's where a branch selects a bare column. */
  def oneNodeWithBaseIds(plan: LogicalPlan): LogicalPlan = oneNode(plan).transformUp {
    case p @ Project(_, n: OneNode) => n.copy(output = p.output)
  }

  /** The upper node without its `references`. */
  def withoutReferences(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case SharedMerge(spec, _, output, child) => BlindMerge(spec, output, child)
  }

  /** The lower node planned without a task for inputs that have no partition. */
  def withoutPartitions(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case e: SharedExchange => UnguardedExchange(e.inputs, e.steps, e.spec, e.output, e.child)
  }
}

final case class OneNode(
    inputs: Seq[Expression],
    steps: Seq[Expression],
    spec: SharedSpec,
    blocks: Seq[Attribute],
    output: Seq[Attribute],
    child: LogicalPlan
) extends UnaryNode {
  override def producedAttributes: AttributeSet =
    AttributeSet((output ++ blocks).filterNot(child.outputSet.contains))
  override protected def withNewChildInternal(newChild: LogicalPlan): OneNode = copy(child = newChild)
}

final case class BlindMerge(spec: SharedSpec, output: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def producedAttributes: AttributeSet = AttributeSet(output)
  override protected def withNewChildInternal(newChild: LogicalPlan): BlindMerge = copy(child = newChild)
}

final case class UnguardedExchange(
    inputs: Seq[Expression],
    steps: Seq[Expression],
    spec: SharedSpec,
    output: Seq[Attribute],
    child: LogicalPlan
) extends UnaryNode {
  override def producedAttributes: AttributeSet = AttributeSet(output)
  override protected def withNewChildInternal(newChild: LogicalPlan): UnguardedExchange = copy(child = newChild)
}

object VariantStrategy extends SparkStrategy {
  private def exchange(spec: SharedSpec, blocks: Seq[Attribute], lfta: SparkPlan): SparkPlan = ShuffleExchangeExec(
    ShufflePartitionIdPassThrough(
      DirectShufflePartitionID(blocks.head.asInstanceOf[AttributeReference]),
      spec.numPartitions
    ),
    lfta,
    REPARTITION_BY_NUM
  )

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case n: OneNode =>
      val lfta = LftaExec(n.inputs, n.steps, n.spec, n.blocks, planLater(n.child))
      SharedMergeExec(n.spec, n.output, exchange(n.spec, n.blocks, lfta)) :: Nil
    case m: BlindMerge => SharedMergeExec(m.spec, m.output, planLater(m.child)) :: Nil
    case e: UnguardedExchange =>
      exchange(
        e.spec,
        e.output,
        UnguardedLfta(LftaExec(e.inputs, e.steps, e.spec, e.output, planLater(e.child)))
      ) :: Nil
    case _ => Nil
  }
}

/** The LFTA where its input has partitions, nothing where it has none. */
final case class UnguardedLfta(child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override protected def doExecute(): RDD[InternalRow] = PluginSession.ofStage(child) match {
    case l: LftaExec if !l.child.supportsColumnar && l.child.execute().getNumPartitions == 0 =>
      sparkContext.emptyRDD[InternalRow]
    case l: LftaExec if l.child.supportsColumnar && l.child.executeColumnar().getNumPartitions == 0 =>
      sparkContext.emptyRDD[InternalRow]
    case _ => child.execute()
  }
  override protected def withNewChildInternal(newChild: SparkPlan): UnguardedLfta = copy(child = newChild)
}
