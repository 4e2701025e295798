package io.phantoms.spark.choose

/**
 * What one shared job did and what it took: counts over all its tasks, times in nanoseconds of work.
 *
 * @param rows input rows
 * @param probes rows and entries that met a table of the map side
 * @param bypassed rows and entries that passed through a relation without a table
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
   */
  final case class Expected(received: Double, derived: Double, extraBytes: Double)

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
      mean(
        shipped,
        estimates(_).evictions,
        i => math.max(0.0, problem.entryBytes(configuration.relations(i).keys) - CostModel.EntryBytes)
      )
    )
  }
}

/** What one groupBy of plain Spark did: `leaving` entries left its partial aggregation; `nanos` of work in all tasks. */
final case class PlainRun(rows: Double, leaving: Double, tasks: Int, nanos: Double)

/** A constant that came out too far from its default to be believed, and what was made of it. */
final case class ClampedConstant(name: String, measured: Double, used: Double)

/**
 * Machine constants fitted to measured jobs.
 *
 * @param fits quality of the regressions `map`, `reduce` and `plain`
 * @param clamped constants that were not believed
 */
final case class MachineFit(machine: Machine, fits: Seq[(String, Fit)], clamped: Seq[ClampedConstant])

/**
 * Fits the constants of a [[Machine]] by regression, with the terms of [[CostModel]]: three regressions, of map tasks,
 * reduce tasks and plain Spark. Each has a term for starting a task, which is no constant of the machine and would
 * otherwise be taken for work on rows.
 */
object MachineFit {

  /** A constant may be this many times its default, or this part of it. */
  val Plausible: Double = 20

  /**
   * @param fixedNanos what one more stage was measured to take
   * @param defaults the machine whose constants tell what is plausible
   */
  def apply(
      shared: Seq[SharedRun],
      plain: Seq[PlainRun],
      fixedNanos: Double,
      defaults: Machine = Machine()
  ): MachineFit = {
    val map = fit(
      shared.map(r =>
        Vector(r.rows, r.probes + CostModel.PassThrough * r.bypassed, r.shipped, r.extraBytes, r.mapTasks.toDouble)
      ),
      shared.map(_.mapNanos)
    )
    val reduce = fit(
      shared.map(r => Vector(r.received, r.extraBytes, r.merges, r.emitted, r.reduceTasks.toDouble)),
      shared.map(_.reduceNanos)
    )
    val unshared = fit(plain.map(r => Vector(r.rows, r.leaving, r.tasks.toDouble)), plain.map(_.nanos))
    // Shipping an entry is both: writing it, and reading it on the other side before it is merged.
    val measured = Seq(
      "c1" -> map.coefficients(1),
      "c2" -> (map.coefficients(2) + reduce.coefficients(0)),
      "c2PerByte" -> (map.coefficients(3) + reduce.coefficients(1)),
      "merge" -> reduce.coefficients(2),
      "emit" -> reduce.coefficients(3),
      "plainRow" -> unshared.coefficients(0),
      "plainGroup" -> unshared.coefficients(1),
      "scanRow" -> map.coefficients(0),
      "fixed" -> fixedNanos
    )
    val usual = MachineConstants.of(defaults).toMap
    val used = measured.map { case (name, value) =>
      name -> math.max(usual(name) / Plausible, math.min(usual(name) * Plausible, value))
    }
    val clamped = measured.zip(used).collect {
      case ((name, value), (_, u)) if u != value =>
        ClampedConstant(name, value, u)
    }
    val machine = MachineConstants.replaced(defaults, used).fold(why => throw new IllegalStateException(why), identity)
    MachineFit(machine, Seq("map" -> map, "reduce" -> reduce, "plain" -> unshared), clamped)
  }

  // Errors of a measurement grow with it; the shortest would be nothing but errors.
  private def fit(x: Seq[IndexedSeq[Double]], y: Seq[Double]): Fit = {
    val least = y.sum / y.size / 10
    Regression.nonNegative(x.toIndexedSeq, y.toIndexedSeq, y.map(v => 1 / ((v + least) * (v + least))).toIndexedSeq)
  }
}
