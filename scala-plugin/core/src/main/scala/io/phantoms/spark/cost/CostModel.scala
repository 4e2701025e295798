package io.phantoms.spark.cost

import scala.collection.immutable.BitSet

import io.phantoms.spark.model.{Machine, Problem, Query, Sketches}

/**
 * Elapsed time of a batch job, in nanoseconds, from the machine's constants.
 *
 * A map task is an epoch: it maintains the LFTA tables over its share of the rows and evicts them when it ends. What a
 * table of b buckets passes on from F fed entries of g groups is F x + occupied(g, b), the intra-epoch term of SMAP eq 7
 * plus the end-of-epoch term of eq 8 with the occupied buckets as M_R; for F = g that is exactly F. Reduce tasks merge
 * what was shipped to them and derive the relations below it.
 */
private[spark] final class CostModel(problem: Problem) {
  import CostModel._

  val machine: Machine = problem.machine
  val partitions: Int = math.max(1, machine.partitions)
  val parallelism: Int = math.max(1, machine.parallelism)
  val rows: Double = math.max(0.0, problem.statistics.rows)
  val rowsPerTask: Double = rows / partitions

  /** Map tasks that run at once. */
  val mapParallelism: Int = math.min(parallelism, partitions)

  /** Shipping one entry of this size (SMAP's c2, grown by the width of the entry). */
  def c2(shippedBytes: Int): Double = machine.c2 + machine.c2PerByte * math.max(0, shippedBytes - EntryBytes)

  private val dealt = new DealtRuns(rows, partitions)
  private val combining = new CombineCost(problem)

  /** See [[DealtRuns.groupsInTask]]. */
  def groupsInTask(groups: Double, flowLength: Double): Double = dealt.groupsInTask(groups, flowLength)

  /**
   * Flow length of a relation that sees `fed` entries per task: the tables above collapse runs, so what a raw relation
   * sees as l_a rows arrives as proportionally fewer entries (SMAP section 5.3 measures the same fall with depth).
   */
  def flowLength(raw: Double, fed: Double): Double =
    if (rowsPerTask <= 0) 1.0 else math.max(1.0, raw * math.min(1.0, fed / rowsPerTask))

  /** Entries per task that leave a table of `buckets` buckets, the end of the epoch included. */
  def evictions(fed: Double, groups: Double, buckets: Double, flowLength: Double): Double =
    if (buckets < 1) fed
    else {
      val x = CollisionModel.random(groups, buckets)
      val flows = math.max(groups, fed / flowLength)
      math.min(fed, flows * x + groups * (1 - x))
    }

  /**
   * Probing a table of this many bytes (SMAP's c1), or passing through where there is none. Beyond the cache of a core
   * each doubling costs more, although several probes wait for memory together.
   */
  def probe(tableBytes: Double): Double =
    machine.c1 * (if (tableBytes <= 0) PassThrough else beyondCache(tableBytes, ProbeCacheBytes, ProbeSlope))

  /** Factor on the price of meeting a table: 1 within the cache, and `slope` more for every doubling past it. */
  private def beyondCache(tableBytes: Double, cacheBytes: Double, slope: Double): Double =
    1.0 + math.max(0.0, slope * math.log(tableBytes / cacheBytes) / math.log(2.0))

  /**
   * Time one map task spends on a relation: probing its table of this many bytes, and shipping what leaves.
   *
   * @param sketching what adding an entry to a group's sketches takes
   */
  def mapWork(
      fed: Double,
      evictions: Double,
      tableBytes: Double,
      shippedBytes: Option[Int],
      sketching: Double = 0.0
  ): Double = fed * (probe(tableBytes) + sketching) + shippedBytes.fold(0.0)(bytes => evictions * c2(bytes))

  /** Adding a row to the sketches of a group of a relation by `keys`, or merging those of another one: only what is there. */
  def sketching(keys: BitSet, rows: Boolean): Double =
    if (!problem.hasSketches(keys)) 0.0
    else if (rows) problem.sketches.update + ObjectCall * problem.sketches.objects
    else merging(problem.sketchesOf(keys))

  private def merging(s: Sketches): Double =
    SketchMerge * s.words + ObjectMerge * s.objects + ObjectWordMerge * s.objectWords

  /**
   * Merging one entry into a complete table of this many bytes: [[Machine.merge]] while the table stays in the cache of
   * a core, and more with every doubling past that.
   *
   * @param sketching what merging its sketches takes, see [[sketching]]
   */
  def mergeTime(tableBytes: Double, sketching: Double = 0.0): Double =
    machine.merge * beyondCache(tableBytes, CacheBytes, CacheSlope) + sketching

  /** Merging what all map tasks ship of one relation into tables of `tableBytes` each. */
  def mergeWork(evictions: Double, tableBytes: Double, sketching: Double = 0.0): Double =
    evictions * partitions * mergeTime(tableBytes, sketching)

  /** Deriving a relation, in tables of `tableBytes` each, from a complete one of `parentGroups` groups. */
  def deriveWork(parentGroups: Double, tableBytes: Double, sketching: Double = 0.0): Double =
    parentGroups * mergeTime(tableBytes, sketching)

  /**
   * Groups of a relation in all tasks that merged `parentGroups` groups of its parent and aggregate them once more, where
   * these were dealt to that many tasks at random: each of its groups is there in every task that got one of its finer
   * groups (the same law as of [[DealtRuns]]).
   */
  def partialGroups(groups: Double, parentGroups: Double, tasks: Int): Double =
    if (tasks <= 1) math.min(groups, parentGroups)
    else {
      val finer = math.max(1.0, parentGroups / groups)
      math.min(parentGroups, -groups * tasks * Math.expm1(finer * Math.log1p(-1.0 / tasks)))
    }

  /**
   * Feeding a relation of the second tier from `fed` groups of its parent, in tables of `tableBytes` each: aggregating
   * them, and shipping the partial groups.
   */
  def tierWork(
      fed: Double,
      partials: Double,
      tableBytes: Double,
      shippedBytes: Int,
      sketching: Double = 0.0
  ): Double = fed * mergeTime(tableBytes, sketching) + partials * c2(shippedBytes)

  /** Merging what the tasks between the shuffles ship of one relation. */
  def tierMergeWork(partials: Double, tableBytes: Double, sketching: Double = 0.0): Double =
    partials * mergeTime(tableBytes, sketching)

  /** Writing the results of queries of one grouping, and putting windows together from slices before that. */
  def emitWork(groups: Double, queries: Vector[Int]): Double = combining.work(groups, queries.map(problem.queries))

  /**
   * In how many tasks a relation that is in one partition is best merged, each for some of its queries: putting results
   * together takes long where nothing deals groups out, and cores are idle meanwhile.
   *
   * @param received entries that each of the tasks merges
   */
  def mergedApart(groups: Double, received: Double, queries: Vector[Int]): Int = {
    val results = emitWork(groups, queries)
    def elapsed(tasks: Int): Double =
      results / tasks + received * machine.merge + (if (tasks == 1) 0.0 else machine.fixed)
    (1 to math.max(1, math.min(parallelism, queries.size))).minBy(elapsed)
  }

  /**
   * Reduce partitions of a shipped relation; one when it is small or has no shard key.
   *
   * @param shippedBytes of one entry
   * @param sketching what merging its sketches takes
   */
  def shards(groups: Double, shippedBytes: Int, shardKey: BitSet, sketching: Double = 0.0): Int =
    if (shardKey.isEmpty) 1
    else {
      val bySize = math.ceil(groups * shippedBytes / ShardBytes)
      val long = groups * (machine.merge + sketching) > SpreadGroups * machine.merge
      val wanted = if (long) math.max(bySize, parallelism.toDouble) else bySize
      math.max(1.0, math.min(wanted, math.max(1, problem.maxShards).toDouble)).toInt
    }

  /**
   * By how much sharding shortens the longest reduce task of a relation.
   *
   * A key of the whole relation deals its groups out evenly. The values of a coarser key are taken to follow Zipf's law,
   * as hosts and ports do: the most frequent of n values then holds 1 / (1 + 1/2 + ... + 1/n) of the entries.
   */
  def busyShards(shards: Int, shardKey: BitSet, keys: BitSet): Double =
    busyShards(shards, math.max(1.0, problem.statistics.groups(shardKey)), shardKey == (keys & problem.dealing))

  /**
   * @param values groups of the shard key
   * @param whole whether it is the key of the whole relation
   */
  def busyShards(shards: Int, values: => Double, whole: Boolean): Double =
    if (shards <= 1) 1.0
    else math.min(shards.toDouble, if (whole) values else math.max(1.0, math.log(values) + EulerGamma))

  /**
   * Elapsed time of a shared execution.
   *
   * @param mapWork of one map task, without reading its rows
   * @param reduceWork of all reduce tasks together
   * @param longest work of the longest reduce task, which the stage cannot beat
   * @param tierWork of all tasks between the shuffles together; 0: there is no second tier. They are a stage more: it
   *   costs [[Machine.fixed]] once more, and the last stage waits for it
   * @param longestTier of the longest of them
   */
  def elapsed(
      mapWork: Double,
      reduceWork: Double,
      longest: Double,
      tierWork: Double = 0.0,
      longestTier: Double = 0.0
  ): Double =
    machine.fixed + (rows * (machine.scanRow + problem.rowWork) + mapWork * partitions) / mapParallelism +
      (if (tierWork > 0) machine.fixed + math.max(tierWork / parallelism, longestTier) else 0.0) +
      math.max(reduceWork / parallelism, longest)

  /**
   * Elapsed time of plain Spark: each query reads, aggregates partially and shuffles on its own, unless it does so already.
   * Each place that reads results is a stage of its own, there as with sharing; so is each shuffle's writing, of which
   * sharing has one.
   */
  def noSharing: Double = {
    val queries = problem.queries.iterator.filterNot(_.repeated).map { q =>
      // Plain Spark puts a row that a query wants into each window that it is in.
      val wanted = rows * problem.selectivity(q)
      val groups =
        combining.results(q, math.min(math.max(1.0, wanted), math.max(1.0, problem.statistics.groups(q.keys))))
      q.plainTimes *
        ((rows - wanted) * machine.scanRow / parallelism + alone(q, wanted * math.max(1.0, q.copies), groups))
    }
    furtherStages + furtherShuffles + rows * problem.plainRowWork / parallelism + queries.sum
  }

  /** Starting the stages of all places that read results but one, of which every query has one. */
  def furtherStages: Double = math.max(0, problem.consumers - 1) * machine.fixed

  /** Starting the stages that write plain Spark's shuffles but one. */
  def furtherShuffles: Double = math.max(0, problem.plainShuffles - 1) * machine.fixed

  /** Elapsed time of plain Spark for one query, over so many rows with so many groups. */
  def alone(q: Query, rows: Double, groups: Double): Double = {
    val leaving = groupsInTask(groups, math.max(1.0, problem.statistics.flowLength(q.keys))) * partitions
    val row = machine.plainRow + q.sketches.update +
      (if (q.sketches.objects > 0 && leaving > ObjectGroups * partitions) ObjectSort else 0.0)
    val sketches = q.sketches.copy(objectWords = q.sketches.objectWordsOf(rows / math.max(1.0, groups)))
    val group = machine.plainGroup + merging(sketches) +
      machine.c2PerByte * 8 * (sketches.words + sketches.objectWords)
    (rows * row + leaving * group) / parallelism
  }
}

