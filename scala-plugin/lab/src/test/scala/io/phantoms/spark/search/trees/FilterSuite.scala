package io.phantoms.spark.search.trees

import scala.util.Random

import io.phantoms.spark.lab.trees.{Predicate, SampleStatistics}

import org.scalatest.funsuite.AnyFunSuite

class FilterSuite extends AnyFunSuite {
  private val attributes = 4

  private def tuples(random: Random): Vector[Array[Long]] =
    Vector.fill(300)(RandomTrees.tuple(random, attributes))

  private def statistics(random: Random): SampleStatistics =
    new SampleStatistics(1e6, RandomTrees.columns(random, attributes, 300))

  test("a range holds its bounds and no NULL") {
    val c = RangeCondition(0, -3, 7)
    assert(c.accepts(-3) && c.accepts(7) && !c.accepts(-4) && !c.accepts(8))
    assert(!RangeCondition(0, RangeCondition.Lowest, Long.MaxValue).accepts(RangeCondition.Null))
    intercept[IllegalArgumentException](RangeCondition(0, 3, 2))
    intercept[IllegalArgumentException](RangeCondition(0, RangeCondition.Null, 2))
    intercept[IllegalArgumentException](Box(Vector(c, c)))
  }

  test("a filter's boxes have one order, and none lies inside another") {
    val (wide, narrow, other) = (Box.of((0, 0, 9)), Box.of((0, 2, 3), (1, 0, 5)), Box.of((1, 7, 8)))
    assert(Filter(Seq(narrow, other, wide)) === Filter(Seq(wide, other, wide)))
    assert(Filter(Seq(other, Box.All)) === Filter.All)
    assert(Filter(Nil) === Filter.Nothing && !Filter.Nothing.accepts(_ => 0L))
  }

  test("containment and intersection of boxes, tuple by tuple") {
    val random = new Random(5)
    var contained = 0
    for (_ <- 1 to 2000) {
      val (a, b) = (RandomTrees.box(random, 0 until 2), RandomTrees.box(random, 0 until 2))
      val all = Vector.fill(40)(RandomTrees.tuple(random, 2))
      val both = a.intersect(b)
      all.foreach { t =>
        assert(both.exists(_.accepts(t(_))) === (a.accepts(t(_)) && b.accepts(t(_))))
        if (a.contains(b) && b.accepts(t(_))) assert(a.accepts(t(_)))
        if (a.accepts(t(_)) || b.accepts(t(_))) assert(a.hull(b).accepts(t(_)))
      }
      assert(a.hull(b).contains(a) && a.hull(b).contains(b))
      if (a.contains(b)) contained += 1
    }
    assert(contained > 100)
  }

  test("a predicate and its disjunctive normal form accept the same tuples") {
    val random = new Random(7)
    var (some, none, accepted) = (0, 0, 0)
    for (_ <- 1 to 500) {
      val predicate = RandomTrees.predicate(random, attributes, 4)
      predicate.toFilter() match {
        case Some(filter) =>
          some += 1
          assert(filter.boxes.size <= Predicate.MaxBoxes)
          tuples(random).foreach { t =>
            assert(filter.accepts(t(_)) === predicate.accepts(t(_)), predicate)
            if (filter.accepts(t(_))) accepted += 1
          }
        case None => none += 1
      }
    }
    assert(some > 400 && accepted > 10000)
  }

  test("a normal form with too many boxes is refused") {
    def either(a: Int): Predicate =
      Predicate.Or(Vector(Predicate.In(RangeCondition(a, 0, 1)), Predicate.In(RangeCondition(a, 5, 6))))
    def all(n: Int): Predicate = Predicate.And((0 until n).map(either).toVector)
    assert(all(6).toFilter(64).get.boxes.size === 64)
    assert(all(7).toFilter(64).isEmpty)
    assert(Predicate.Or(Vector(all(7), either(0))).toFilter(64).isEmpty)
  }

  test("a union passes every tuple of its filters, so filtering by it first changes no answer") {
    val random = new Random(9)
    var (merged, rejected) = (0, 0)
    for (_ <- 1 to 300) {
      val union = new FilterUnion(statistics(random).selectivity(_), TreeCosts())
      val filters = Vector.fill(1 + random.nextInt(4))(RandomTrees.filter(random, 0 until attributes, 3))
      for (coalesced <- Seq(union(filters), union.coalesced(filters))) {
        assert(filters.forall(coalesced.contains))
        if (coalesced.boxes.size < Filter(filters.flatMap(_.boxes)).boxes.size) merged += 1
        tuples(random).foreach { t =>
          val first = coalesced.accepts(t(_))
          filters.foreach(f => assert((first && f.accepts(t(_))) === f.accepts(t(_))))
          if (!first) rejected += 1
        }
      }
    }
    assert(merged > 50 && rejected > 1000, "unions that do nothing test nothing")
  }

  test("coalescing stops where no merge of two boxes lowers C_F(F) + sigma_F sum C_F(F_i)") {
    val random = new Random(11)
    for (_ <- 1 to 100) {
      val stats = statistics(random)
      val costs = TreeCosts()
      val union = new FilterUnion(stats.selectivity(_), costs)
      val filters = Vector.fill(1 + random.nextInt(3))(RandomTrees.filter(random, 0 until attributes, 3))
      def price(f: Filter): Double =
        5 * f.boxes.map(_.conditions.size).sum + stats.selectivity(f) * 5 * filters.flatMap(
          _.boxes
        ).map(_.conditions.size).sum
      val found = union.coalesced(filters)
      assert(math.abs(union.cost(found, filters) - price(found)) < 1e-9)
      assert(price(found) <= price(Filter(filters.flatMap(_.boxes))) + 1e-9)
      for (a <- found.boxes; b <- found.boxes if a != b)
        assert(price(Filter(found.boxes.filter(x => x != a && x != b) :+ a.hull(b))) >= price(found) - 1e-9)
    }
  }

  test("coalescing by hand: near boxes become one, a far one stays") {
    // Uniform over 0 to 99: apart {0-9}, {10-19}, {90-99}.
    val stats = new UniformStatistics(1000, Vector((0L, 99L)))
    val union = new FilterUnion(stats.selectivity(_), TreeCosts(rangeCheck = 1))
    val filters = Seq(Filter(Seq(Box.of((0, 0, 9)), Box.of((0, 90, 99)))), Filter.range((0, 10, 19)))
    assert(math.abs(union.cost(Filter(filters.flatMap(_.boxes)), filters) - (3 + 0.3 * 3)) < 1e-12)
    assert(union(filters) === Filter(Seq(Box.of((0, 0, 19)), Box.of((0, 90, 99)))))
    // Filters of one box each have the hull for their union, however far apart.
    assert(union(Seq(Filter.range((0, 0, 9)), Filter.range((0, 90, 99)))) === Filter.range((0, 0, 99)))
  }
}
