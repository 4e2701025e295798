package io.phantoms.spark.source.table

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** The tables of readers: nothing is lost, and who leaves when ("Holistic UDAFs at streaming speeds", section 6). */
class ReaderTableSuite extends AnyFunSuite {

  /** Counts by key, of what leaves in order, and the number of records that left. */
  private final class Run(kind: TableKind, slots: Int) {
    val table = new ReaderTable(kind, slots, 1, 1)
    val left: mutable.ArrayBuffer[(Long, Long)] = mutable.ArrayBuffer.empty

    def drain(): Unit = while (table.nextEvicted()) {
      val at = table.evictedAt()
      left += table.words()(at) -> table.words()(at + 1)
    }

    def add(key: Long): Unit = {
      val at = table.probe(Array(key))
      table.words()(at) += 1
      drain()
    }

    def flush(): Unit = {
      table.flush()
      drain()
    }

    def counts: Map[Long, Long] = left.groupMapReduce(_._1)(_._2)(_ + _).toMap
  }

  /** Evictions a packet of uniform groups, over several places of theirs in the table. */
  private def rate(kind: TableKind, groups: Int, slots: Int): Double = {
    val rates = (1 to 6).map { seed =>
      val random = new Random(seed)
      val keys = Array.fill(groups)(random.nextLong())
      val run = new Run(kind, slots)
      (1 to groups * 5).foreach(_ => run.add(keys(random.nextInt(groups))))
      val (packets, before) = (groups * 25, run.table.evictions)
      (1 to packets).foreach(_ => run.add(keys(random.nextInt(groups))))
      (run.table.evictions - before).toDouble / packets
    }
    rates.sum / rates.size
  }

  test("table 1: evictions a packet of 2000 uniform groups in 1300 slots") {
    val (direct, second) = (rate(TableKind.DIRECT, 2000, 1300), rate(TableKind.SECOND_CHANCE, 2000, 1300))
    assert(math.abs(direct - 0.477) < 0.02 && math.abs(second - 0.386) < 0.02, s"$direct, $second")
    // Of k groups in a slot all but the last one seen make it leave; k is Poisson's.
    val load = 2000.0 / 1300
    assert(math.abs(direct - (load - 1 + math.exp(-load)) / load) < 0.01, direct)
  }

  test("table 1: a second chance needs fewer slots for as few evictions") {
    Seq(2000 -> (1900, 1300), 5000 -> (4300, 3300), 20000 -> (64000, 19000)).foreach {
      case (groups, (direct, second)) =>
        val same = rate(TableKind.DIRECT, groups, second)
        assert(rate(TableKind.SECOND_CHANCE, groups, second) < 0.85 * same, groups)
        assert(rate(TableKind.DIRECT, groups, direct) < same, groups)
    }
  }

  test("counts are whole, whatever leaves when") {
    val random = new Random(11)
    for (kind <- TableKind.values; slots <- Seq(1, 2, 7, 64, 1000); ends <- Seq("end", "eager", "lazy")) {
      val run = new Run(kind, slots)
      val expected = mutable.Map.empty[Long, Long].withDefaultValue(0L)
      (1 to 5000).foreach { i =>
        val key = (math.abs(random.nextGaussian()) * 40).toLong
        expected(key) += 1
        run.add(key)
        if (i % 700 == 0) ends match {
          case "eager" =>
            run.flush()
            assert(run.table.size == 0)
          case "lazy" =>
            run.table.sweep()
            run.drain()
            run.table.age()
          case _ =>
        }
      }
      run.table.sweep()
      run.drain()
      run.flush()
      assert(run.counts == expected.toMap, s"$kind $slots $ends")
      assert(run.table.size == 0 && !run.table.hasOld)
      assert(run.table.probes == 5000 && run.table.evictions == run.left.size)
    }
  }

  test("a lazy flush: each packet sends one old group away, and all leave before a new one does") {
    val run = new Run(TableKind.DIRECT, 64)
    (0L until 1000L).foreach(run.add)
    run.table.sweep()
    run.drain()
    val held = run.table.size
    run.left.clear()
    run.table.age()
    assert(run.table.hasOld && run.table.size == held)
    run.add(5000)
    // One by turn, and the one whose slot was taken, if that was another one.
    assert(Set(1, 2)(run.left.size))
    val (old, fresh) = (mutable.Set.empty[Long], mutable.Set.empty[Long])
    run.left.foreach(l => old += l._1)
    var key = 6000L
    while (fresh.isEmpty) {
      run.left.clear()
      run.add(key)
      key += 1
      val (of, others) = run.left.map(_._1).partition(_ < 1000)
      old ++= of
      fresh ++= others
      if (others.nonEmpty) assert(run.left.map(_._1).indexWhere(_ >= 5000) >= of.size)
    }
    assert(old.size == held && !run.table.hasOld)
  }

  test("an old group and a new one of the same key are two") {
    val run = new Run(TableKind.SECOND_CHANCE, 8)
    Seq(1L, 1L, 1L).foreach(run.add)
    run.table.age()
    run.add(1L)
    assert(run.left == Seq(1L -> 3L))
    run.flush()
    assert(run.left == Seq(1L -> 3L, 1L -> 1L))
  }

  test("a group that starts anew leaves what was known of it") {
    val run = new Run(TableKind.DIRECT, 8)
    Seq(3L, 3L).foreach(run.add)
    val at = run.table.probe(Array(3L))
    run.table.restart(at)
    run.table.words()(at) += 5
    run.drain()
    run.flush()
    assert(run.left == Seq(3L -> 2L, 3L -> 5L))
  }

  test("aging twice without a sweep is refused") {
    val run = new Run(TableKind.DIRECT, 8)
    run.add(1L)
    run.table.age()
    assertThrows[IllegalStateException](run.table.age())
  }

  test("slots by memory") {
    assert(ReaderTable.slotsIn(1, 3, 2) == 1)
    val slots = ReaderTable.slotsIn(1 << 20, 3, 2)
    val table = new ReaderTable(TableKind.DIRECT, slots, 3, 2)
    assert(table.words().length * 8L + slots * 4L <= (1 << 20))
    assert(table.words().length * 8L + slots * 4L > (1 << 20) - 200)
    assert(ReaderTable.slotsIn(Long.MaxValue / 2, 1, 1) > 1)
  }
}
