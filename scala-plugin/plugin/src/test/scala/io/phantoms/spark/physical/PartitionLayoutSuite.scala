package io.phantoms.spark.physical

import scala.collection.immutable.BitSet

import io.phantoms.spark.model.{
  Configuration,
  KeyAttribute,
  Machine,
  Placement,
  Problem,
  Query,
  Relation,
  TableStatistics
}

import org.scalatest.funsuite.AnyFunSuite

class PartitionLayoutSuite extends AnyFunSuite {
  private val statistics = TableStatistics(
    rows = 3e6,
    known = Map(
      BitSet(0, 1) -> 600000.0,
      BitSet(0) -> 400000.0,
      BitSet(1) -> 500000.0,
      BitSet(2) -> 9.0,
      BitSet(3) -> 11.0
    )
  )
  private val problem = Problem(
    Vector("a", "b", "c", "d").map(KeyAttribute(_, 32)),
    Vector(BitSet(0, 1), BitSet(0), BitSet(1), BitSet(2), BitSet(3)).map(Query(_)),
    64,
    statistics,
    Machine(),
    1L << 20,
    16
  )
  private def shipped(keys: BitSet, query: Int, key: BitSet, shards: Int) =
    Relation(keys, Vector(query), -1, 0, Placement.Shipped(key, shards))

  test("the longest reduce tasks have the first partitions, small relations share one") {
    val configuration = Configuration(
      Vector(
        shipped(BitSet(0, 1), 0, BitSet(0), 4),
        Relation(BitSet(0), Vector(1), 0, 0, Placement.Derived),
        shipped(BitSet(1), 2, BitSet.empty, 1),
        shipped(BitSet(2), 3, BitSet.empty, 1),
        shipped(BitSet(3), 4, BitSet.empty, 1)
      )
    )
    val layout = PartitionLayout(configuration, problem)
    // A shard of relation 0 merges 150,000 groups and derives from them; the one shard of relation 2 merges 500,000.
    assert(layout === Vector(Seq(1, 2, 3, 4), Nil, Seq(0), Seq(5), Seq(5)))
  }

  test("what is derived counts as work") {
    val children = Vector(0, 1).map(q => Relation(BitSet(q), Vector(q + 1), 0, 0, Placement.Derived))
    val configuration = Configuration(
      (shipped(BitSet(0, 1), 0, BitSet.empty, 1) +: children) ++
        Vector(shipped(BitSet(2), 3, BitSet(2), 2), shipped(BitSet(3), 4, BitSet.empty, 1))
    )
    val layout = PartitionLayout(configuration, problem)
    assert(layout(0) === Seq(0))
    assert((layout(3) ++ layout(4)).toSet === Set(1, 2, 3))
  }
}
