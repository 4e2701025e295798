package io.phantoms.spark.estimate

import scala.collection.immutable.BitSet

import org.scalatest.funsuite.AnyFunSuite

class ObservationSuite extends AnyFunSuite {
  private val a = Set("a")
  private val ab = Set("a", "b")

  test("later numbers replace earlier ones, and others stay") {
    val first = Observation(Some(100), Map(a -> 10, ab -> 50), Map(ab -> 4.0), Vector(1.5))
    val later = Observation(None, Map(a -> 11, Set("c") -> 7), Map(a -> 2.0))
    assert(first.updated(later) ==
      Observation(Some(100), Map(a -> 11, ab -> 50, Set("c") -> 7), Map(ab -> 4.0, a -> 2.0), Vector(1.5)))
    assert(first.updated(first) == first)
    assert(Observation().updated(first) == first)
  }

  test("a flow length that hardly changes stays as it is") {
    val first = Observation(flowLengths = Map(a -> 10.0), depthFlowLengths = Vector(2.0, 3.0))
    def after(l: Double, depths: Double*) =
      first.updated(Observation(flowLengths = Map(a -> l), depthFlowLengths = depths.toVector))
    assert(after(10.9, 2.1, 3.1) == first)
    assert(after(9.2, 2.0) == first.copy(depthFlowLengths = Vector(2.0)))
    assert(after(11.2, 2.0, 3.0).flowLengths == Map(a -> 11.2))
    assert(after(10.0, 2.0, 3.5).depthFlowLengths == Vector(2.0, 3.5))
  }

  test("no more sets are kept than there is room for, the latest in any case") {
    def many(prefix: String, n: Int) =
      Observation(groups = (1 to n).map(i => Set(s"$prefix$i") -> i.toDouble).toMap)
    val kept = many("old", 4000).updated(many("new", 1000))
    assert(kept.groups.size == Observation.MostSets)
    assert((1 to 1000).forall(i => kept.groups.contains(Set(s"new$i"))))
  }

  test("another state with about as many rows: groups grow slower than rows, and stay between their bounds") {
    val o = Observation(Some(10000), Map(a -> 100, ab -> 10000, Set("one") -> 1, Set("none") -> 0), Map(a -> 3.0))
    val twice = o.scaled(2).get
    assert(twice.rows.contains(20000))
    assert(math.abs(twice.groups(a) - 100 * math.sqrt(2)) < 1e-6)
    assert(math.abs(twice.groups(ab) - 20000) < 1e-6)
    assert(twice.groups(Set("one")) == 1 && twice.groups(Set("none")) == 0)
    assert(twice.flowLengths == o.flowLengths)
    assert(o.scaled(1).get.groups.forall { case (k, n) => math.abs(n - o.groups(k)) < 1e-6 })
    val half = o.scaled(0.5).get
    assert(half.groups.forall { case (k, n) => n <= o.groups(k) && n <= math.max(1.0, half.rows.get) })
    assert(Seq(0.49, 2.01, 0.0, -1.0, Double.NaN, Double.PositiveInfinity).forall(o.scaled(_).isEmpty))
  }

  test("a choice is over the queries and all their unions") {
    def sets(all: Seq[Int]*) = all.map(BitSet.fromSpecific(_))
    val queries = sets(Seq(0, 1), Seq(1, 2), Seq(3), Nil)
    val unions = sets(Seq(0, 1, 2), Seq(0, 1, 3), Seq(1, 2, 3), Seq(0, 1, 2, 3))
    val known = (queries.take(3) ++ unions).toSet
    assert(QueryClosure.isKnown(queries, known))
    known.foreach(missing => assert(!QueryClosure.isKnown(queries, (known - missing).contains(_)), missing))
    assert(QueryClosure.isKnown(Nil, _ => false))
    // 60 disjoint queries have 2^60 unions: the first that is not known ends it.
    assert(!QueryClosure.isKnown((0 until 60).map(BitSet(_)), _.size < 2))
  }
}
