package io.phantoms.spark.choose

/**
 * What the chooser expects of one relation of a configuration; all map tasks together.
 *
 * @param groups g_R
 * @param fed entries that reach it: rows for a raw relation, evictions of its parent in the LFTA, groups of its parent
 *   when derived
 * @param collisionRate collisions per probe (SMAP eq 15); 0 for a derived relation, 1 for one without a table
 * @param evictions entries that leave its LFTA table, end of the epoch included; 0 when derived
 * @param tableBytes bytes of its LFTA table in one map task
 * @param cost work in nanoseconds, over all tasks: probes, shipping, merging or deriving, and writing results
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

private[choose] object ConfigurationEstimate {

  def apply(problem: Problem, configuration: Configuration): ConfigurationEstimate = {
    val model = new CostModel(problem)
    val relations = configuration.relations
    val statistics = problem.statistics
    val groups =
      relations.map(r => math.min(math.max(1.0, model.rows), math.max(1.0, statistics.groups(r.keys)))).toArray
    val evictions = new Array[Double](relations.size) // of one task
    val reduceWork = new Array[Double](relations.size) // of the relation alone, at its shipped ancestor
    val shippedAt = new Array[Int](relations.size)
    val busyAt = new Array[Double](relations.size)
    var mapWork = 0.0

    val estimates = relations.zipWithIndex.map { case (r, i) =>
      val bytes = problem.entryBytes(r.keys)
      val emit = model.emitWork(groups(i), r.queries.size)
      if (r.isDerived) {
        shippedAt(i) = shippedAt(r.parent)
        val work = model.deriveWork(groups(r.parent), groups(i) * bytes / busyAt(shippedAt(i))) + emit
        reduceWork(shippedAt(i)) += work
        RelationEstimate(groups(i), groups(r.parent), 0.0, 0.0, 0L, work)
      } else {
        val fed = if (r.parent < 0) model.rowsPerTask else evictions(r.parent)
        val raw = math.max(1.0, statistics.flowLength(r.keys))
        val la = model.flowLength(raw, fed)
        val inTask = model.groupsInTask(groups(i), raw)
        evictions(i) = model.evictions(fed, inTask, r.buckets.toDouble, la)
        val shipped = r.placement match {
          case _: Placement.Shipped => Some(bytes)
          case _ => None
        }
        val work = model.mapWork(fed, evictions(i), r.buckets.toDouble * problem.entryBytes(r.keys), shipped)
        mapWork += work
        busyAt(i) = r.placement match {
          case Placement.Shipped(key, shards) => model.busyShards(shards, key, r.keys)
          case _ => 1.0
        }
        val merge = if (shipped.isEmpty) 0.0 else model.mergeWork(evictions(i), groups(i) * bytes / busyAt(i)) + emit
        shippedAt(i) = i
        reduceWork(i) += merge
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

    var total = 0.0
    var longest = 0.0
    relations.zipWithIndex.foreach {
      case (Relation(keys, _, _, _, Placement.Shipped(key, shards)), i) =>
        total += reduceWork(i)
        longest = math.max(longest, reduceWork(i) / model.busyShards(shards, key, keys))
      case _ =>
    }
    ConfigurationEstimate(estimates, model.elapsed(mapWork, total, longest))
  }
}
