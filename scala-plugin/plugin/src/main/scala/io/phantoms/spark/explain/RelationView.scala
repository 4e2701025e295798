package io.phantoms.spark.explain

import scala.collection.immutable.BitSet

import io.phantoms.spark.decide.Shared
import io.phantoms.spark.model.{Configuration, KeyKind, Placement, Problem, Relation}

/**
 * One relation of a configuration with names in place of ordinals, for JSON and text alike.
 *
 * @param queries ordinals of the queries it answers
 * @param parent ordinal of the relation that feeds it, -1 for the input
 * @param placement `feeds` (an LFTA table for its children only), `shipped`, `derived` or `second tier` (shipped again
 *   from the reduce tasks of its parent)
 * @param groups how many groups it is expected to have
 * @param slices how many slices of time it is expected to tell apart; None: it tells none
 * @param fragments likewise of what predicates a row satisfies
 * @param bits ordinals of the keys, as the notation takes them
 * @param shardBits ordinals of the shard key
 */
final case class RelationView(
    keys: Seq[String],
    queries: Seq[Int],
    parent: Int,
    buckets: Int,
    placement: String,
    shardKey: Seq[String],
    shards: Int,
    groups: Double,
    slices: Option[Double],
    fragments: Option[Double],
    bits: BitSet,
    shardBits: BitSet
) {
  def isPhantom: Boolean = queries.isEmpty
}

object RelationView {
  def of(shared: Shared): Seq[RelationView] = of(shared.problem, shared.configuration)

  def of(problem: Problem, configuration: Configuration): Seq[RelationView] =
    configuration.relations.map(of(problem, _))

  private def of(problem: Problem, r: Relation): RelationView = {
    val (placement, shardKey, shards) = r.placement match {
      case Placement.Feeds => ("feeds", BitSet.empty, 0)
      case Placement.Shipped(key, n) => ("shipped", key, n)
      case Placement.Derived => ("derived", BitSet.empty, 0)
      case Placement.SecondTier(key, n) => ("second tier", key, n)
    }
    def told(kind: KeyKind): Option[Double] = {
      val keys = r.keys.filter(problem.attributes(_).kind == kind)
      Option.when(keys.nonEmpty)(problem.statistics.groups(keys))
    }
    RelationView(
      names(problem, r.keys),
      r.queries,
      r.parent,
      r.buckets,
      placement,
      names(problem, shardKey),
      shards,
      problem.statistics.groups(r.keys),
      told(KeyKind.Slice),
      told(KeyKind.Signature),
      r.keys,
      shardKey
    )
  }

  def names(problem: Problem, keys: BitSet): Seq[String] = keys.toSeq.map(problem.attributes(_).name)
}
