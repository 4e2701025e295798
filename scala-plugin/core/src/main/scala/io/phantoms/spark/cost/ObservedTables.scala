package io.phantoms.spark.cost

import scala.collection.immutable.BitSet

/**
 * What one table of the map side did in all tasks of an execution.
 *
 * @param keys the relation, as ordinals the caller knows
 * @param parent ordinal of the table that fed it among those it was observed with, -1: the input did
 * @param buckets of each task's table; 0: the relation had none
 * @param probes rows and entries that met the table
 * @param collisions entries that another group pushed out
 * @param atEnd entries evicted at the end of the epoch
 */
final case class ObservedTable(
    keys: BitSet,
    parent: Int,
    buckets: Int,
    probes: Double,
    collisions: Double,
    atEnd: Double
)

/**
 * The tables of an execution's map side.
 *
 * @param rows input rows of all tasks
 * @param tasks tasks that saw a row
 * @param wholeEpochs every task was one epoch of every table: none was passed by, or emptied on the way
 */
final case class ObservedTables(tables: IndexedSeq[ObservedTable], rows: Double, tasks: Int, wholeEpochs: Boolean) {

  private lazy val dealt = new DealtRuns(rows, math.max(1, tasks))

  /**
   * Effective flow length l_a of every raw relation with a table: that with which the cost model would have expected what
   * the table did, be it the groups that were there at the end of a task, which are the fewer the longer the runs, or the
   * rate of collisions (SMAP eq. 15 solved for l_a). A table that would hardly have done otherwise under other flow lengths
   * says nothing.
   *
   * @param groups groups of a relation, where they are known
   */
  def flowLengths(groups: BitSet => Option[Double]): Map[BitSet, Double] = tables.iterator.filter(_.parent < 0)
    .flatMap(t => groups(t.keys).flatMap(flowLength(t, _)).map(t.keys -> _)).toMap

  /**
   * Average effective flow length at depths 2, 3, ... of the feeding tree (SMAP section 5.3): the collision rate of random
   * data over the measured one. Empty where no relation below the raw ones was measured.
   */
  def depthFlowLengths(groups: BitSet => Option[Double]): IndexedSeq[Double] = {
    val tree = ConfigurationTree(tables.map(_.parent))
    val raw = flowLengths(groups)
    val measured = tables.map { t =>
      val known = if (t.parent < 0) raw.get(t.keys) else groups(t.keys).flatMap(randomOverMeasured(t, _))
      known.getOrElse(Double.NaN)
    }
    if (tables.indices.exists(i => tables(i).parent >= 0 && !measured(i).isNaN))
      FlowLengths.averages(tree, measured).drop(1)
    else Vector.empty
  }

  private def flowLength(t: ObservedTable, groups: Double): Option[Double] =
    if (t.buckets < 1 || t.probes < 1 || rows < 1 || groups < 1) None
    else {
      val buckets = t.buckets.toDouble
      def inTask(la: Double) = dealt.groupsInTask(math.min(groups, rows), la)
      def byOccupied =
        solved(la => CollisionModel.occupied(inTask(la), buckets), t.atEnd / tasks, rows / groups)
      def byRate =
        solved(la => CollisionModel.clustered(inTask(la), buckets, la), t.collisions / t.probes, rows / groups)
      // How many groups share a bucket is a matter of luck while there are few such pairs, the same luck in every task. Then
      // nearly all groups of a task are there at its end; when there are many, those there are do not tell how many others.
      val pairs = inTask(1.0) * inTask(1.0) / (2 * buckets)
      if (pairs >= ObservedTables.FewPairs) byRate else if (wholeEpochs) byOccupied else None
    }

  private def randomOverMeasured(t: ObservedTable, groups: Double): Option[Double] =
    if (t.buckets < 1 || t.collisions < 1 || t.probes < ObservedTables.FewProbes) None
    else {
      val inTask = math.min(dealt.groupsInTask(math.min(groups, rows), 1.0), t.probes / tasks)
      Some(math.max(1.0, CollisionModel.random(inTask, t.buckets.toDouble) * t.probes / t.collisions))
    }

  /** Where in [1, most] a falling function has this value; None where it has about this value in too many places. */
  private def solved(f: Double => Double, value: Double, most: Double): Option[Double] = {
    def at(y: Double): Double = {
      var (low, high) = (0.0, math.log(math.max(1.0, most)))
      while (high - low > 1e-6) {
        val middle = (low + high) / 2
        if (f(math.exp(middle)) > y) low = middle else high = middle
      }
      math.exp(low)
    }
    val about = ObservedTables.About
    Option.when(at(value * (1 - about)) <= ObservedTables.Widest * at(value * (1 + about)))(at(value))
  }
}

object ObservedTables {

  /** What evictions under one flow length may differ by, as a part of them: the model is no better, nor is chance. */
  private val About = 0.02

  /** Flow lengths that these evictions may stand for must not differ by more than this factor. */
  private val Widest = 1.5

  /** With fewer pairs of groups in one bucket their number is off by half and more, which SMAP's choices survive (fig 21). */
  private val FewPairs = 4.0

  /** A rate over fewer probes is not taken for an average. */
  private val FewProbes = 1000
}
