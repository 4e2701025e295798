package io.phantoms.spark.search.placement

import scala.collection.mutable

import io.phantoms.spark.cost.{CostModel, FlowLengths}
import io.phantoms.spark.model.Configuration
import io.phantoms.spark.search.graph.{FeedingForest, FeedingGraph}
import io.phantoms.spark.search.smap.{Gc, MultipleAggregation, SpaceAllocation}

/**
 * Searches configurations together with their placement: which relations are maintained in the LFTA, which cross the
 * shuffle under which shard key, and which are derived after it. Beyond the papers, whose HFTA has one process.
 *
 * Starts from SMAP's answer (every query shipped, phantoms by GC) and takes the best *shipment* as long as one pays:
 * a relation shipped by a shard key S, from which queries that contain S are derived in the reduce task. Then moves
 * single queries between the two sides. [[secondTier]] goes on from there, with shipments that are fed from others.
 */
private[search] final class PlacementSearch(graph: FeedingGraph, model: CostModel, allocation: SpaceAllocation) {
  import PlacementSearch._

  private val problem = graph.problem
  private val forests = new LftaForestBuilder(graph, model, allocation, math.max(0L, problem.memory).toDouble)
  private val derivations = new DerivationBuilder(graph, model)
  private val shards = new ShardKeys(graph, model)
  private val tiers = new TierBuilder(graph, model, derivations, shards)
  private val costs = new StateCosts(graph, model, forests, derivations, shards, tiers)
  private val effort = SearchEffort(graph.queryCount)
  private val proposals = new ShipmentProposals(graph, model, derivations, shards, tiers, costs, effort)
  private val refinement = new Refinement(graph, derivations, state, phantomsByGc)

  /** Plain SMAP: every query a shipped LFTA relation, phantoms by GC. */
  lazy val smap: SearchState = phantomsByGc(Nil)

  /** Every query a shipped LFTA relation, with these phantoms. */
  def shippingQueries(phantoms: Vector[Int]): SearchState = state(Nil, phantoms)

  /** The tables of one map task as the paper's problem: c2 ships an entry of average width and merges it. */
  def multipleAggregation: MultipleAggregation = {
    val queries = 0 until graph.queryCount
    val shipping = queries.iterator.map(q => model.c2(graph.shippedBytes(q))).sum / math.max(1, queries.size)
    val statistics = problem.statistics
    new MultipleAggregation(
      graph,
      forests.groupsInTask(_),
      graph.entryBytes(_).toDouble,
      math.max(0L, problem.memory).toDouble,
      model.machine.c1,
      shipping + model.machine.merge,
      FlowLengths.ofRelations(graph.flowLength(_), statistics.flowLengthAtDepth)
    )
  }

  /**
   * Placement as well. Where the greedy answer leaves cores idle behind one long reduce task, a second search whose
   * first shipment is spread over all cores competes with it: greedy alone does not find back from the first step.
   */
  def search: SearchState = {
    val free = refined(greedy(smap, _ => true))
    if (free.shipments.forall(s => isSpread(s.busyShards))) free
    else {
      val spread = refined(greedy(smap, isSpread))
      if (spread.score < ClearGain * free.score) spread else free
    }
  }

  /** Goes on from a state with relations in the second tier, if they help. */
  def secondTier(start: SearchState): SearchState = {
    val found = greedy(start, _ => true, proposals.twoTiers)
    if (found eq start) start else refined(found)
  }

  private def isSpread(busyShards: Double): Boolean = busyShards >= model.parallelism

  private def greedy(
      start: SearchState,
      first: Double => Boolean,
      more: SearchState => Vector[List[Shipment]] = _ => Vector.empty
  ): SearchState = {
    var current = start
    var improving = true
    while (improving) {
      val allowed = if (current.shipments.isEmpty) first else (_: Double) => true
      val from = current
      val one =
        oneTier.getOrElseUpdate(from, proposals.oneTier(from).map(p => (p.busy, new Trial(from, List(p.shipment)))))
      val tried = one.iterator.filter(t => allowed(t._1)).take(effort.proposals).map(_._2).toVector ++
        more(from).map(new Trial(from, _))
      val better = tried.sortBy(_.score).take(effort.finalists).map(_.state).minByOption(_.score)
      improving = better.exists(_.score < current.score)
      if (improving) current = better.get
    }
    current
  }

  // Of each state; several searches pass through the same ones.
  private val oneTier = mutable.HashMap.empty[SearchState, Vector[(Double, Trial)]]

  /** Shipments added to a state's: the score with its phantoms, and what they come to with phantoms of their own. */
  private final class Trial(from: SearchState, added: => List[Shipment]) {
    private lazy val shipments = added
    private lazy val asFound = PlacementSearch.this.state(shipments ++ from.shipments, from.phantoms)
    lazy val score: Double = asFound.score
    lazy val state: SearchState = {
      val widened = shipments.mapConserve(refinement.withPhantoms)
      if ((widened eq shipments) && reducing.isEmpty && from.phantoms.isEmpty) asFound
      else phantomsByGc(widened ++ from.shipments)
    }
  }

  private def refined(state: SearchState): SearchState =
    if (graph.queryCount <= RefineUpTo) refinement(state) else state

  /** The state with these relations, whether or not they were searched for. */
  def state(shipments: List[Shipment], phantoms: Vector[Int]): SearchState =
    costs.of(costs.set(shipments))(phantoms)

  private def phantomsByGc(shipments: List[Shipment]): SearchState = {
    val set = costs.set(shipments)
    val maintained = set.base
    val promising = for {
      p <- reducing
      if !set.isRoot(p)
      n = fedBy(p, maintained)
      if n >= 2
    } yield (-n * (model.rowsPerTask - forests.groupsInTask(p)), p)
    val candidates = promising.sortBy(_._1).iterator.take(effort.candidates).map(_._2).toVector
    val stateWith = costs.of(set)
    val (phantoms, _) = Gc.choose(candidates, chosen => stateWith(chosen).score, effort.evaluations)
    stateWith(phantoms)
  }

  // Phantoms a map task could gain from.
  private val reducing: Array[Int] = (graph.queryCount until graph.size).filterNot(forests.irreducible).toArray

  // How many of these nodes a relation can feed.
  private def fedBy(node: Int, nodes: Array[Int]): Int = {
    var n = 0
    var i = 0
    while (i < nodes.length) {
      if (graph.feeds(node, nodes(i))) n += 1
      i += 1
    }
    n
  }

  /** The state as a configuration with whole tables. */
  def configuration(state: SearchState): Configuration = {
    val set = state.set
    val forest = forests.cheapest(FeedingForest.inOrder(graph, set.lfta(state.phantoms).maintained), set.ships)
    new PlacedRelations(graph, shards, tiers).configuration(forest, set.ships, state.shipments)
  }
}

private[search] object PlacementSearch {

  // More shipments are more to go wrong with estimates: they have to promise this part of the simpler answer's cost.
  private val ClearGain = 0.8
  private val RefineUpTo = 64
}
