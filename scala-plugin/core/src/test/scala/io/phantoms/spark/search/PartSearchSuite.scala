package io.phantoms.spark.search

import scala.collection.immutable.BitSet
import scala.util.Random

import io.phantoms.spark.cost.{CollisionModel, PartStatistics}
import io.phantoms.spark.fragments.Fragments
import io.phantoms.spark.model.{
  KeyAttribute,
  KeyKind,
  Machine,
  PeriodicWindow,
  Placement,
  Problem,
  Query,
  TableStatistics
}
import org.scalatest.funsuite.AnyFunSuite

class PartSearchSuite extends AnyFunSuite {
  private def problem(rows: Double, span: Long, fragments: Fragments, queries: Query*): Problem = Problem(
    IndexedSeq("A", "B", "C").map(KeyAttribute(_, 32)),
    queries.toIndexedSeq,
    128,
    TableStatistics(
      rows,
      Map(BitSet(0) -> 500.0, BitSet(1) -> 200.0, BitSet(2) -> 50.0, BitSet(0, 1, 2) -> 20000.0),
      span = span,
      signatures = fragments.all.map(f => f.signature -> f.frequency)
    ),
    Machine(),
    8L << 20,
    200
  )

  private val noPredicates = Fragments(0, Nil)

  private def search(w: Problem): PartSearch = new PartSearch(w, "auto", 0.1)

  private def partitions(items: List[Int]): Vector[Vector[Vector[Int]]] = items match {
    case Nil => Vector(Vector.empty)
    case head :: rest =>
      partitions(rest).flatMap { p =>
        (Vector(head) +: p) +: p.indices.map(i => p.updated(i, (head +: p(i)).sorted)).toVector
      }
  }

  test("groupings alone are chosen as ever") {
    val queries = Seq(BitSet(0, 1), BitSet(1, 2), BitSet(0), BitSet.empty).map(Query(_))
    val p = problem(1e7, 1, noPredicates, queries: _*)
    val (parted, plain) = (Chooser.parts(p, "auto", 0.1), Chooser.choose(p))
    assert(plain.configuration.nonEmpty)
    assert(parted.parts.map(_.choice) == Vector(plain))
    assert(parted.parts.map(_.queries) == Vector(queries.indices.toVector))
    assert((parted.cost, parted.costWithout, parted.runnerUp) == ((plain.cost, plain.costWithout, plain.runnerUp)))
  }

  test("windows and predicates are no groupings") {
    val w = problem(1e7, 3600, noPredicates, Query(BitSet(0), Some(PeriodicWindow(60, 10))))
    assertThrows[IllegalArgumentException](Chooser.choose(w))
  }

  test("neither slices nor signatures deal groups to reduce tasks") {
    val windows = Seq(PeriodicWindow(60, 10), PeriodicWindow(300, 10))
    val queries = for (w <- windows; p <- Seq(0, 1); k <- Seq(BitSet(0), BitSet(0, 1), BitSet.empty))
      yield Query(k, Some(w), Some(p))
    // Every row satisfies both or one of them: there is little that fragments keep apart.
    val common = Fragments(2, Seq(BitSet(0, 1) -> 98L, BitSet(0) -> 1L, BitSet(1) -> 1L))
    val parts = Chooser.parts(problem(1e8, 3600, common, queries: _*), "auto", -1).parts
    val part = parts.find(_.fragments > 1).getOrElse(fail(s"no fragments in ${parts.map(_.fragments)}"))
    val relations = part.choice.configuration.get.relations
    val shardKeys = relations.map(_.placement).collect {
      case Placement.Shipped(key, _) => key
      case Placement.SecondTier(key, _) => key
    }
    val added = part.problem.attributes.indices.filter(part.problem.attributes(_).kind != KeyKind.Grouping)
    assert(added.size == 2 && relations.forall(r => added.exists(r.keys)))
    assert(shardKeys.nonEmpty && shardKeys.forall(_.subsetOf(BitSet(0, 1, 2))))
    assert(shardKeys.exists(_.nonEmpty))
  }

  test("windows of one slide share slices, and a grouping feeds a coarser one") {
    val (short, long) = (PeriodicWindow(60, 10), PeriodicWindow(300, 10))
    val w = problem(
      1e7,
      3600,
      noPredicates,
      Query(BitSet(0, 1), Some(short)),
      Query(BitSet(0), Some(long))
    )
    val chosen = search(w).choose
    assert(chosen.parts.map(_.queries) == Vector(Vector(0, 1)))
    assert(chosen.parts.head.slices == 360)
    assert(chosen.cost < chosen.costWithout)
    val slice = chosen.parts.head.problem.attributes.size - 1
    assert(chosen.parts.head.choice.configuration.get.relations.forall(_.keys(slice)))
  }

