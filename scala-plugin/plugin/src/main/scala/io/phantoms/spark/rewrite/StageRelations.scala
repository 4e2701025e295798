package io.phantoms.spark.rewrite

import scala.collection.immutable.BitSet

import io.phantoms.spark.detect.{Consumer, Workload}
import io.phantoms.spark.model.{Configuration, Placement, Problem}
import io.phantoms.spark.physical.PartitionLayout
import io.phantoms.spark.spec.{RelationSpec, SharedSpec, ShipSpec}

/**
 * The relations of a configuration as each stage is to see them. Ordinals and records are the same in all of them; a
 * relation that a stage has nothing to do with is neither shipped nor derived there.
 */
private[rewrite] final class StageRelations(
    configuration: Configuration,
    workload: Workload,
    problem: Problem
) {
  private val relations = configuration.relations
  private val layout = PartitionLayout(configuration, problem)

  private def own(r: Int): RelationSpec = {
    val relation = relations(r)
    def sharded(shardKey: BitSet): ShipSpec = {
      require(shardKey.subsetOf(problem.dealing), s"relation $r: shards that part the slices of a group")
      ShipSpec(shardKey.toSeq, layout(r))
    }
    val ship = relation.placement match {
      case Placement.Shipped(shardKey, _) => Some(sharded(shardKey))
      case Placement.SecondTier(shardKey, _) => Some(sharded(shardKey))
      case _ => None
    }
    RelationSpec(
      relation.keys.toSeq,
      aggregatesBelow(r).toSeq,
      relation.parent,
      relation.buckets,
      ship,
      relation.isDerived,
      (groups(r) / shards(r)).toLong
    )
  }

  private def groups(r: Int): Double = problem.statistics.groups(relations(r).keys)

  private def shards(r: Int): Int =
    if (relations(r).isDerived) shards(relations(r).parent) else math.max(1, layout(r).size)

  private def aggregatesBelow(r: Int): BitSet = {
    val asked = relations(r).queries.map(q => BitSet.fromSpecific(workload.aggregatesOf(q)))
    (asked ++ configuration.children(r).map(aggregatesBelow)).foldLeft(BitSet.empty)(_ | _)
  }

  /** What map tasks maintain and ship; all the others count as derived. */
  val mapSide: IndexedSeq[RelationSpec] = view { (r, spec) =>
    if (relations(r).isSecondTier) spec.copy(ship = None, derived = true) else spec
  }

  /** What the first reduce stage merges and derives for a consumer. */
  def firstMerge(consumer: Consumer): IndexedSeq[RelationSpec] =
    view((r, spec) => if (!configuration.inSecondTier(r) && isAnswering(r, consumer)) spec else without(spec))

  /** What the tasks between the shuffles merge and derive, and ship again. */
  val tier: IndexedSeq[RelationSpec] = view { (r, spec) =>
    if (relations(r).isSecondTier) spec.copy(derived = true, expectedGroups = math.min(groups(r), tierGroups(r)).toLong)
    else if (configuration.feedsSecondTier(r)) spec
    else without(spec)
  }

  /** What the second reduce stage merges and derives. */
  val secondMerge: IndexedSeq[RelationSpec] =
    view((r, spec) => if (configuration.inSecondTier(r)) spec else without(spec))

  /** What it merges and derives for a consumer. */
  def secondMerge(consumer: Consumer): IndexedSeq[RelationSpec] =
    view((r, spec) => if (configuration.inSecondTier(r) && isAnswering(r, consumer)) spec else without(spec))

  private def view(f: (Int, RelationSpec) => RelationSpec): IndexedSeq[RelationSpec] =
    relations.indices.map(r => f(r, own(r)))

  private def without(spec: RelationSpec): RelationSpec = spec.copy(ship = None, derived = false)

  private def isAnswering(r: Int, consumer: Consumer): Boolean =
    (r +: configuration.derivedBelow(r)).exists(relations(_).queries.exists(consumer.queries.contains))

  // Groups of the relation that a task between the shuffles merges, which are as many as it can make of another.
  private def tierGroups(r: Int): Double = {
    val source = configuration.tierSource(r)
    groups(source) / shards(source)
  }

  /** Reduce partitions that the shuffle has which feeds these relations. */
  def partitions(relations: IndexedSeq[RelationSpec]): Int = relations.flatMap(_.ship).flatMap(_.partitions).max + 1

  /** Whether a stage with these relations answers the queries of relation `r`. */
  def answers(stage: IndexedSeq[RelationSpec], r: Int): Boolean = stage(r).derived || stage(r).ship.isDefined

  /** Relations of the second tier of which its merge must hear even when no row came in. */
  def announced(secondMerge: SharedSpec): Seq[Int] =
    relations.indices.filter(r => relations(r).isSecondTier && secondMerge.isAnnounced(r))
}
