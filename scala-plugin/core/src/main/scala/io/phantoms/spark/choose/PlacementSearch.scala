package io.phantoms.spark.choose

import scala.collection.immutable.BitSet
import scala.collection.mutable

/**
 * Searches configurations together with their placement: which relations are maintained in the LFTA, which cross the
 * shuffle under which shard key, and which are derived after it. Beyond the papers, whose HFTA has one process.
 *
 * Starts from SMAP's answer (every query shipped, phantoms by GC) and takes the best *shipment* as long as one pays:
 * a relation shipped by a shard key S, from which queries that contain S are derived in the reduce task. Then moves
 * single queries between the two sides.
 */
private[choose] final class PlacementSearch(graph: FeedingGraph, model: CostModel, allocation: SpaceAllocation) {
  import PlacementSearch._

  private val problem = graph.problem
  private val forests = new LftaForestBuilder(graph, model, allocation, math.max(0L, problem.memory).toDouble)
  private val derivations = new DerivationBuilder(graph, model)
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

  private def isSpread(s: Shipment): Boolean = s.busyShards >= model.parallelism

  private def greedy(start: State, first: Shipment => Boolean): State = {
    var current = start
    var improving = true
    while (improving) {
      val allowed = if (current.shipments.isEmpty) first else (_: Shipment) => true
      val better = bestShipment(current, allowed)
      improving = better.exists(_.score < current.score)
      if (improving) current = better.get
    }
    current
  }

  private def refined(state: State): State = if (graph.queryCount <= RefineUpTo) refine(state) else state

  /** The state as a configuration with whole tables. */
  def configuration(state: State): Configuration = {
    val roots = state.shipments.map(s => s.derivation.root -> s).toMap
    val ships = shipsIn(state.shipments)
    val forest = forests.cheapest(lfta(state.shipments, state.phantoms), ships)
    val maintained = forest.nodes.toVector.zipWithIndex.map { case (node, i) =>
      val placement =
        if (!ships(node)) Placement.Feeds
        else {
          val key = roots.get(node).fold(ownShardKey(node))(_.shardKey)
          val shards = shardsOf(node, key)
          Placement.Shipped(if (shards == 1) BitSet.empty else key, shards)
        }
      Relation(graph.keys(node), queriesOf(node), forest.parent(i), forest.buckets(i).toInt, placement)
    }
    var size = maintained.size
    val derived = state.shipments.toVector.flatMap { case Shipment(_, _, derivation) =>
      // Two shipments may derive the same phantom, each for its own shards.
      val ordinal = mutable.Map(derivation.root -> forest.nodes.indexOf(derivation.root))
      derivation.nodes.zip(derivation.parents).map { case (node, parent) =>
        ordinal(node) = size
        size += 1
        Relation(graph.keys(node), queriesOf(node), ordinal(parent), 0, Placement.Derived)
      }
    }
    Configuration(maintained ++ derived)
  }

  // ---- cost of a state -------------------------------------------------------------------------------------------

  private def lfta(shipments: List[Shipment], phantoms: Vector[Int]): Vector[Int] = {
    val derived = derivedIn(shipments)
    val roots = shipments.map(_.derivation.root)
    (allQueries.filterNot(derived) ++ roots ++ phantoms.filterNot(derived)).distinct
  }

  private def derivedIn(shipments: List[Shipment]): Set[Int] = shipments.iterator.flatMap(_.derivation.nodes).toSet

  private def shipsIn(shipments: List[Shipment]): Int => Boolean = {
    val roots = shipments.map(_.derivation.root).toSet
    node => !graph.isPhantom(node) || roots(node)
  }

  /** The state with these relations, whether or not they were searched for. */
  def state(shipments: List[Shipment], phantoms: Vector[Int]): State = {
    val ships = shipsIn(shipments)
    val forest = forests.build(lfta(shipments, phantoms), ships, whole = false)
    var mapWork = 0.0
    var reduceWork = 0.0
    var longest = 0.0
    for (i <- forest.nodes.indices) {
      val node = forest.nodes(i)
      val shipped = if (ships(node)) Some(graph.entryBytes(node)) else None
      mapWork += model.mapWork(forest.fed(i), forest.evictions(i), forests.tableBytes(forest, i), shipped)
      if (shipped.nonEmpty) {
        val shipment = shipments.find(_.derivation.root == node)
        val busy = shipment.fold(ownBusy(node))(_.busyShards)
        val work = model.mergeWork(forest.evictions(i), derivations.tableBytes(node, busy)) +
          model.emitWork(graph.groups(node), queriesOf(node).size) + shipment.fold(0.0)(_.derivation.work)
        reduceWork += work
        longest = math.max(longest, work / busy)
      }
    }
    val elapsed = model.elapsed(mapWork, reduceWork, longest)
    val score = elapsed + WorkWeight * (mapWork * model.partitions + reduceWork)
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

  private def bestShipment(current: State, allowed: Shipment => Boolean): Option[State] = {
    val tried = proposals(current, allowed).map { p =>
      val plain = state(p :: current.shipments, current.phantoms)
      (plain.score, p)
    }
    val finalists = tried.sortBy(_._1).take(effort.finalists).map { case (_, p) =>
      phantomsByGc(withPhantoms(p) :: current.shipments)
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
      for (key <- shardKeys(root, below)) {
        val eligible = below.filter(graph.contains(_, key))
        if (eligible.nonEmpty && seen.add(eligible)) {
          val busy = busyShards(root, key)
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
      val busy = ownBusy(node)
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

  // The empty key, single attributes that split the relation, and pairs where a single one has too few values.
  private def shardKeys(root: Int, below: Vector[Int]): Vector[BitSet] = {
    val singles = graph.keys(root).toVector.map(BitSet(_)).map(k => (attributeGroups(k), k)).sortBy(-_._1)
    val narrow = singles.filter(_._1 < NarrowBelow * model.parallelism).map(_._2)
    val pairs = for { a <- narrow; b <- narrow if a.head < b.head } yield a | b
    (singles.map(_._2) ++ pairs :+ BitSet.empty).filter(k => below.exists(graph.contains(_, k)))
  }

  private val attributeGroupsOf = mutable.HashMap.empty[BitSet, Double]
  private def attributeGroups(key: BitSet): Double =
    attributeGroupsOf.getOrElseUpdate(key, math.max(1.0, problem.statistics.groups(key)))

  private def shardsOf(node: Int, key: BitSet): Int = model.shards(graph.groups(node), graph.entryBytes(node), key)

  private def busyShards(node: Int, key: BitSet): Double = model.busyShards(shardsOf(node, key), key, graph.keys(node))

  private def ownShardKey(node: Int): BitSet = graph.keys(node)

  private val ownBusyShards: Array[Double] = new Array[Double](graph.size)
  private def ownBusy(node: Int): Double = {
    if (ownBusyShards(node) == 0) ownBusyShards(node) = busyShards(node, ownShardKey(node))
    ownBusyShards(node)
  }

  private def queriesOf(node: Int): Vector[Int] = if (graph.isPhantom(node)) Vector.empty else graph.queries(node)

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
    if (shipments.exists(_.derivation.root == q)) Vector.empty
    else {
      val without = shipments.map(s =>
        if (s.derivation.nodes.contains(q)) rederive(s, s.derivation.nodes.filter(_ != q)) else s
      ).filter(_.derivation.nodes.exists(!graph.isPhantom(_)))
      val into = without.indices.iterator
        .filter(i => graph.feeds(without(i).derivation.root, q) && graph.contains(q, without(i).shardKey))
        .map(i => without.updated(i, rederive(without(i), without(i).derivation.nodes :+ q)))
      (into ++ Iterator(without)).filter(_ != shipments).toVector
    }
  }

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
   */
  final case class Shipment(shardKey: BitSet, busyShards: Double, derivation: Derivation)

  /** @param score what the search minimises: elapsed time, and a little of all work so that idle cores are not free */
  final case class State(shipments: List[Shipment], phantoms: Vector[Int], forest: LftaForest, score: Double)

  private val WorkWeight = 0.01
  // More shipments are more to go wrong with estimates: they have to promise this part of the simpler answer's cost.
  private val ClearGain = 0.8
  // A single attribute with fewer values per core than this is also tried together with another.
  private val NarrowBelow = 4.0
  private val RefineUpTo = 64
  private val RefineRounds = 3

  /** How much to try: an evaluation grows with the square of the relations, so the counts shrink with it. */
  private final case class Effort(evaluations: Int, candidates: Int, proposals: Int, finalists: Int, roots: Int)

  private object Effort {
    def apply(queries: Int): Effort = {
      val evaluations = math.max(60, 1000000 / (200 * queries + 3 * queries * queries + 1))
      Effort(
        evaluations = evaluations,
        candidates = math.max(20, evaluations / 3),
        proposals = if (queries <= 64) 24 else 8,
        finalists = if (queries <= 64) 4 else 2,
        roots = if (queries <= 64) 128 else 32
      )
    }
  }
}
