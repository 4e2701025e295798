package io.phantoms.spark.oracle

import scala.collection.immutable.BitSet

import io.phantoms.spark.PhantomsExtensions
import io.phantoms.spark.conf.PhantomsSettings
import io.phantoms.spark.model.{Choice, Configuration, Placement, Problem, Relation}
import io.phantoms.spark.rewrite.Sharing

import org.apache.spark.sql.SparkSession

/** The plugin with a configuration of two tiers for whatever it shares. */
object TwoTiers extends OtherChoices {

  /**
   * The union of all groupings shipped by `shardKey` of its attributes; queries that hold the key derived in its tasks,
   * the others in the second tier: each fed from the finest there that can, sharded by all its keys.
   *
   * @param chained whether relations of the second tier feed one another, and others are derived from them
   */
  def configuration(problem: Problem, shardKey: BitSet => BitSet, chained: Boolean): Configuration = {
    val groupings = problem.groupings.distinct.sortBy(-_.size)
    val finest = groupings.foldLeft(BitSet.empty)(_ | _)
    val key = shardKey(finest)
    def answers(keys: BitSet) = problem.groupings.indices.filter(problem.groupings(_) == keys).toVector
    def shards(keys: BitSet, most: Int) = if (keys.isEmpty) 1 else most
    val source = Relation(finest, answers(finest), -1, 4, Placement.Shipped(key, shards(key, 3)))
    val others = groupings.filter(_ != finest)
    val (first, second) = others.partition(key.subsetOf(_))
    val placed = first.map(k => Relation(k, answers(k), 0, 0, Placement.Derived)).toVector
    Configuration(second.foldLeft(source +: placed) { (relations, keys) =>
      val feeder = if (chained) relations.lastIndexWhere(r => keys.subsetOf(r.keys) && !r.isDerived) else 0
      // The global group is derived where a parent of one shard has it whole.
      val derived = relations(feeder).placement == Placement.SecondTier(BitSet.empty, 1)
      val placement =
        if (derived) Placement.Derived
        else Placement.SecondTier(
          if (chained && keys.size == 1) BitSet.empty else keys,
          if (chained && keys.size == 1) 1 else shards(keys, 2)
        )
      relations :+ Relation(keys, answers(keys), feeder, 0, placement)
    })
  }

  @volatile var chosen: Problem => Configuration = configuration(_, _.take(1), chained = false)

  override def choose(session: SparkSession, problem: Problem, settings: PhantomsSettings): Choice =
    if (problem.secondTier) Choice(Some(chosen(problem)), 1.0, 2.0, "two tiers")
    else Sharing.choose(session, problem, settings)
}

/** The plugin's wiring, with [[TwoTiers]]. */
class TwoTiersExtensions extends PhantomsExtensions(TwoTiers)
