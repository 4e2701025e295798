package io.phantoms.spark.cost

import scala.collection.immutable.BitSet
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Flow lengths told from what tables did, against tables that are simulated over data of known flow lengths. */
class ObservedTablesSuite extends AnyFunSuite {
  private val keys = BitSet(0)

  /** A direct-mapped table in each of some tasks, over runs of `length` rows whose groups are picked at random. */
  private def simulated(groups: Int, buckets: Int, length: Int, rows: Int, tasks: Int): ObservedTable = {
    val random = new Random(groups * 31L + buckets + length)
    var collisions, atEnd = 0L
    for (_ <- 1 to tasks) {
      val table = Array.fill(buckets)(-1)
      for (_ <- 1 to rows / tasks / length) {
        val group = random.nextInt(groups)
        val bucket = math.abs(scala.util.hashing.MurmurHash3.mix(7, group)) % buckets
        if (table(bucket) != group) {
          if (table(bucket) >= 0) collisions += 1
          table(bucket) = group
        }
      }
      atEnd += table.count(_ >= 0)
    }
    ObservedTable(keys, -1, buckets, rows.toDouble, collisions.toDouble, atEnd.toDouble)
  }

  private def told(t: ObservedTable, groups: Double, tasks: Int, whole: Boolean = true): Option[Double] =
    ObservedTables(IndexedSeq(t), t.probes, tasks, whole).flowLengths(_ => Some(groups)).get(keys)

  for {
    groups <- Seq(500, 5000)
    buckets <- Seq(256, 2048)
    length <- Seq(1, 3, 20)
    tasks <- Seq(1, 4)
  } {
    test(s"runs of $length rows, $groups groups, $buckets buckets, $tasks tasks") {
      val t = simulated(groups, buckets, length, 240000, tasks)
      told(t, groups.toDouble, tasks) match {
        case Some(l) => assert(l >= length / 1.25 && l <= length * 1.25, s"told $l")
        // With few collisions a task evicts each group once, however long its runs.
        case None => assert(t.collisions < 0.1 * t.atEnd)
      }
      // Rates alone say it too, where there is a rate.
      if (t.collisions > 5000) {
        val l = told(t, groups.toDouble, tasks, whole = false).get
        assert(l >= length / 1.25 && l <= length * 1.25, s"told $l by the rate")
      }
    }
  }

  test("of few groups in a large table any flow length may be true, and none is told") {
    for (length <- Seq(1, 4, 20); tasks <- Seq(1, 2)) {
      assert(told(simulated(150, 8192, length, 60000, tasks), 150, tasks).isEmpty, s"$length $tasks")
    }
  }

  test("nothing is told of tables that do not exist, were not probed, or of groups not known") {
    val t = simulated(500, 256, 3, 60000, 1)
    assert(told(t.copy(buckets = 0), 500, 1).isEmpty)
    assert(told(t.copy(probes = 0), 500, 1).isEmpty)
    assert(told(t, 0, 1).isEmpty)
    assert(ObservedTables(IndexedSeq(t), 60000, 1, wholeEpochs = true).flowLengths(_ => None).isEmpty)
    assert(ObservedTables(IndexedSeq(t), 0, 0, wholeEpochs = true).flowLengths(_ => Some(500)).isEmpty)
    assert(ObservedTables(IndexedSeq.empty, 9, 1, wholeEpochs = true).depthFlowLengths(_ => Some(5)).isEmpty)
  }

  test("every flow length stays between 1 and the rows of a group") {
    for (collisions <- Seq(0.0, 10.0, 59000.0, 1e9); atEnd <- Seq(0.0, 256.0, 1e9); whole <- Seq(true, false)) {
      val t = ObservedTable(keys, -1, 256, 60000, collisions, atEnd)
      told(t, 500, 2, whole).foreach(l => assert(l >= 1 && l <= 60000 / 500 + 1e-6))
    }
  }

  test("the average of each depth, of relations fed by others") {
    val raw = simulated(5000, 256, 4, 240000, 1)
    val fed = BitSet(1)
    def below(rateOverRandom: Double, groups: Double) = {
      val probes = 50000.0
      ObservedTable(fed, 0, 128, probes, probes * CollisionModel.random(groups, 128) / rateOverRandom, 128)
    }
    def groups(set: BitSet) = Some(if (set == keys) 5000.0 else 900.0)
    val tables = ObservedTables(IndexedSeq(raw, below(1.5, 900), below(2.5, 900)), 240000, 1, wholeEpochs = true)
    val depths = tables.depthFlowLengths(groups)
    assert(depths.size == 1 && math.abs(depths.head - 2) < 0.01, depths)
    assert(tables.copy(tables = tables.tables.take(1)).depthFlowLengths(groups).isEmpty)
    assert(tables.depthFlowLengths(s => if (s == keys) groups(s) else None).isEmpty)
  }
}
