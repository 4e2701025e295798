package io.phantoms.spark.estimate

/**
 * What executions found out about an input in one state. Sets of keys are sets of their canonical texts.
 *
 * @param rows rows that passed the input's filters; None: no execution read all of them
 * @param groups of a set of keys, counted
 * @param flowLengths effective flow length l_a (SMAP eq. 15) of relations fed by the input, at least 1
 * @param depthFlowLengths l_a at depths 2, 3, ... of the last feeding tree that had such relations (SMAP section 5.3)
 */
final case class Observation(
    rows: Option[Double] = None,
    groups: Map[Set[String], Double] = Map.empty,
    flowLengths: Map[Set[String], Double] = Map.empty,
    depthFlowLengths: IndexedSeq[Double] = Vector.empty
) {

  /**
   * This observation after a later one of the same state: the later numbers hold. A flow length follows from what a table
   * of one size did, and differs a little with the size: one that changes by less than [[Observation.Steady]] stays, so
   * that plans do not follow it to and fro.
   */
  def updated(later: Observation): Observation = Observation(
    later.rows.orElse(rows),
    Observation.bounded(groups ++ later.groups, later.groups.keySet),
    Observation.bounded(
      flowLengths ++ later.flowLengths.map { case (keys, l) =>
        keys -> flowLengths.get(keys).filter(Observation.isSteady(_, l)).getOrElse(l)
      },
      later.flowLengths.keySet
    ),
    if (later.depthFlowLengths.isEmpty || steadyDepths(later)) depthFlowLengths else later.depthFlowLengths
  )

  private def steadyDepths(later: Observation): Boolean =
    depthFlowLengths.size == later.depthFlowLengths.size &&
      depthFlowLengths.lazyZip(later.depthFlowLengths).forall(Observation.isSteady)

  /**
   * What this observation says of another state of the input, that has `factor` times as many rows; None where that is too
   * different a state. Groups are taken to grow as a power of the rows (Heaps' law): g = rows^beta^. Flow lengths stay.
   */
  def scaled(factor: Double): Option[Observation] =
    if (!(factor >= 1 / Observation.MostGrowth && factor <= Observation.MostGrowth)) None
    else {
      val scaledGroups = rows.fold(groups) { n =>
        groups.map { case (keys, g) =>
          val beta = if (n <= 1 || g <= 1) 0.0 else math.min(1.0, math.log(g) / math.log(n))
          keys -> math.max(math.min(1.0, g), g * math.pow(factor, beta))
        }
      }
      Some(copy(rows = rows.map(_ * factor), groups = scaledGroups))
    }
}

object Observation {

  /** Sets of keys kept for one input. */
  val MostSets = 4096

  /** A flow length within this part of the one before counts as the same. */
  val Steady = 0.1

  /** A state with this many times the rows, or as many times fewer, has nothing to do with the one observed. */
  val MostGrowth = 2.0

  private def isSteady(before: Double, after: Double): Boolean = math.abs(after / before - 1) <= Steady

  /** Drops others than the latest where there are too many. */
  private def bounded(all: Map[Set[String], Double], latest: Set[Set[String]]): Map[Set[String], Double] =
    if (all.size <= MostSets) all
    else {
      val kept = all.filter { case (keys, _) => latest(keys) }
      (kept ++ (all -- kept.keys).take(math.max(0, MostSets - kept.size))).take(MostSets)
    }
}
