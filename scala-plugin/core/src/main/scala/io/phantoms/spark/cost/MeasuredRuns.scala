package io.phantoms.spark.cost

import io.phantoms.spark.model.{Configuration, Placement, Problem, Relation}

/**
 * What one shared job did and what it took: counts over all its tasks, times in nanoseconds of work.
 *
 * @param rows input rows
 * @param probes rows and entries that met a table of the map side
 * @param bypassed rows and entries that passed through a relation without a table
 * @param inputBytes bytes beyond 32 of the entries that input rows met: more values to read and to aggregate
 * @param shipped entries that crossed the shuffle
 * @param extraBytes their bytes beyond 32 each
 * @param mapNanos work of the map tasks
 * @param received entries merged into complete tables
 * @param merges entries merged, be they received or derived, each times what the size of its table makes of
 *   [[Machine.merge]] (see [[SharedRun.mergeFactors]])
 * @param emitted result rows
 * @param reduceNanos work of the reduce tasks
 */
final case class SharedRun(
    rows: Double,
    probes: Double,
    bypassed: Double,
    inputBytes: Double,
    shipped: Double,
    extraBytes: Double,
    mapTasks: Int,
    mapNanos: Double,
    received: Double,
    merges: Double,
    emitted: Double,
    reduceTasks: Int,
    reduceNanos: Double
)

object SharedRun {

  /**
   * What the cost model expects a configuration to do, for what no operator counts relation by relation.
   *
   * @param received mean factor on [[Machine.merge]] of the entries shipped
   * @param derived likewise of the entries derived
   * @param extraBytes mean bytes beyond 32 of an entry shipped
   * @param inputBytes bytes beyond 32 of the entries that one input row meets
   */
  final case class Expected(received: Double, derived: Double, extraBytes: Double, inputBytes: Double)

  def expected(problem: Problem, configuration: Configuration): Expected = {
    val model = new CostModel(problem)
    val estimates = ConfigurationEstimate(problem, configuration).relations
    def shards(i: Int): Double = configuration.relations(i) match {
      case Relation(keys, _, _, _, Placement.Shipped(key, n)) => model.busyShards(n, key, keys)
      case r => shards(r.parent)
    }
    def factor(i: Int): Double = {
      val bytes = estimates(i).groups * problem.entryBytes(configuration.relations(i).keys) / shards(i)
      model.mergeTime(bytes) / problem.machine.merge
    }
    def extraBytes(i: Int): Double =
      math.max(0.0, problem.shippedBytes(configuration.relations(i).keys).toDouble - CostModel.EntryBytes)
    def mean(relations: Seq[Int], weight: Int => Double, of: Int => Double): Double = {
      val all = relations.map(weight).sum
      if (all <= 0) 1.0 else relations.map(i => weight(i) * of(i)).sum / all
    }
    val shipped = configuration.relations.indices.filter(i =>
      configuration.relations(i).placement match {
        case _: Placement.Shipped => true
        case _ => false
      }
    )
    val derived = configuration.relations.indices.filter(configuration.relations(_).isDerived)
    Expected(
      mean(shipped, estimates(_).evictions, factor),
      mean(derived, estimates(_).fed, factor),
      mean(shipped, estimates(_).evictions, extraBytes),
      configuration.relations.indices.filter(configuration.relations(_).parent < 0).map(extraBytes).sum
    )
  }
}

/** What one groupBy of plain Spark did: `leaving` entries left its partial aggregation; `nanos` of work in all tasks. */
final case class PlainRun(rows: Double, leaving: Double, tasks: Int, nanos: Double)
