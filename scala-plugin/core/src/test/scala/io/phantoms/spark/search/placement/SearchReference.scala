package io.phantoms.spark.search.placement

import scala.collection.immutable.BitSet

import io.phantoms.spark.cost.{ConfigurationTree, CostModel}
import io.phantoms.spark.model.Problem
import io.phantoms.spark.search.graph.FeedingGraph
import io.phantoms.spark.search.smap.{SpaceAllocation, SpaceProblem}

/**
 * What a search computes from machine words and numbers kept per node, once more from the definitions: sets of
 * attributes, a look at every pair of relations, every number where it is needed.
 */
private[placement] final class SearchReference(problem: Problem, allocation: SpaceAllocation) {
  val graph = new FeedingGraph(problem)
  val model = new CostModel(problem)
  private val memory = math.max(0L, problem.memory).toDouble

  private def groups(n: Int): Double = graph.groups(n)
  private def finer(a: Int, b: Int): Boolean = a != b && graph.keys(b).subsetOf(graph.keys(a))
  private def inTask(n: Int): Double = model.groupsInTask(groups(n), graph.flowLength(n))
  private def widestFirst(nodes: Iterable[Int]): Vector[Int] =
    nodes.toSet.toVector.sortBy((n: Int) => (-graph.keys(n).size, -groups(n), n))

  /** The one with fewest groups; of equals the widest. */
  def cheapest(available: Iterable[Int], node: Int): Option[Int] =
    widestFirst(available).filter(finer(_, node)).minByOption(groups)

  def derive(root: Int, nodes: Iterable[Int], busy: Double): Derivation = {
    val ordered = widestFirst(nodes)
    val parents = ordered.map(n => cheapest(root +: ordered, n).get)
    val work = ordered.zip(parents).map { case (n, p) =>
      model.deriveWork(groups(p), tableBytes(n, busy)) + model.emitWork(groups(n), graph.queriesOf(n))
    }.sum
    Derivation(root, ordered, parents, busy, work)
  }

  def tableBytes(n: Int, busy: Double): Double = groups(n) * graph.entryBytes(n) / busy

  /** (parent, buckets, fed, evictions) of each maintained relation. */
  type Forest = Vector[(Int, Option[Int], Double, Double, Double)]

  def forest(relations: Iterable[Int], ships: Int => Boolean): Forest = {
    val poor = LftaForestBuilder.PassAbove
    def settle(passing: Set[Int]): Forest = {
      val built = attempt(widestFirst(relations).filter(n => ships(n) || !passing(n)), ships, passing)
      val tables = built.filterNot(r => passing(r._1))
      val hopeless = tables.filter { case (n, _, buckets, fed, _) => buckets < 1 || inTask(n) > fed * poor }
      val bad = tables.filter { case (_, _, _, fed, left) => left > fed * poor }
      val worst =
        if (hopeless.nonEmpty) hopeless
        else bad.sortBy { case (_, _, _, fed, left) => -left / fed }.take((bad.size + 2) / 3)
      if (worst.isEmpty) built else settle(passing ++ worst.map(_._1))
    }
    settle(relations.filter(n => inTask(n) > model.rowsPerTask * poor).toSet)
  }

  private def attempt(nodes: Vector[Int], ships: Int => Boolean, passing: Set[Int]): Forest = {
    val parents = nodes.map(n => n -> cheapest(nodes.filterNot(passing), n)).toMap
    val idle = nodes.filter(n => !ships(n) && parents.values.count(_.contains(n)) < 2)
    if (idle.nonEmpty) attempt(nodes.diff(idle), ships, passing)
    else {
      val tables = nodes.filterNot(passing)
      val space = new Array[Double](tables.size)
      if (tables.nonEmpty) {
        val shipping = tables.map(n => model.c2(graph.entryBytes(n))).sum / tables.size
        val tree = ConfigurationTree(tables.map(n => parents(n).fold(-1)(tables.indexOf(_))))
        val shares = allocation.allocate(
          SpaceProblem(
            tree,
            k => inTask(tables(k)),
            k => graph.entryBytes(tables(k)).toDouble,
            k => graph.flowLength(tables(k)),
            k => ships(tables(k))
          ),
          memory,
          model.machine.c1,
          shipping + model.machine.merge
        )
        shares.copyToArray(space)
        TableSizes
          .respread(space, k => TableSizes.ceiling(inTask(tables(k))).toDouble * graph.entryBytes(tables(k)))
      }
      nodes.foldLeft(Vector.empty[(Int, Option[Int], Double, Double, Double)]) { (above, n) =>
        val at = tables.indexOf(n)
        val buckets =
          if (at < 0) 0.0 else math.max(TableSizes.MinBuckets.toDouble, space(at) / graph.entryBytes(n))
        val fed = parents(n).fold(model.rowsPerTask)(p => above.find(_._1 == p).get._5)
        val left =
          model.evictions(fed, inTask(n), buckets, model.flowLength(graph.flowLength(n), fed))
        above :+ ((n, parents(n), buckets, fed, left))
      }
    }
  }

  /** Score of a state: elapsed time and a hundredth of all work. */
  def score(shipments: List[Shipment], phantoms: Vector[Int]): Double = {
    val (second, first) = shipments.partition(_.isSecondTier)
    val derived =
      shipments.flatMap(s => if (s.isSecondTier) s.root +: s.derivation.nodes else s.derivation.nodes).toSet
    val relations = (0 until graph.queryCount).filterNot(derived) ++ first.map(_.root) ++ phantoms.filterNot(derived)
    def ships(n: Int): Boolean = !graph.isPhantom(n) || first.exists(_.root == n)
    def shards(n: Int, key: BitSet): Int = model.shards(groups(n), graph.entryBytes(n), key)
    val work = forest(relations, ships).map { case (n, _, buckets, fed, left) =>
      val shipped = Option.when(ships(n))(graph.entryBytes(n))
      val map = model.mapWork(fed, left, if (buckets < 1) 0.0 else buckets * graph.entryBytes(n), shipped)
      val own = first.find(_.root == n)
      val busy = own.fold(model.busyShards(shards(n, graph.keys(n)), graph.keys(n), graph.keys(n)))(_.busyShards)
      val merge = model.mergeWork(left, tableBytes(n, busy))
      val answers = shipped.nonEmpty && (!graph.isPhantom(n) || own.exists(_.derivation.nodes.nonEmpty))
      val reduce =
        if (!answers) 0.0
        else merge + model.emitWork(groups(n), graph.queriesOf(n)) + own.fold(0.0)(_.derivation.work)
      val fedFrom = second.filter(_.source == n).sortBy(s => graph.rank(s.root))
      val key = own.fold(graph.keys(n))(_.shardKey)
      val feeds = feedsOf(own.fold(Derivation(n, busy))(_.derivation), key, shards(n, key), busy, fedFrom)
      val tier = if (feeds.isEmpty) 0.0 else merge + feeds.map(_._1).sum
      (map, reduce, busy, tier, feeds)
    }
    val mapWork = work.map(_._1).sum
    val merges = work.flatMap(_._5).map { case (_, merge, busy) => (merge, busy) }
    val reduceWork = work.map(_._2).sum + merges.map(_._1).sum
    val longest = (work.map(w => w._2 / w._3) ++ merges.map(m => m._1 / m._2)).max
    val tierWork = work.map(_._4).sum
    model.elapsed(mapWork, reduceWork, longest, tierWork, work.map(w => w._4 / w._3).max) +
      0.01 * (mapWork * model.partitions + reduceWork + tierWork)
  }

  // (work in the source's tasks, work after the second shuffle, its busy shards) of each relation fed there.
  private def feedsOf(
      source: Derivation,
      key: BitSet,
      shards: Int,
      busy: Double,
      shipments: List[Shipment]
  ): Vector[(Double, Double, Double)] = {
    def making(n: Int): Double =
      if (n == source.root) 0.0
      else {
        val p = source.parents(source.nodes.indexOf(n))
        making(p) + model.deriveWork(groups(p), tableBytes(n, busy))
      }
    val there = (source.root +: source.nodes).map(n => (n, making(n), groups(n)))
    shipments.foldLeft((there, Vector.empty[(Double, Double, Double)])) { case ((there, done), s) =>
      val n = s.root
      val (work, partials) = there.filter(t => finer(t._1, n)).map { case (_, made, entries) =>
        val partials =
          if (shards == 1 || key.subsetOf(graph.keys(n))) math.min(groups(n), entries)
          else model.partialGroups(groups(n), entries, shards)
        val bytes = graph.entryBytes(n)
        (made + model.tierWork(entries, partials, partials * bytes / busy, bytes), partials)
      }.minBy(_._1)
      val merge = model.tierMergeWork(partials, tableBytes(n, s.busyShards)) +
        model.emitWork(groups(n), graph.queriesOf(n)) + s.derivation.work
      (there :+ ((n, 0.0, partials)), done :+ ((work, merge, s.busyShards)))
    }._2
  }
}
