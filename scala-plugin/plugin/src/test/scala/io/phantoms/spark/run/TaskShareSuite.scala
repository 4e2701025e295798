package io.phantoms.spark.run

import org.scalatest.funsuite.AnyFunSuite

/** What tasks take unasked, all of them at once, leaves room in the heap. */
final class TaskShareSuite extends AnyFunSuite {
  private val MiB = 1L << 20

  test("where there is room, nothing is less than it was made for") {
    val share = TaskShare.of(heap = 1024 * MiB, tasks = 2)
    assert(share.tables > 64 * MiB && share.dictionary == LftaTask.DictionaryBudget)
    assert(share.blocks == LftaTask.BlockBudget && share.merge == MergeTask.Overdraft)
  }

  test("many tasks in a small heap share it") {
    for (heap <- Seq(1024, 2048, 4096); tasks <- Seq(8, 16, 32, 64)) {
      val share = TaskShare.of(heap * MiB, tasks)
      val each = share.tables + share.dictionary + share.blocks
      assert(tasks * each <= heap * MiB * 2 / 3, s"$tasks tasks in $heap MiB")
      assert(share.tables >= MiB && share.dictionary >= MiB)
    }
  }
}
