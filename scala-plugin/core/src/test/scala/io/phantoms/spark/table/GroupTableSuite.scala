package io.phantoms.spark.table

import scala.collection.mutable
import scala.util.Random

import io.phantoms.spark.block.Hashing
import io.phantoms.spark.memory.{MemoryRefused, MemoryReserve}

import org.scalatest.funsuite.AnyFunSuite

class GroupTableSuite extends AnyFunSuite {

  private final class Budget(var left: Long) extends MemoryReserve {
    override def reserve(bytes: Long): Unit = {
      if (bytes > left) throw new MemoryRefused(bytes, "no more")
      left -= bytes
    }
    override def release(bytes: Long): Unit = left += bytes
  }

  private val stride = 3

  private def hash(key: Long): Long = Hashing.finish(Hashing.mix(Hashing.TABLE_SEED, key))

  /** What generated code does: adds `value` to the group of `key`. */
  private def add(table: GroupTable, key: Long, value: Long): Unit = {
    val h = hash(key)
    val mask = table.index.length - 1
    var p = h.toInt >>> table.shift
    var done = false
    while (!done) {
      val entry = table.index(p)
      if (entry == 0L) {
        table.insert(h, p, Array(Long.MinValue, key, value), 0)
        done = true
      } else {
        val o = (entry.toInt - 1) * stride
        if ((entry >>> 32).toInt == h.toInt && table.records(o + 1) == key) {
          table.records(o + 2) += value
          done = true
        } else p = (p + 1) & mask
      }
    }
  }

  private def sums(table: GroupTable): Map[Long, Long] =
    (0 until table.size).map(i => table.records(i * stride + 1) -> table.records(i * stride + 2)).toMap

  for (expected <- Seq(0L, 1L, 999L, 5000L, 1000000L))
    test(s"sums per key are complete in a table that was made for $expected groups") {
      val random = new Random(expected)
      val budget = new Budget(1L << 30)
      val pool = new WordPool(budget)
      val table = new GroupTable(stride, pool, expected)
      val reference = mutable.HashMap.empty[Long, Long].withDefaultValue(0L)
      for (_ <- 0 until 20000) {
        val key = random.nextInt(5000).toLong * 0x100000001L
        add(table, key, 7L)
        reference(key) += 7L
      }
      assert(sums(table) == reference)
      assert(table.size == reference.size)
      table.free()
      val _ = pool.drain()
      assert(budget.left == 1L << 30, "all memory must be given back")
    }

  test("a table made for its groups does not grow") {
    val table = new GroupTable(stride, new WordPool(new Budget(1L << 30)), 5000)
    val (index, records) = (table.index, table.records)
    (0 until 5000).foreach(k => add(table, k.toLong, 1L))
    assert(table.index eq index)
    assert(table.records eq records)
  }

  test("a table starts small where the memory for what is expected is refused") {
    val table = new GroupTable(stride, new WordPool(new Budget(64 << 10)), 1000000)
    (0 until 100).foreach(k => add(table, k.toLong, 1L))
    assert(sums(table) == (0 until 100).map(k => k.toLong -> 1L).toMap)
  }

  test("a refused insertion leaves the table as it was") {
    val table = new GroupTable(stride, new WordPool(new Budget(16 << 10)), 0)
    val refused = intercept[MemoryRefused]((0 until 100000).foreach(k => add(table, k.toLong, 1L)))
    assert(refused.bytes > 0)
    assert(sums(table) == (0 until table.size).map(k => k.toLong -> 1L).toMap)
  }

  test("tables made of what earlier ones gave back start empty") {
    val budget = new Budget(1L << 30)
    val pool = new WordPool(budget)
    val random = new Random(5)
    var most = 0L
    for (_ <- 0 until 50) {
      val groups = 1 + random.nextInt(20000)
      val table = new GroupTable(stride, pool, random.nextInt(30000).toLong)
      (0 until groups).foreach(k => add(table, k.toLong, k + 1L))
      assert(sums(table) == (0 until groups).map(k => k.toLong -> (k + 1L)).toMap)
      table.free()
      most = math.max(most, (1L << 30) - budget.left)
    }
    assert(most < (8L << 20), "arrays are used again")
    assert(pool.drain() && !pool.drain())
    assert(budget.left == 1L << 30)
  }

  test("what the pool keeps is given up before a table is refused memory") {
    val budget = new Budget(1L << 20)
    val pool = new WordPool(budget)
    Seq.fill(3)(new GroupTable(stride, pool, 4000)).foreach(_.free())
    assert(budget.left < (1L << 20) - 3 * 8 * stride * 4000)
    val table = new GroupTable(stride, pool, 20000)
    assert(table.records.length == stride * 20000)
  }

  test("touching buckets changes nothing, whatever they hold") {
    val table = new GroupTable(stride, new WordPool(new Budget(1L << 30)), 100000)
    (0 until 50000).foreach(k => add(table, k.toLong, 1L))
    val before = (table.index.toSeq, table.records.toSeq)
    table.touch(Array.tabulate(GroupTable.BATCH)(k => hash(k * 1000L)), GroupTable.BATCH)
    assert((table.index.toSeq, table.records.toSeq) == before)
  }
}
