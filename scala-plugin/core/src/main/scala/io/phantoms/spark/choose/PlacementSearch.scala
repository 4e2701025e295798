package io.phantoms.spark.choose

import scala.collection.immutable.BitSet
import scala.collection.mutable

/**
 * Searches configurations together with their placement: which relations are maintained in the LFTA, which cross the
 * shuffle under which shard key, and which are derived after it. Beyond the papers, whose HFTA has one process.
 *
 * Starts from SMAP's answer (every query shipped, phantoms by GC) and takes the best *shipment* as long as one pays:
 * a relation shipped by a shard key S, from which queries that contain S are derived in the reduce task. Then moves
 * single queries between the two sides. [[secondTier]] goes on from there, with shipments that are fed from others.
 */
private[choose] final class PlacementSearch(graph: FeedingGraph, model: CostModel, allocation: SpaceAllocation) {
  import PlacementSearch._

  private val problem = graph.problem
  private val forests = new LftaForestBuilder(graph, model, allocation, math.max(0L, problem.memory).toDouble)
  private val derivations = new DerivationBuilder(graph, model)
  private val shards = new ShardKeys(graph, model)
  private val tiers = new TierBuilder(graph, model, derivations, shards)
  private val allQueries = (0 until graph.queryCount).toVector
  private val effort = Effort(graph.queryCount)

  /** Plain SMAP: every query a shipped LFTA relation, phantoms by GC. */
  def smap: State = phantomsByGc(Nil)

  /** Every query a shipped LFTA relation, with these phantoms. */
  def shippingQueries(phantoms: Vector[Int]): State = state(Nil, phantoms)

  /** The tables of one map task as the paper's problem: c2 ships an entry of average width and merges it. */
  def multipleAggregation: MultipleAggregation = {
    val shipping = allQueries.iterator.map(q => model.c2(graph.entryBytes(q))).sum / math.max(1, allQueries.size)
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
  def search: State = {
    val start = smap
    val free = refined(greedy(start, _ => true))
    if (free.shipments.forall(isSpread)) free
    else {
      val spread = refined(greedy(start, isSpread))
      if (spread.score < ClearGain * free.score) spread else free
    }
  }

  /** Goes on from a state with relations in the second tier, if they help. */
  def secondTier(start: State): State = refined(greedy(start, _ => true, tierProposals))

  private def isSpread(s: Shipment): Boolean = s.busyShards >= model.parallelism

  private def greedy(
      start: State,
      first: Shipment => Boolean,
      more: State => Vector[List[Shipment]] = _ => Vector.empty
  ): State = {
    var current = start
    var improving = true
    while (improving) {
      val allowed = if (current.shipments.isEmpty) first else (_: Shipment) => true
      val better = bestShipment(current, proposals(current, allowed).map(List(_)) ++ more(current))
      improving = better.exists(_.score < current.score)
      if (improving) current = better.get
    }
    current
  }

  private def refined(state: State): State = if (graph.queryCount <= RefineUpTo) refine(state) else state

  /** The state as a configuration with whole tables. */
  def configuration(state: State): Configuration = {
    val ships = shipsIn(state.shipments)
    val forest = forests.cheapest(lfta(state.shipments, state.phantoms), ships)
    new PlacedRelations(graph, shards, tiers).configuration(forest, ships, state.shipments)
  }

  // ---- cost of a state -------------------------------------------------------------------------------------------

  private def lfta(shipments: List[Shipment], phantoms: Vector[Int]): Vector[Int] = {
    val derived = derivedIn(shipments)
    val roots = shipments.filterNot(_.isSecondTier).map(_.derivation.root)
    (allQueries.filterNot(derived) ++ roots ++ phantoms.filterNot(derived)).distinct
  }

  // What crosses no shuffle, or the second one.
  private def derivedIn(shipments: List[Shipment]): Set[Int] = shipments.iterator.flatMap { s =>
    if (s.isSecondTier) s.derivation.root +: s.derivation.nodes else s.derivation.nodes
  }.toSet

  // Each relation of the second tier needs a source that is shipped from the map side.
  private def isFed(shipments: List[Shipment]): Boolean = {
    val second = shipments.filter(_.isSecondTier)
    second.isEmpty || {
      val (derived, ships) = (derivedIn(shipments), shipsIn(shipments))
      second.forall(s => ships(s.source) && !derived(s.source))
    }
  }

  private def shipsIn(shipments: List[Shipment]): Int => Boolean = {
    val roots = shipments.filterNot(_.isSecondTier).map(_.derivation.root).toSet
    node => !graph.isPhantom(node) || roots(node)
  }

  /** The state with these relations, whether or not they were searched for. */
  def state(shipments: List[Shipment], phantoms: Vector[Int]): State = {
    val ships = shipsIn(shipments)
    val forest = forests.build(lfta(shipments, phantoms), ships, whole = false)
    var mapWork = 0.0
    var reduceWork = 0.0
    var longest = 0.0
    var tierWork = 0.0
    var longestTier = 0.0
    val (second, first) = shipments.partition(_.isSecondTier)
    val bySource = second.groupBy(_.source)
    for (i <- forest.nodes.indices) {
      val node = forest.nodes(i)
      val shipped = if (ships(node)) Some(graph.entryBytes(node)) else None
      mapWork += model.mapWork(forest.fed(i), forest.evictions(i), forests.tableBytes(forest, i), shipped)
      if (shipped.nonEmpty) {
        val shipment = first.find(_.derivation.root == node)
        val busy = shipment.fold(shards.ownBusy(node))(_.busyShards)
        val merge = model.mergeWork(forest.evictions(i), derivations.tableBytes(node, busy))
        // A phantom that feeds the second tier alone is merged for that alone.
        if (!graph.isPhantom(node) || shipment.exists(_.derivation.nodes.nonEmpty)) {
          val work = merge + model.emitWork(graph.groups(node), graph.queriesOf(node).size) +
            shipment.fold(0.0)(_.derivation.work)
          reduceWork += work
          longest = math.max(longest, work / busy)
        }
        bySource.get(node).foreach { fed =>
          val feeds = tiers.feeds(tiers.sourceOf(node, first), fed)
          val work = merge + feeds.map(_.work).sum
          tierWork += work
          longestTier = math.max(longestTier, work / busy)
          feeds.foreach { f =>
            reduceWork += f.mergeWork
            longest = math.max(longest, f.mergeWork / f.shipment.busyShards)
          }
        }
      }
    }
    val elapsed = model.elapsed(mapWork, reduceWork, longest, tierWork, longestTier)
    val score =
      if (isFed(shipments)) elapsed + WorkWeight * (mapWork * model.partitions + reduceWork + tierWork)
      else Double.PositiveInfinity
    State(shipments, phantoms, forest, score)
  }

  private def phantomsByGc(shipments: List[Shipment]): State = {
    val maintained = lfta(shipments, Vector.empty).toArray
    val roots = shipments.map(_.derivation.root)
    val candidates = reducing.iterator.filterNot(roots.contains)
      .map(p => (fedBy(p, maintained), p)).filter(_._1 >= 2)
      .map { case (n, p) => (n * (model.rowsPerTask - forests.groupsInTask(p)), p) }
      .toVector.sortBy { case (promise, p) => (-promise, p) }.map(_._2).take(effort.candidates)
    val (phantoms, _) = Gc.choose(candidates, chosen => state(shipments, chosen).score, effort.evaluations)
    state(shipments, phantoms)
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

  // ---- shipments -------------------------------------------------------------------------------------------------

  private def bestShipment(current: State, proposals: Vector[List[Shipment]]): Option[State] = {
    val tried = proposals.map { p =>
      val plain = state(p ++ current.shipments, current.phantoms)
      (plain.score, p)
    }
    val finalists = tried.sortBy(_._1).take(effort.finalists).map { case (_, p) =>
      phantomsByGc(p.map(withPhantoms) ++ current.shipments)
    }
    finalists.minByOption(_.score)
  }

  private def proposals(current: State, allowed: Shipment => Boolean): Vector[Shipment] = {
    val derived = derivedIn(current.shipments)
    val roots = current.shipments.map(_.derivation.root).toSet
    val open = allQueries.filterNot(q => derived(q) || roots(q)).sortBy(graph.rank(_))
    val saving = lftaCosts(current)
    val found = mutable.ArrayBuffer.empty[(Double, Shipment)]
    for (root <- rootCandidates(open) if !derived(root) && !roots(root)) {
      val below = open.filter(graph.feeds(root, _))
      val seen = mutable.HashSet.empty[Vector[Int]]
      for (key <- shards.candidates(root, below)) {
        val eligible = below.filter(graph.contains(_, key))
        if (eligible.nonEmpty && seen.add(eligible)) {
          val busy = shards.busy(root, key)
          val (chosen, gain) = worthDeriving(root, eligible, busy, saving)
          val entry = if (saving.contains(root)) 0.0 else entryCost(root, busy)
          if (chosen.nonEmpty) found += ((gain - entry, shipment(root, key, busy, chosen)))
          if (chosen.size < eligible.size)
            found += ((gain / 2 - entry, shipment(root, key, busy, eligible)))
        }
      }
    }
    found.sortBy(-_._1).iterator.map(_._2).filter(allowed).take(effort.proposals).toVector
  }

  // ---- the second tier -------------------------------------------------------------------------------------------

  /**
   * Relations fed from one that is shipped anyhow: all that gain by it, and each alone. And from a phantom that is not
   * shipped yet.
   */
  private def tierProposals(current: State): Vector[List[Shipment]] = {
    val first = current.shipments.filterNot(_.isSecondTier)
    val (derived, roots) = (derivedIn(current.shipments), current.shipments.map(_.derivation.root).toSet)
    val sources = current.shipments.filter(_.isSecondTier).map(_.source).toSet
    val open = allQueries.filterNot(q => derived(q) || roots(q) || sources(q)).sortBy(graph.rank(_))
    val saving = lftaCosts(current)
    val forest = current.forest
    val ships = shipsIn(current.shipments)
    val shipped = forest.nodes.indices.filter(i => ships(forest.nodes(i)))
      .sortBy(i => graph.groups(forest.nodes(i)) - forest.evictions(i) * model.partitions).map(forest.nodes(_))
    val fromShipped = shipped.iterator.map(tiers.sourceOf(_, first)).map(s => tierShipments(s, open, saving))
      .filter(_.nonEmpty).take(effort.tierSources)
      .flatMap(all => all +: (if (all.size > 1) all.map(List(_)) else Nil)).toVector
    val fromPhantoms = rootCandidates(open).filter(p => graph.isPhantom(p) && !roots(p) && !derived(p))
      .take(effort.tierSources).flatMap { root =>
        val below = open.filter(graph.feeds(root, _))
        shards.candidates(root, below).take(TierKeys).map { key =>
          val busy = shards.busy(root, key)
          val (chosen, _) = worthDeriving(root, below.filter(graph.contains(_, key)), busy, saving)
          val source = shipment(root, key, busy, chosen)
          source +: tierShipments(
            TierSource(shards.count(root, key), key, busy, source.derivation),
            below.diff(chosen),
            saving
          )
        }.filter(_.size > 1)
      }
    fromShipped ++ fromPhantoms
  }

  // Shipments of the second tier that are worth feeding from a source, the finest first.
  private def tierShipments(source: TierSource, open: Vector[Int], saving: Map[Int, Double]): List[Shipment] = {
    var left = open.filter(graph.feeds(source.derivation.root, _))
    val found = mutable.ListBuffer.empty[Shipment]
    while (left.nonEmpty) {
      val root = left.head
      left = left.tail
      val cost = tiers.rootCost(source, root, shards.ownBusy(root))
      if (saving.getOrElse(root, 0.0) > cost) {
        val under = left.filter(graph.feeds(root, _))
        val (key, chosen, _) = (shards.own(root) +: shards.candidates(root, under)).map { key =>
          val (chosen, gain) =
            worthDeriving(root, under.filter(graph.contains(_, key)), shards.busy(root, key), saving)
          (key, chosen, gain)
        }.maxBy(_._3)
        found += shipment(root, key, shards.busy(root, key), chosen).copy(source = source.derivation.root)
        left = left.diff(chosen)
      }
    }
    found.toList
  }

  private def shipment(root: Int, key: BitSet, busy: Double, nodes: Iterable[Int]): Shipment =
    Shipment(key, busy, derivations.derive(root, nodes, busy))

  private def withPhantoms(s: Shipment): Shipment =
    s.copy(derivation = derivations.withPhantoms(s.derivation, graph.contains(_, s.shardKey)))

  // What each relation that crosses the shuffle costs now, in elapsed time: what deriving it would save.
  private def lftaCosts(current: State): Map[Int, Double] = {
    val forest = current.forest
    val ships = shipsIn(current.shipments)
    forest.nodes.indices.iterator.filter(i => ships(forest.nodes(i))).map { i =>
      val node = forest.nodes(i)
      val map = model.mapWork(
        forest.fed(i),
        forest.evictions(i),
        forests.tableBytes(forest, i),
        Some(graph.entryBytes(node))
      ) * model.partitions / model.mapParallelism
      val busy = shards.ownBusy(node)
      val merge = model.mergeWork(forest.evictions(i), derivations.tableBytes(node, busy)) /
        math.min(busy, model.parallelism.toDouble)
      node -> (map + merge)
    }.toMap
  }

  // What shipping a relation adds that is not shipped yet, when its table works as well as it can.
  private def entryCost(root: Int, busy: Double): Double = {
    val leaving = forests.groupsInTask(root)
    val map = model.mapWork(model.rowsPerTask, leaving, CostModel.ProbeCacheBytes, Some(graph.entryBytes(root)))
    map * model.partitions / model.mapParallelism +
      model.mergeWork(leaving, derivations.tableBytes(root, busy)) / math.min(busy, model.parallelism.toDouble)
  }

  // The queries that are cheaper derived than shipped, taken finest first so that each can be derived from another.
  private def worthDeriving(
      root: Int,
      eligible: Vector[Int],
      busy: Double,
      saving: Map[Int, Double]
  ): (Vector[Int], Double) = {
    val speed = math.min(busy, model.parallelism.toDouble)
    var available = Vector(root)
    var gain = 0.0
    for (q <- eligible) {
      val parentGroups = graph.groups(derivations.cheapest(available, q))
      val cost = model.deriveWork(parentGroups, derivations.tableBytes(q, busy)) / speed
      val saved = saving.getOrElse(q, 0.0) - cost
      if (saved > 0) {
        available :+= q
        gain += saved
      }
    }
    (available.tail, gain)
  }

  // The widest queries, and the phantoms that most of the open queries can be derived from.
  private def rootCandidates(open: Vector[Int]): Vector[Int] = {
    val nodes = open.toArray
    val phantoms = (graph.queryCount until graph.size).iterator
      .map(p => (fedBy(p, nodes), p)).filter(_._1 >= 2).toVector
      .sortBy { case (n, p) => (-n, graph.groups(p)) }.map(_._2)
    open.take(effort.roots) ++ phantoms.take(effort.roots)
  }

  // ---- refinement ------------------------------------------------------------------------------------------------

  // Moves one query at a time between the LFTA and a shipment, while that helps.
  private def refine(start: State): State = {
    var current = start
    var improving = start.shipments.nonEmpty
    var rounds = 0
    while (improving && rounds < RefineRounds) {
      val before = current.score
      for (q <- allQueries)
        moves(current, q).map(s => state(s, current.phantoms)).minByOption(_.score)
          .filter(_.score < current.score).foreach(current = _)
      val again = phantomsByGc(current.shipments)
      if (again.score < current.score) current = again
      improving = current.score < before
      rounds += 1
    }
    current
  }

  private def moves(current: State, q: Int): Vector[List[Shipment]] = {
    val shipments = current.shipments
    if (shipments.exists(_.derivation.root == q)) {
      // Back from the second tier, with all that is derived from it there.
      val without = shipments.filterNot(s => s.isSecondTier && s.derivation.root == q)
      if (without.size < shipments.size) Vector(withoutIdle(without)) else Vector.empty
    } else {
      val without = withoutIdle(shipments.map(s =>
        if (s.derivation.nodes.contains(q)) rederive(s, s.derivation.nodes.filter(_ != q)) else s
      ))
      val into = without.indices.iterator
        .filter(i => graph.feeds(without(i).derivation.root, q) && graph.contains(q, without(i).shardKey))
        .map(i => without.updated(i, rederive(without(i), without(i).derivation.nodes :+ q)))
      (into ++ Iterator(without)).filter(_ != shipments).toVector
    }
  }

  private def withoutIdle(shipments: List[Shipment]): List[Shipment] = shipments.filter(s =>
    s.isSecondTier || s.derivation.nodes.exists(!graph.isPhantom(_)) ||
      shipments.exists(o => o.isSecondTier && o.source == s.derivation.root)
  )

  private def rederive(s: Shipment, nodes: Vector[Int]): Shipment = {
    val queries = nodes.filterNot(graph.isPhantom)
    withPhantoms(s.copy(derivation = derivations.derive(s.derivation.root, queries, s.derivation.busyShards)))
  }
}

private[choose] object PlacementSearch {

  /**
   * A relation shipped by a shard key with what is derived from it.
   *
   * @param busyShards by how much sharding shortens the longest reduce task, see [[CostModel.busyShards]]
   * @param source in the second tier: the relation shipped from the map side in whose reduce tasks it is fed; -1: it is
   *   shipped from the map side itself
   */
  final case class Shipment(shardKey: BitSet, busyShards: Double, derivation: Derivation, source: Int = -1) {
    def isSecondTier: Boolean = source >= 0
  }

  /** @param score what the search minimises: elapsed time, and a little of all work so that idle cores are not free */
  final case class State(shipments: List[Shipment], phantoms: Vector[Int], forest: LftaForest, score: Double)

  private val WorkWeight = 0.01
  // More shipments are more to go wrong with estimates: they have to promise this part of the simpler answer's cost.
  private val ClearGain = 0.8
  private val RefineUpTo = 64
  private val RefineRounds = 3

  /** How much to try: an evaluation grows with the square of the relations, so the counts shrink with it. */
  private final case class Effort(
      evaluations: Int,
      candidates: Int,
      proposals: Int,
      finalists: Int,
      roots: Int,
      tierSources: Int
  )

  // Shard keys tried for a phantom that would feed the second tier.
  private val TierKeys = 4

  private object Effort {
    def apply(queries: Int): Effort = {
      val evaluations = math.max(60, 1000000 / (200 * queries + 3 * queries * queries + 1))
      Effort(
        evaluations = evaluations,
        candidates = math.max(20, evaluations / 3),
        proposals = if (queries <= 64) 24 else 8,
        finalists = if (queries <= 64) 4 else 2,
        roots = if (queries <= 64) 128 else 32,
        tierSources = if (queries <= 64) 8 else 2
      )
    }
  }
}
