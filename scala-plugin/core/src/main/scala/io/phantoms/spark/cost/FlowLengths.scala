package io.phantoms.spark.cost

/**
 * Effective flow lengths l_a as SMAP estimates them (section 5.3): the relations of one depth of the feeding tree are
 * taken to have the same, since a table absorbs what clusters in its input. Raw relations have depth 1.
 */
trait FlowLengths {

  /** l_a of a node of the feeding graph where a configuration maintains it at this depth; at least 1. */
  def apply(node: Int, depth: Int): Double
}

object FlowLengths {

  /** Groups mixed at random: l_a = 1 everywhere. */
  val Random: FlowLengths = (_, _) => 1.0

  /** l_a of depths 1, 2, ...; the last one holds further down. */
  def ofDepths(lengths: IndexedSeq[Double]): FlowLengths = {
    require(lengths.nonEmpty && lengths.forall(_ >= 1), s"flow lengths of at least 1 expected: $lengths")
    (_, depth) => lengths(math.min(depth, lengths.size) - 1)
  }

  /** What statistics say of each relation read from the input; deeper down, `deeper`, or 1 where it says nothing. */
  def ofRelations(raw: Int => Double, deeper: Int => Option[Double] = _ => None): FlowLengths =
    (node, depth) => if (depth == 1) math.max(1.0, raw(node)) else math.max(1.0, deeper(depth).getOrElse(1.0))

  /**
   * The average over each depth of the flow lengths l_m measured in the previous epoch: [[CollisionModel.random]] divided
   * by the measured rate. Depths without a measurement repeat the one above.
   *
   * @param measured l_m of each relation of `tree`; NaN where there is none
   */
  def averages(tree: ConfigurationTree, measured: Int => Double): IndexedSeq[Double] = {
    val byDepth = (0 until tree.size).filterNot(r => measured(r).isNaN).groupBy(tree.depth)
    val deepest = if (byDepth.isEmpty) 0 else byDepth.keys.max
    (1 to deepest).scanLeft(1.0) { (above, depth) =>
      byDepth.get(depth).fold(above)(rs => math.max(1.0, rs.iterator.map(measured).sum / rs.size))
    }.tail
  }
}
