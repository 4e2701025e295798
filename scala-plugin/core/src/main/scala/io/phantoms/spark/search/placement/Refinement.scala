package io.phantoms.spark.search.placement

import io.phantoms.spark.search.graph.FeedingGraph

/** Moves one query at a time between the LFTA and a shipment, while that helps. */
private[placement] final class Refinement(
    graph: FeedingGraph,
    derivations: DerivationBuilder,
    state: (List[Shipment], Vector[Int]) => SearchState,
    phantomsByGc: List[Shipment] => SearchState
) {
  import Refinement._

  def apply(start: SearchState): SearchState = {
    var current = start
    var improving = start.shipments.nonEmpty
    var rounds = 0
    // Queries tried since the state changed last: once they all were, the rest of a round would try them again.
    var unchanged = 0
    while (improving && rounds < Rounds) {
      val before = current.score
      var q = 0
      while (q < graph.queryCount && unchanged < graph.queryCount) {
        val better = moves(current, q).map(s => state(s, current.phantoms)).minByOption(_.score)
          .filter(_.score < current.score)
        unchanged = if (better.isEmpty) unchanged + 1 else 0
        better.foreach(current = _)
        q += 1
      }
      val again = phantomsByGc(current.shipments)
      if (again.score < current.score) {
        current = again
        unchanged = 0
      }
      improving = current.score < before
      rounds += 1
    }
    current
  }

  /** A shipment with the phantoms that make what it derives cheaper. */
  def withPhantoms(s: Shipment): Shipment = s.copy(derivation = derivations.withPhantoms(s.derivation, s.shardKey))

  private def moves(current: SearchState, q: Int): Vector[List[Shipment]] = {
    val shipments = current.shipments
    if (current.set.isRoot(q)) {
      // Back from the second tier, with all that is derived from it there.
      val without = shipments.filterNot(s => s.isSecondTier && s.root == q)
      if (without.size < shipments.size) Vector(withoutIdle(without)) else Vector.empty
    } else {
      val without = withoutIdle(shipments.mapConserve(s =>
        if (s.derivation.derives(q)) rederive(s, s.derivation.nodes.filter(_ != q)) else s
      ))
      // Back into what it is derived from now would be no move.
      def isBack(s: Shipment): Boolean =
        shipments.exists(o => o.root == s.root && o.source == s.source && o.derivation.derives(q))
      val into = without.indices.iterator
        .filter(i => graph.feeds(without(i).root, q) && graph.contains(q, without(i).shardKey) && !isBack(without(i)))
        .map(i => without.updated(i, rederive(without(i), without(i).derivation.nodes :+ q)))
      (into ++ Iterator(without)).filter(_ != shipments).toVector
    }
  }

  private def withoutIdle(shipments: List[Shipment]): List[Shipment] = shipments.filter(s =>
    s.isSecondTier || s.derivation.nodeArray.exists(!graph.isPhantom(_)) ||
      shipments.exists(o => o.isSecondTier && o.source == s.root)
  )

  private def rederive(s: Shipment, nodes: Seq[Int]): Shipment = {
    val queries = nodes.filterNot(graph.isPhantom)
    withPhantoms(s.copy(derivation = derivations.derive(s.root, queries, s.derivation.busyShards)))
  }
}

private object Refinement {
  private val Rounds = 3
}