private[spark] object CostModel {

  /** Bytes of the entry that [[Machine.c2]] is the price of. */
  val EntryBytes: Int = 32

  /** Bytes of a table up to which merging an entry costs [[Machine.merge]]. */
  val CacheBytes: Double = 2.0 * 1024 * 1024

  /** What each doubling of a table beyond [[CacheBytes]] adds, as a part of [[Machine.merge]]. */
  val CacheSlope: Double = 0.6

  /** Bytes of an LFTA table up to which a probe costs c1: half of what a core has to itself on common machines. */
  val ProbeCacheBytes: Double = 512.0 * 1024

  /** What each doubling of an LFTA table beyond [[ProbeCacheBytes]] adds, as a part of c1. */
  val ProbeSlope: Double = 0.2

  /** What a relation without a table pays per fed entry, as a part of a probe: the shard hash, and no comparison. */
  val PassThrough: Double = 0.3

  /** Size one reduce partition of a shipped relation should not exceed. */
  val ShardBytes: Double = 8.0 * 1024 * 1024

  /** Nanoseconds to merge one word of sketches: ten registers, of which the greater ones stay. */
  val SketchMerge: Double = 10

  /** Nanoseconds to read an object that was written and merge it, and for each word of it: a value of a map or set. */
  val ObjectMerge: Double = 500
  val ObjectWordMerge: Double = 80

  /** Nanoseconds a row to hand its values, as objects, to a function that keeps one: Spark's own code does not box them. */
  val ObjectCall: Double = 150

  /** Groups in one task beyond which plain Spark sorts the rest of its rows, where functions keep objects. */
  val ObjectGroups: Double = 128

  /** Nanoseconds a row for that. */
  val ObjectSort: Double = 300

  // The n-th harmonic number is ln n plus this, in the limit.
  private val EulerGamma: Double = 0.5772156649

  /** Groups from which a relation is spread over at least as many shards as there are cores. */
  val SpreadGroups: Double = 50000
}
