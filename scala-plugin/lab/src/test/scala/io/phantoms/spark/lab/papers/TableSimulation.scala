package io.phantoms.spark.lab.papers

import io.phantoms.spark.cost.ConfigurationTree
import io.phantoms.spark.search.smap.{Feeding, MultipleAggregation}

/**
 * Direct-mapped tables that evict on every collision, fed by a stream and by each other, to count collisions in.
 *
 * @param projections for each relation its group of every group of the finest relation
 * @param buckets of each relation
 */
final class TableSimulation(tree: ConfigurationTree, projections: Array[Array[Int]], buckets: Array[Int], seed: Long) {
  private val n = tree.size
  private val children = Array.tabulate(n)(r => (r + 1 until n).filter(tree.parent(_) == r).toArray)
  private val raw = (0 until n).filter(tree.isRaw).toArray
  private val place = Array.tabulate(n) { r =>
    val random = new scala.util.Random(seed * 31 + r)
    Array.fill(projections(r).max + 1)(random.nextInt(buckets(r)))
  }
  private val tables = Array.tabulate(n)(r => Array.fill(buckets(r))(-1))

  /** Entries fed to each relation, and how many of them collided. */
  val fed: Array[Long] = new Array(n)
  val collisions: Array[Long] = new Array(n)

  def run(stream: Array[Int], from: Int, until: Int): TableSimulation = {
    var i = from
    while (i < until) {
      var r = 0
      while (r < raw.length) { probe(raw(r), stream(i)); r += 1 }
      i += 1
    }
    this
  }

  /** Forgets the counts, not the tables. */
  def restart(): Unit = {
    java.util.Arrays.fill(fed, 0L)
    java.util.Arrays.fill(collisions, 0L)
  }

  /** Collision rate x_a of each relation; 0 where nothing came. */
  def rates: Array[Double] = Array.tabulate(n)(r => if (fed(r) == 0) 0.0 else collisions(r).toDouble / fed(r))

  private def probe(r: Int, entry: Int): Unit = {
    fed(r) += 1
    val group = projections(r)(entry)
    val at = place(r)(group)
    val held = tables(r)(at)
    if (held < 0) tables(r)(at) = entry
    else if (projections(r)(held) != group) {
      collisions(r) += 1
      tables(r)(at) = entry
      var c = 0
      while (c < children(r).length) { probe(children(r)(c), held); c += 1 }
    }
  }
}

object TableSimulation {

  /** The tables of an allocation, in whole buckets. */
  def apply(
      data: SmapData,
      problem: MultipleAggregation,
      feeding: Feeding,
      space: Array[Double],
      seed: Long
  ): TableSimulation = {
    val nodes = feeding.nodes
    val buckets = nodes.indices.map(r => math.max(1, (space(r) / problem.entry(nodes(r))).toInt)).toArray
    new TableSimulation(feeding.tree, nodes.map(n => data.projection(problem.graph.keys(n))), buckets, seed)
  }
}
