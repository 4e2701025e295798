package io.phantoms.spark.model

import scala.collection.immutable.BitSet
import scala.util.Random

/** Problems the suites and the timing program share. */
object Workloads {

  def attributes(names: String*): IndexedSeq[KeyAttribute] = names.map(KeyAttribute(_, 32)).toIndexedSeq

  def letters(n: Int): IndexedSeq[KeyAttribute] = attributes((0 until n).map(i => s"k$i"): _*)

  /** Groupings written in single letters, "" for none. */
  def groupings(names: String*): IndexedSeq[BitSet] =
    names.map(n => BitSet.fromSpecific(n.map(_ - 'A'))).toIndexedSeq

  def cube(n: Int): IndexedSeq[BitSet] = (0 until (1 << n)).map(m => BitSet.fromBitMask(Array(m.toLong)))

  val Packets: TableStatistics = {
    def g(names: String, n: Double) = groupings(names).head -> n
    TableStatistics(
      50e6,
      Map(
        g("A", 4000),
        g("B", 3000),
        g("C", 30000),
        g("D", 900),
        g("AB", 40000),
        g("CD", 60000),
        g("ABC", 90000),
        g("BC", 70000),
        g("BD", 12000),
        g("ABCD", 100000)
      ),
      flowLength = 3
    )
  }

  private def problem(names: IndexedSeq[KeyAttribute], queries: IndexedSeq[BitSet], statistics: Statistics): Problem =
    Problem(names, queries.map(Query(_)), 192, statistics, Machine(), 64L << 20, 64)

  def smap4: Problem = problem(attributes("A", "B", "C", "D"), groupings("AB", "BC", "BD", "CD"), Packets)

  def cube4: Problem = problem(attributes("A", "B", "C", "D"), cube(4), Packets)

  /** 22 reports over flow records, with result sizes as in a border router's day. */
  def nfc22: Problem = {
    val names = attributes(
      "srcaddr",
      "dstaddr",
      "srcport",
      "dstport",
      "prot",
      "tos",
      "input",
      "output",
      "srcas",
      "dstas",
      "srcnet",
      "dstnet",
      "nexthop"
    )
    val rows = 3e6
    val reports: Seq[(Double, Seq[Int])] = Seq(
      40e3 -> Seq(0),
      60e3 -> Seq(1),
      900e3 -> Seq(0, 1),
      50e3 -> Seq(2),
      40e3 -> Seq(3),
      20.0 -> Seq(4),
      2.3e6 -> Seq(0, 2, 3, 4),
      2.4e6 -> Seq(1, 2, 3, 4),
      2.6e6 -> Seq(0, 1, 2, 3, 4),
      950e3 -> Seq(0, 1, 6, 7),
      2.55e6 -> Seq(0, 1, 2, 3),
      2.8e6 -> Seq(0, 1, 2, 3, 4, 5, 6, 7),
      200e3 -> Seq(10, 11),
      150e3 -> Seq(8, 9),
      250e3 -> Seq(8, 9, 6, 7),
      5e3 -> Seq(8),
      6e3 -> Seq(9),
      300e3 -> Seq(8, 3, 4),
      2.2e6 -> Seq(1, 2, 4, 9),
      20.0 -> Seq(6, 7),
      16.0 -> Seq(5),
      30e3 -> Seq(10)
    )
    val known = reports.map { case (n, keys) => BitSet.fromSpecific(keys) -> n }.toMap ++
      Seq(5 -> 16.0, 6 -> 5.0, 7 -> 5.0, 10 -> 30e3, 11 -> 35e3, 12 -> 10.0).map { case (a, n) => BitSet(a) -> n }
    problem(
      names,
      reports.map { case (_, keys) => BitSet.fromSpecific(keys) }.toIndexedSeq,
      TableStatistics(rows, known)
    )
  }

  /** Seeded random groupings with random, monotone group counts. */
  def random(seed: Long, attributeCount: Int, queryCount: Int, widest: Int = 6): Problem = {
    val random = new Random(seed)
    val rows = math.pow(10, 1 + 6 * random.nextDouble())
    val singles = (0 until attributeCount).map(a => BitSet(a) -> math.max(1.0, math.pow(rows, random.nextDouble())))
    val queries = Vector.fill(queryCount) {
      val width = random.nextInt(math.min(widest, attributeCount) + 1)
      BitSet.fromSpecific(random.shuffle((0 until attributeCount).toList).take(width))
    }
    Problem(
      letters(attributeCount),
      queries.map(Query(_)),
      64 * (1 + random.nextInt(6)),
      TableStatistics(rows, singles.toMap, flowLength = 1 + 4 * random.nextDouble()),
      Machine(parallelism = 1 + random.nextInt(8), partitions = 1 + random.nextInt(16)),
      1L << (8 + random.nextInt(20)),
      1 + random.nextInt(64)
    )
  }
}
