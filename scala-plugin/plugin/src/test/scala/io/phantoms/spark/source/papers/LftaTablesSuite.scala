package io.phantoms.spark.source.papers

import io.phantoms.spark.source.table.TableKind

import org.scalatest.funsuite.AnyFunSuite

/** Tables 1 and 2 of "Holistic UDAFs at streaming speeds", small. */
class LftaTablesSuite extends AnyFunSuite {
  import LftaTables._

  private val costs = Costs(packet = 1e-6, probe = 1e-6, leaving = 1e-5)

  private def run(ring: Int, groups: Int, lazily: Boolean, rate: Double = 100000) =
    RingSimulation(
      costs,
      rate,
      ring,
      epoch = 1
    ).run(groups, 1, TableKind.SECOND_CHANCE, 64 * groups, lazily, epochs = 3, seed = 1)

  test("a flush blocks for its time: what arrives meanwhile, less the ring, is lost") {
    // 5000 groups take 50 ms, in which 5000 packets arrive.
    val eager = run(ring = 2000, groups = 5000, lazily = false)
    assert(math.abs(eager.lost - 3 * 3000) < 3 * 150, eager)
    assert(run(ring = 5100, groups = 5000, lazily = false).lost == 0)
    assert(math.abs(eager.busy - (0.2 + 0.05)) < 0.02)
  }

  test("a lazy flush does the same work, and loses less") {
    val (eager, late) = (run(2000, 5000, lazily = false), run(2000, 5000, lazily = true))
    assert(late.lost < eager.lost / 2, s"$eager $late")
    assert(late.busy >= eager.busy - 0.01)
  }

  test("a server that is too slow loses what is too much") {
    val slow = run(ring = 100, groups = 10, lazily = false, rate = 1000000)
    assert(math.abs(slow.loss - 0.5) < 0.01, slow)
  }

  test("table 1: evictions of the paper's first row, and fewer slots with a second chance") {
    assert(math.abs(leaving(2000, TableKind.DIRECT, 1300) - 0.477) < 0.02)
    assert(math.abs(leaving(2000, TableKind.SECOND_CHANCE, 1300) - 0.386) < 0.02)
    assert(!loses(2000, TableKind.SECOND_CHANCE, 1300) && loses(2000, TableKind.DIRECT, 1000))
    assert(!loses(2000, TableKind.DIRECT, 1900))
  }

  test("table 2: lazy is better, and the server is as busy as the paper's") {
    val row = lossesOf(50000, 2, epochs = 1)
    assert(row.eager > 1 && row.lazily < row.eager * 0.8, row)
    assert(math.abs(row.busy - 37) < 10, row)
  }
}
