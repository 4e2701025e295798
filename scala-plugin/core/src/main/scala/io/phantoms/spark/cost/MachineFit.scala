package io.phantoms.spark.cost

import io.phantoms.spark.model.{Machine, MachineConstants}

/** One observation of a regression: what was counted, by name, and the work measured. */
final case class Observation(counts: Seq[(String, Double)], nanos: Double)

/** A constant that came out too far from its default to be believed, and what was made of it. */
final case class ClampedConstant(name: String, measured: Double, used: Double)

/**
 * Machine constants fitted to measured jobs.
 *
 * @param regressions `map`, `reduce` and `plain`
 * @param clamped constants that were not believed
 */
final case class MachineFit(machine: Machine, regressions: Seq[MachineRegression], clamped: Seq[ClampedConstant])

/** One of the regressions; its coefficients are in the order of the counts. */
final case class MachineRegression(name: String, observations: Seq[Observation], fit: Fit) {
  def coefficient(count: String): Double = fit.coefficients(observations.head.counts.indexWhere(_._1 == count))
}

/**
 * Fits the constants of a [[Machine]] by regression, with the terms of [[CostModel]]: three regressions, of map tasks,
 * reduce tasks and plain Spark. Each has a term for starting a task, that of map tasks also one for more keys and aggregates
 * than two: these are no constants of the machine, and would otherwise be taken for work on rows and for shipping.
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
      "map",
      shared.map { r =>
        val probes = r.probes + CostModel.PassThrough * r.bypassed
        Observation(
          Seq(
            "rows" -> r.rows,
            "probes" -> probes,
            "inputBytes" -> r.inputBytes,
            "shipped" -> r.shipped,
            "extraBytes" -> r.extraBytes,
            "tasks" -> r.mapTasks.toDouble
          ),
          r.mapNanos
        )
      }
    )
    val reduce = fit(
      "reduce",
      shared.map(r =>
        Observation(
          Seq(
            "received" -> r.received,
            "extraBytes" -> r.extraBytes,
            "merges" -> r.merges,
            "emitted" -> r.emitted,
            "tasks" -> r.reduceTasks.toDouble
          ),
          r.reduceNanos
        )
      )
    )
    val unshared = fit(
      "plain",
      plain.map(r => Observation(Seq("rows" -> r.rows, "leaving" -> r.leaving, "tasks" -> r.tasks.toDouble), r.nanos))
    )
    // Shipping an entry is both: writing it, and reading it on the other side before it is merged.
    val measured = Seq(
      "c1" -> map.coefficient("probes"),
      "c2" -> (map.coefficient("shipped") + reduce.coefficient("received")),
      "c2PerByte" -> (map.coefficient("extraBytes") + reduce.coefficient("extraBytes")),
      "merge" -> reduce.coefficient("merges"),
      "emit" -> reduce.coefficient("emitted"),
      "plainRow" -> unshared.coefficient("rows"),
      "plainGroup" -> unshared.coefficient("leaving"),
      "scanRow" -> map.coefficient("rows"),
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
    MachineFit(machine, Seq(map, reduce, unshared), clamped)
  }

  // Errors of a measurement grow with it; the shortest would be nothing but errors.
  private def fit(name: String, observations: Seq[Observation]): MachineRegression = {
    val y = observations.map(_.nanos).toIndexedSeq
    val least = y.sum / y.size / 10
    val x = observations.map(_.counts.map(_._2).toIndexedSeq).toIndexedSeq
    MachineRegression(name, observations, Regression.nonNegative(x, y, y.map(v => 1 / ((v + least) * (v + least)))))
  }
}