  test("windows that have few cuts in common stay apart where merging slices is what costs") {
    val w = problem(
      4e5,
      100000,
      noPredicates,
      Query(BitSet(0), Some(PeriodicWindow(4000, 97))),
      Query(BitSet(0), Some(PeriodicWindow(4000, 101)))
    )
    val chosen = search(w).choose
    assert(chosen.parts.size == 2)
    assert(chosen.runnerUp.exists(_.description == "all in common"))
    assert(chosen.margin.exists(_ > 0))
  }

  // Half of the rows satisfy both predicates.
  private val overlapping =
    Fragments(2, Seq(BitSet(0, 1) -> 50L, BitSet(0) -> 20L, BitSet(1) -> 20L, BitSet.empty -> 10L))

  test("predicates share fragments") {
    val w = problem(1e7, 1, overlapping, Query(BitSet(0), None, Some(0)), Query(BitSet(0), None, Some(1)))
    val part = search(w).choose.parts
    assert(part.size == 1)
    assert(part.head.fragments == 3)
    assert(math.abs(part.head.problem.statistics.rows / 9e6 - 1) < 1e-9)
  }

  test("predicates over many groups stay apart: a table of all fragments would collide") {
    val w =
      problem(1e7, 1, overlapping, Query(BitSet(0, 1), None, Some(0)), Query(BitSet(0, 1), None, Some(1)))
    assert(search(w).choose.parts.size == 2)
  }

  test("a query without a predicate wants all rows") {
    val f = Fragments(1, Seq(BitSet(0) -> 30L, BitSet.empty -> 70L))
    val w = problem(1e7, 1, f, Query(BitSet(0)), Query(BitSet(1), None, Some(0)))
    val all = search(w).choose.parts
    assert(all.size == 1)
    assert(all.head.fragments == 2)
    assert(all.head.problem.statistics.rows == 1e7)
  }

  test("never worse than apart, all in common, or nothing shared; and close to the best of all partitions") {
    val random = new Random(11)
    var worst = 1.0
    (1 to 60).foreach { _ =>
      val predicates = 1 + random.nextInt(2)
      val fragments = Fragments(
        predicates,
        (0 until 1 << predicates).map { m =>
          BitSet.fromSpecific((0 until predicates).filter(p => (m >> p & 1) == 1)) -> random.nextInt(100).toLong
        }
      )
      val queries = Seq.fill(2 + random.nextInt(3)) {
        val keys = BitSet.fromSpecific((0 until 3).filter(_ => random.nextBoolean()))
        val slide = 1 + random.nextInt(30)
        Query(
          keys,
          Option.when(random.nextInt(4) > 0)(PeriodicWindow(
            slide * (1 + random.nextInt(20)) + random.nextInt(2),
            slide
          )),
          Option.when(random.nextBoolean())(random.nextInt(predicates))
        )
      }
      val w = problem(math.pow(10, 4 + 4 * random.nextDouble()), 2000L, fragments, queries: _*)
      val s = search(w)
      val chosen = s.choose
      assert(chosen.parts.flatMap(_.queries).sorted == w.queries.indices.toVector)
      assert(chosen.cost <= chosen.costWithout * (1 + 1e-9))
      assert(chosen.runnerUp.forall(_.cost >= chosen.cost * (1 - 1e-9)))
      val classes =
        w.queries.indices.toVector.groupBy(i => (w.queries(i).window, w.queries(i).predicate)).values.toVector
      val best = partitions(classes.indices.toList)
        .map(_.map(p => s.costOf(p.flatMap(classes).sorted)).sum).min
      worst = math.max(worst, chosen.cost / best)
    }
    assert(worst < 1.1, s"$worst of the best partition")
  }

  test("groups that occur among some rows") {
    val random = new Random(3)
    for ((g, n) <- Seq((100, 50), (100, 500), (7, 3), (1000, 1000))) {
      val mean = Seq.fill(400)(Seq.fill(n)(random.nextInt(g)).distinct.size).sum / 400.0
      assert(math.abs(CollisionModel.occupied(n.toDouble, g.toDouble) / mean - 1) < 0.05, s"$g groups, $n rows")
    }
    assert(CollisionModel.occupied(0.5, 1) == 0.5)
    assert(CollisionModel.occupied(5, 1) == 1)
  }

  test("slices and fragments cut groups, and never below what is there") {
    val base = problem(1e5, 1, noPredicates).statistics
    val cut = new PartStatistics(base, Some((3, 10.0)), Some(4), IndexedSeq(0.5, 0.25))
    assert(cut.rows == 7.5e4)
    val (keys, sliced, both) = (BitSet(0), BitSet(0, 3), BitSet(0, 3, 4))
    assert(cut.groups(keys) <= base.groups(keys))
    assert(cut.groups(keys) < cut.groups(sliced) && cut.groups(sliced) < cut.groups(both))
    assert(cut.groups(both) <= cut.rows)
    assert(cut.groups(BitSet(3)) == 10 && cut.groups(BitSet(3, 4)) == 20)
  }
}
