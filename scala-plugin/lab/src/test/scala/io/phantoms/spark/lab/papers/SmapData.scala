package io.phantoms.spark.lab.papers

import scala.collection.immutable.BitSet
import scala.collection.mutable
import scala.util.Random

import io.phantoms.spark.cost.FlowLengths
import io.phantoms.spark.lab.smap.Epochs
import io.phantoms.spark.model.{Machine, Problem, Query, TableStatistics, Workloads}
import io.phantoms.spark.search.graph.FeedingGraph
import io.phantoms.spark.search.smap.MultipleAggregation

/**
 * Data of the parameters of SMAP's experiments (section 8.1): 2837 groups of four attributes, 2117 of ABC, 1846 of AB and
 * 552 of A; all tuples uniform over the groups, or in flows as packets of a network are.
 *
 * @param groups the attributes of each group of ABCD
 */
final class SmapData private (groups: Array[Array[Int]]) {

  /** Groups of ABCD. */
  val size: Int = groups.length

  /** The group of a coarser relation that each group of ABCD belongs to. */
  def projection(keys: BitSet): Array[Int] = {
    val ids = mutable.HashMap.empty[Vector[Int], Int]
    groups.map(g => ids.getOrElseUpdate(keys.iterator.map(g(_)).toVector, ids.size))
  }

  val counts: Map[BitSet, Double] =
    (1 until 16).map(m => BitSet.fromBitMask(Array(m.toLong))).map(k => k -> (projection(k).max + 1.0)).toMap

  /** Groups of ABCD drawn uniformly. */
  def uniform(tuples: Int, seed: Long): Array[Int] = {
    val random = new Random(seed)
    Array.fill(tuples)(random.nextInt(size))
  }

  /**
   * Flows of Pareto length, some of them active at a time; an active flow sends a train of packets, then another one does.
   * Every group has a flow at least. Numbers are chosen so that l_m lies where Fig 9 has it.
   */
  def flows(tuples: Int, seed: Long): Array[Int] = {
    val random = new Random(seed)
    val first = random.shuffle(groups.indices.toVector).iterator
    def pareto: Int = math.min(20000, (SmapData.Shortest / math.pow(1 - random.nextDouble(), 1 / 1.3)).toInt)
    def start: (Int, Int) = (if (first.hasNext) first.next() else random.nextInt(size), pareto)
    val active = Array.fill(SmapData.Active)(start)
    val stream = new Array[Int](tuples)
    var n = 0
    while (n < tuples) {
      val at = random.nextInt(active.length)
      val (group, left) = active(at)
      val train = math.min(math.min(left, 1 + random.nextInt(SmapData.Train)), tuples - n)
      java.util.Arrays.fill(stream, n, n + train, group)
      n += train
      active(at) = if (left > train) (group, left - train) else start
    }
    stream
  }

  /** The paper's problem over this data: spaces in units of 4 bytes, one for each attribute and one for the counter. */
  def problem(
      queries: Seq[String],
      memory: Double,
      flowLengths: FlowLengths = FlowLengths.Random,
      epochs: Seq[Long] = Nil,
      counts: Map[BitSet, Double] = counts
  ): MultipleAggregation = {
    val statistics = TableStatistics(SmapData.Tuples, counts)
    val sets = Workloads.groupings(queries: _*)
    val graph = new FeedingGraph(
      Problem(Workloads.attributes("A", "B", "C", "D"), sets.map(Query(_)), 32, statistics, Machine(), memory.toLong, 1)
    )
    val lengths = sets.zip(epochs).toMap
    new MultipleAggregation(
      graph,
      graph.groups(_),
      graph.keys(_).size + 1.0,
      memory,
      SmapData.C1,
      SmapData.C2,
      flowLengths,
      if (epochs.isEmpty) None else Some(Epochs(n => lengths.get(graph.keys(n)).toSeq, SmapData.TuplesPerMinute))
    )
  }
}

object SmapData {
  val C1 = 1.0
  val C2 = 15.0
  val Tuples = 860000
  val Seconds = 62.0
  val TuplesPerMinute: Double = Tuples * 60 / Seconds

  /** Spaces of the paper's experiments, in units of 4 bytes. */
  val Memories: Seq[Double] = Seq(20000.0, 40000.0, 60000.0, 80000.0, 100000.0)

  /**
   * Groups as between clients and servers: whichever end is the server has one of few ports, its peer any of many. So the
   * coarser relations have fewer groups, as they have in the paper.
   *
   * @param hosts addresses there are
   * @param servers how many of them serve; the sources of the stream are the first 552 hosts
   * @param services ports that are served
   * @param ephemeral ports of clients
   * @param portsPerServer services of one server
   */
  final case class Shape(hosts: Int, servers: Int, services: Int, ephemeral: Int, portsPerServer: Int)

  /**
   * Selected among many: with these the optimal configurations are the ones the paper names (sections 8.4 and 8.5), and GCSL
   * is no worse than GP. [[Smap]] also reports draws that were not selected.
   */
  val Paper: Shape = Shape(hosts = 900, servers = 450, services = 110, ephemeral = 2400, portsPerServer = 1)

  def apply(seed: Long, shape: Shape = Paper): SmapData = {
    import shape._
    val random = new Random(seed)
    val served = Array.fill(hosts)(Vector.fill(portsPerServer)(random.nextInt(services)))
    def isServer(host: Int): Boolean = host < servers
    def port(host: Int): Int =
      if (isServer(host)) served(host)(random.nextInt(portsPerServer)) else services + random.nextInt(ephemeral)
    // Each relation extends the one before by an attribute: every old group once, then further values of old groups.
    def extend(old: Vector[Vector[Int]], count: Int, value: Vector[Int] => Int): Vector[Vector[Int]] = {
      val found = mutable.LinkedHashSet.from(old.map(g => g :+ value(g)))
      while (found.size < count) {
        val group = old(random.nextInt(old.size))
        found += group :+ value(group)
      }
      found.toVector
    }
    // Clients talk to servers, and servers to clients.
    def peer(host: Int): Int =
      if (isServer(host)) servers + random.nextInt(hosts - servers) else random.nextInt(servers)
    val a = Vector.tabulate(552)(Vector(_))
    val ab = extend(a, 1846, g => peer(g(0)))
    val abc = extend(ab, 2117, g => port(g(0)))
    val abcd = extend(abc, 2837, g => port(g(1)))
    new SmapData(abcd.map(_.toArray).toArray)
  }

  // Flows that send at a time, packets of their longest train, and packets of the shortest flow.
  private val Active = 40
  private val Train = 15
  private val Shortest = 20
}
