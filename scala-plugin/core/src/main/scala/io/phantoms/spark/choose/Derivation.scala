package io.phantoms.spark.choose

/**
 * Relations derived in the reduce task that merged `root`.
 *
 * @param nodes derived nodes of the feeding graph, parents before children
 * @param parents for each of them the node it is derived from: `root` or an earlier one
 * @param busyShards reduce tasks the work is spread over, each with tables of its own
 * @param work nanoseconds for deriving all of them and writing their results
 */
private[choose] final case class Derivation(
    root: Int,
    nodes: Vector[Int],
    parents: Vector[Int],
    busyShards: Double,
    work: Double
)

private[choose] object Derivation {

  /** Nothing derived. */
  def apply(root: Int, busyShards: Double): Derivation = Derivation(root, Vector.empty, Vector.empty, busyShards, 0.0)
}

private[choose] final class DerivationBuilder(graph: FeedingGraph, model: CostModel) {

  /** Derives each node from the available relation with fewest groups. */
  def derive(root: Int, nodes: Iterable[Int], busyShards: Double): Derivation = {
    val ordered = nodes.toVector.sortBy(graph.rank(_))
    val available = root +: ordered
    val parents = ordered.map(n => cheapest(available, n))
    val work = ordered.indices.iterator.map { i =>
      model.deriveWork(graph.groups(parents(i)), tableBytes(ordered(i), busyShards)) +
        model.emitWork(graph.groups(ordered(i)), graph.queriesOf(ordered(i)).size)
    }.sum
    Derivation(root, ordered, parents, busyShards, work)
  }

  /** Adds derived phantoms as long as one saves more merging than it costs. */
  def withPhantoms(derivation: Derivation, contains: Int => Boolean): Derivation = {
    val root = derivation.root
    val candidates = (graph.queryCount until graph.size).filter(p =>
      p != root && graph.feeds(root, p) && contains(p) && derivation.nodes.count(graph.feeds(p, _)) >= 2
    )
    var best = derivation
    var left = candidates.toSet -- derivation.nodes
    var gaining = left.nonEmpty
    while (gaining) {
      val gains = left.iterator.map(p => (gain(best, p), p)).filter(_._1 > 0)
      gaining = gains.hasNext
      if (gaining) {
        val (_, phantom) = gains.maxBy { case (g, p) => (g, -p) }
        best = derive(root, best.nodes :+ phantom, best.busyShards)
        left -= phantom
      }
    }
    best
  }

  /** The finer of the available relations with fewest groups. */
  def cheapest(available: Seq[Int], node: Int): Int =
    available.iterator.filter(graph.feeds(_, node)).minBy(graph.groups(_))

  private def gain(derivation: Derivation, phantom: Int): Double = {
    val groups = graph.groups(phantom)
    val saved = derivation.nodes.indices.iterator.filter(i => graph.feeds(phantom, derivation.nodes(i))).map { i =>
      val fewer = math.max(0.0, graph.groups(derivation.parents(i)) - groups)
      model.deriveWork(fewer, tableBytes(derivation.nodes(i), derivation.busyShards))
    }.sum
    saved - model.deriveWork(
      graph.groups(cheapest(derivation.root +: derivation.nodes, phantom)),
      tableBytes(phantom, derivation.busyShards)
    )
  }

  /** Bytes of a relation's table in each of the tasks it is spread over. */
  def tableBytes(node: Int, busyShards: Double): Double = graph.groups(node) * graph.entryBytes(node) / busyShards
}
