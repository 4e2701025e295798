package io.phantoms.spark.cost

import scala.collection.immutable.BitSet

import io.phantoms.spark.model.{Configuration, Placement, Problem}

/**
 * What the chooser expects of one relation of a configuration; all map tasks together.
 *
 * @param groups g_R
 * @param fed entries that reach it: rows for a raw relation, evictions of its parent in the LFTA, groups of its parent
 *   when derived or of the second tier, entries its parent ships when that is in the second tier too
 * @param collisionRate collisions per probe (SMAP eq 15); 0 for a derived relation, 1 for one without a table
 * @param evictions entries that leave its LFTA table, end of the epoch included; of a relation of the second tier the
 *   entries shipped by the tasks between the shuffles; 0 when derived
 * @param tableBytes bytes of its LFTA table in one map task
 * @param cost work in nanoseconds, over all tasks: probes, shipping, merging or deriving (twice where both tiers need its
 *   groups), and writing results
 */
final case class RelationEstimate(
    groups: Double,
    fed: Double,
    collisionRate: Double,
    evictions: Double,
    tableBytes: Long,
    cost: Double
)

/**
 * @param relations in the order of the configuration
 * @param elapsed expected time of the whole job in nanoseconds
 */
final case class ConfigurationEstimate(relations: Vector[RelationEstimate], elapsed: Double)

private[spark] object ConfigurationEstimate {

  def apply(problem: Problem, configuration: Configuration): ConfigurationEstimate = {
    val model = new CostModel(problem)
    val relations = configuration.relations
    val statistics = problem.statistics
    val groups =
      relations.map(r => math.min(math.max(1.0, model.rows), math.max(1.0, statistics.groups(r.keys)))).toArray
    val evictions = new Array[Double](relations.size) // of one task; of all in the second tier
    val reduceWork = new Array[Double](relations.size) // of the relation alone, at its shipped ancestor
    val tierWork = new Array[Double](relations.size) // likewise, of the tasks between the shuffles
    val shippedAt = new Array[Int](relations.size)
    val busyAt = new Array[Double](relations.size)
    var mapWork = 0.0

    // How often the groups of a relation are made: once a stage that needs them, and there once a consumer.
    val answered = Array.fill(relations.size)(BitSet.empty) // consumers of itself, or of what is derived from it
    relations.indices.reverse.foreach { i =>
      answered(i) ++= relations(i).queries.map(problem.queries(_).consumer)
      if (relations(i).isDerived) answered(relations(i).parent) |= answered(i)
    }
    def made(i: Int, work: Double): Double = {
      val consumers = answered(i).size
      val feeding = configuration.feedsSecondTier(i)
      val merging = if (consumers == 0 && !feeding) 1 else consumers
      if (feeding) tierWork(shippedAt(i)) += work
      reduceWork(shippedAt(i)) += merging * work
      (if (feeding) merging + 1 else merging) * work
    }

    val estimates = relations.zipWithIndex.map { case (r, i) =>
      val bytes = problem.entryBytes(r.keys)
      val merging = model.sketching(r.keys, rows = false)
      val emit = model.emitWork(groups(i), r.queries)
      r.placement match {
        case Placement.Derived =>
          shippedAt(i) = shippedAt(r.parent)
          val work =
            made(i, model.deriveWork(groups(r.parent), groups(i) * bytes / busyAt(shippedAt(i)), merging)) + emit
          reduceWork(shippedAt(i)) += emit
          RelationEstimate(groups(i), groups(r.parent), 0.0, 0.0, 0L, work)
        case Placement.SecondTier(key, shards) =>
          val source = configuration.tierSource(i)
          val fed = if (relations(r.parent).isSecondTier) evictions(r.parent) else groups(r.parent)
          evictions(i) = relations(source).placement match {
            case Placement.Shipped(sourceKey, n) if n > 1 && !sourceKey.subsetOf(r.keys) =>
              model.partialGroups(groups(i), fed, n)
            case _ => math.min(groups(i), fed)
          }
          val ship = model.tierWork(
            fed,
            evictions(i),
            evictions(i) * bytes / busyAt(source),
            problem.shippedBytes(r.keys),
            merging
          )
          tierWork(source) += ship
          busyAt(i) = model.busyShards(shards, key, r.keys)
          shippedAt(i) = i
          val merge = math.max(1, answered(i).size) *
            model.tierMergeWork(evictions(i), groups(i) * bytes / busyAt(i), merging) + emit
          reduceWork(i) += merge
          RelationEstimate(groups(i), fed, 0.0, evictions(i), 0L, ship + merge)
        case placement =>
          val fed = if (r.parent < 0) model.rowsPerTask else evictions(r.parent)
          val raw = math.max(1.0, statistics.flowLength(r.keys))
          val la = model.flowLength(raw, fed)
          val inTask = model.groupsInTask(groups(i), raw)
          evictions(i) = model.evictions(fed, inTask, r.buckets.toDouble, la)
          val shipped = Option.when(placement != Placement.Feeds)(problem.shippedBytes(r.keys))
          val sketching = if (r.parent < 0) model.sketching(r.keys, rows = true) else merging
          val work = model.mapWork(fed, evictions(i), r.buckets.toDouble * bytes, shipped, sketching)
          mapWork += work
          busyAt(i) = placement match {
            case Placement.Shipped(key, shards) => model.busyShards(shards, key, r.keys)
            case _ => 1.0
          }
          shippedAt(i) = i
          val merge =
            if (shipped.isEmpty) 0.0
            else made(i, model.mergeWork(evictions(i), groups(i) * bytes / busyAt(i), merging)) + emit
          if (shipped.nonEmpty) reduceWork(i) += emit
          val x = if (r.buckets == 0) 1.0 else CollisionModel.clustered(inTask, r.buckets.toDouble, la)
          RelationEstimate(
            groups(i),
            fed * model.partitions,
            x,
            evictions(i) * model.partitions,
            r.buckets.toLong * bytes,
            work * model.partitions + merge
          )
      }
    }

    def longest(work: Array[Double]): Double =
      relations.indices.map(i => work(i) / math.max(1.0, busyAt(i))).maxOption.getOrElse(0.0)
    ConfigurationEstimate(
      estimates,
      model.furtherStages + model.elapsed(
        mapWork,
        reduceWork.sum,
        longest(reduceWork),
        tierWork.sum,
        longest(tierWork)
      )
    )
  }
}
