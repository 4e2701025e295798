package io.phantoms.spark.search.placement

import scala.collection.immutable.{ArraySeq, BitSet}
import scala.collection.mutable

import io.phantoms.spark.cost.CostModel
import io.phantoms.spark.search.graph.{Bits, FeedingForest, FeedingGraph}

/**
 * Relations derived in the reduce task that merged `root`.
 *
 * @param nodes derived nodes of the feeding graph, parents before children
 * @param parents for each of them the node it is derived from: `root` or an earlier one
 * @param busyShards reduce tasks the work is spread over, each with tables of its own
 * @param work nanoseconds for deriving all of them and writing their results
 */
private[placement] final case class Derivation(
    root: Int,
    nodes: IndexedSeq[Int],
    parents: IndexedSeq[Int],
    busyShards: Double,
    work: Double
) {

  /** The nodes unboxed, for loops. */
  lazy val nodeArray: Array[Int] = nodes.toArray

  def derives(node: Int): Boolean = {
    var i = 0
    while (i < nodeArray.length && nodeArray(i) != node) i += 1
    i < nodeArray.length
  }
}

private[placement] object Derivation {

  /** Nothing derived. */
  def apply(root: Int, busyShards: Double): Derivation = Derivation(root, none, none, busyShards, 0.0)

  private val none = ArraySeq.unsafeWrapArray(Array.emptyIntArray)
}

private[search] final class DerivationBuilder(graph: FeedingGraph, model: CostModel) {

  /** Derives each node from the available relation with fewest groups. */
  def derive(root: Int, nodes: Iterable[Int], busyShards: Double): Derivation = {
    val ordered = FeedingForest.inOrder(graph, nodes)
    val available = new Bits(graph.size)
    available += graph.groupsRank(root)
    var i = 0
    while (i < ordered.length) { available += graph.groupsRank(ordered(i)); i += 1 }
    val parents = new Array[Int](ordered.length)
    var work = 0.0
    i = 0
    while (i < ordered.length) {
      val node = ordered(i)
      parents(i) = graph.cheapestFeeder(available, node)
      work += deriveWork(graph.groups(parents(i)), node, busyShards) + emitWork(node)
      i += 1
    }
    Derivation(root, ArraySeq.unsafeWrapArray(ordered), ArraySeq.unsafeWrapArray(parents), busyShards, work)
  }

  /** Writing a node's results. */
  def emitWork(node: Int): Double =
    if (graph.isPhantom(node)) 0.0 else model.emitWork(graph.groups(node), graph.queries(node))

  /** Adds derived phantoms that hold the shard key as long as one saves more merging than it costs. */
  def withPhantoms(derivation: Derivation, shardKey: BitSet): Derivation = {
    val root = derivation.root
    val holds = graph.holder(shardKey)
    val left = mutable.ArrayBuffer.empty[Int]
    for (p <- graph.queryCount until graph.size)
      if (
        p != root && graph.feeds(root, p) && holds(p) && !derivation.derives(p) &&
        derivation.nodes.count(graph.feeds(p, _)) >= 2
      ) left += p
    var best = derivation
    var gaining = left.nonEmpty
    while (gaining) {
      val gains = new PhantomGains(best)
      var most = 0.0
      var phantom = -1
      left.foreach { p =>
        val gain = gains(p)
        if (gain > most) { most = gain; phantom = p }
      }
      gaining = phantom >= 0
      if (gaining) {
        best = derive(root, best.nodes :+ phantom, best.busyShards)
        left -= phantom
        gaining = left.nonEmpty
      }
    }
    best
  }

  /** What a phantom derived as well would save. */
  private final class PhantomGains(derivation: Derivation) {
    private val nodes = derivation.nodeArray
    private val parentGroups = derivation.parents.iterator.map(graph.groups(_)).toArray
    private val entry = nodes.map(n => model.mergeTime(tableBytes(n, derivation.busyShards), sketching(n)))
    private val available = new Bits(graph.size)
    available += graph.groupsRank(derivation.root)
    nodes.foreach(n => available += graph.groupsRank(n))

    def apply(phantom: Int): Double = {
      val groups = graph.groups(phantom)
      var saved = 0.0
      var i = 0
      while (i < nodes.length) {
        val fewer = parentGroups(i) - groups
        if (fewer > 0 && graph.feeds(phantom, nodes(i))) saved += fewer * entry(i)
        i += 1
      }
      val from = graph.groups(graph.cheapestFeeder(available, phantom))
      saved - deriveWork(from, phantom, derivation.busyShards)
    }
  }

  /** By node, what merging the sketches of a group takes. */
  val sketching: Array[Double] = Array.tabulate(graph.size)(i => model.sketching(graph.keys(i), rows = false))

  /** Deriving a node from so many groups. */
  def deriveWork(parentGroups: Double, node: Int, busyShards: Double): Double =
    model.deriveWork(parentGroups, tableBytes(node, busyShards), sketching(node))

  /** Merging what tasks between the shuffles ship of a node. */
  def tierMergeWork(partials: Double, node: Int, busyShards: Double): Double =
    model.tierMergeWork(partials, tableBytes(node, busyShards), sketching(node))

  /** Bytes of a relation's table in each of the tasks it is spread over. */
  def tableBytes(node: Int, busyShards: Double): Double = graph.groups(node) * graph.entryBytes(node) / busyShards
}
