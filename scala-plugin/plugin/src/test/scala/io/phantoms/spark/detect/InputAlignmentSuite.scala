package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.analysis.SimpleAnalyzer
import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.dsl.plans._
import org.apache.spark.sql.catalyst.expressions.{Literal, Rand}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation, LogicalPlan, Project, Union}
import org.apache.spark.sql.types.DoubleType
import org.scalatest.funsuite.AnyFunSuite

/** Copies of one input that lack other columns: what is made of them. */
final class InputAlignmentSuite extends AnyFunSuite {

  private val rows = LocalRelation($"a".int, $"b".string, $"c".long, $"n".int.notNull)

  private def copy: LocalRelation = rows.newInstance()

  private def analyzed(plan: LogicalPlan): LogicalPlan = SimpleAnalyzer.execute(plan)

  private def merged(first: LogicalPlan, second: LogicalPlan): Option[InputAlignment.Merged] =
    InputAlignment.merge(analyzed(first), analyzed(second))

  private def names(plan: LogicalPlan): Seq[String] = plan.output.map(_.name)

  private def called(m: InputAlignment.Merged, second: LogicalPlan): Seq[String] =
    second.output.map(a => m.second(a).name)

  private def assertPutsOut(m: InputAlignment.Merged, first: LogicalPlan): Unit = {
    assert(first.output.forall(a => m.plan.outputSet.contains(a)))
    assert(m.second.values.forall(a => m.plan.output.exists(o => o.exprId == a.exprId && o.nullable == a.nullable)))
    assert(m.plan.resolved)
    ()
  }

  test("groupBys of one grouping: functions of both, in the order that a copy with all has") {
    val first = analyzed(rows.groupBy($"a", $"b")($"a", sum($"c").as("s"), count($"n").as("k")))
    val second = analyzed(copy.groupBy($"a", $"b")($"a", $"b", max($"c").as("m"), count($"n").as("k2")))
    val m = InputAlignment.merge(first, second).get
    assertPutsOut(m, first)
    assert(names(m.plan) == Seq("a", "b", "m", "s", "k"))
    assert(called(m, second) == Seq("a", "b", "m", "k"))
    assert(m.plan.isInstanceOf[Aggregate])
  }

  test("columns below the groupBys that one copy lacks") {
    val first = analyzed(rows.select($"a", $"c").groupBy($"a")($"a", sum($"c").as("s")))
    val second = analyzed(copy.select($"a", $"n").groupBy($"a")(max($"n").as("m")))
    val m = InputAlignment.merge(first, second).get
    assertPutsOut(m, first)
    assert(m.plan.collect { case p: Project => names(p) } == Seq(Seq("a", "n", "c")))
    assert(called(m, second) == Seq("m"))
  }

  test("a copy that lacks nothing is what both become") {
    val all = analyzed(rows.select($"a", $"c", $"n").groupBy($"a")($"a", sum($"c").as("s"), max($"n").as("m")))
    val less = analyzed(copy.select($"a", $"n").groupBy($"a")($"a", max($"n").as("m")))
    for ((first, second) <- Seq(all -> less, less -> all)) {
      assert(InputAlignment.merge(first, second).get.plan.sameResult(all))
    }
  }

  test("other groupings, filters below, what is another value each time, or DISTINCT") {
    val first = rows.groupBy($"a")($"a", sum($"c").as("s"))
    assert(merged(first, copy.groupBy($"b")($"b", sum($"c").as("s"))).isEmpty)
    assert(merged(first, copy.groupBy($"a", $"b")($"a", max($"c").as("s"))).isEmpty)
    assert(merged(first, copy.groupBy()(max($"c").as("s"))).isEmpty)
    assert(merged(first, copy.where($"n" > 1).groupBy($"a")($"a", max($"c").as("s"))).isEmpty)
    assert(merged(first, copy.groupBy($"a")($"a", sum(Rand(Literal(1L))).as("l"))).isEmpty)
    assert(merged(first, copy.groupBy($"a")($"a", countDistinct($"c").as("l"))).isEmpty)
  }

  test("functions that would fail side by side") {
    def guarded(of: LocalRelation, name: String) =
      of.groupBy($"a")($"a", sum($"n" / $"c", Some($"c" =!= 0L)).as(name))
    val first = analyzed(guarded(rows, "s"))
    assert(merged(guarded(rows, "s"), guarded(copy, "t")).exists(_.plan.output.size == 2))
    val other = copy.groupBy($"a")($"a", max($"n" / $"c", Some($"c" =!= 0L)).as("m"))
    assert(InputAlignment.merge(first, analyzed(other)).isEmpty)
    assert(merged(guarded(rows, "s"), copy.groupBy($"a")($"a", max($"n").as("m"))).isDefined)
  }

  test("functions that would fail side by side, of parts that are computed anyway") {
    val number = $"b".cast(DoubleType)
    def largest = max(number).as("x")
    val first = analyzed(rows.groupBy($"a")($"a", largest, sum($"n" / number, Some($"c" =!= 0L)).as("s")))
    val second = analyzed(copy.groupBy($"a")($"a", largest, max($"n" / number, Some($"c" =!= 0L)).as("m")))
    assert(InputAlignment.merge(first, second).isEmpty)
    val harmless = analyzed(copy.groupBy($"a")($"a", largest, max(number, Some($"c" =!= 0L)).as("m")))
    assert(InputAlignment.merge(first, harmless).isDefined)
  }

  private def union(children: LogicalPlan*): LogicalPlan = analyzed(Union(children))

  test("unions: a column is the same one if it is so in every branch") {
    val first = union(rows.select($"a".as("p")), copy.select($"a".as("p")))
    val second = union(copy.select($"a".as("q"), $"c"), copy.select($"n".as("q"), $"c"))
    val m = InputAlignment.merge(first, second).get
    assertPutsOut(m, first)
    assert(m.plan.output.size == 3)
    val Seq(q, c) = second.output.map(m.second(_)): @unchecked
    assert(q.exprId == m.plan.output(1).exprId && c.exprId == m.plan.output(2).exprId)
    // The second branch decides whether it may be NULL.
    assert(q.nullable)
  }

  test("unions: columns in another order") {
    val first = union(rows.select($"a", $"n"), copy.select($"n".as("a"), $"a".as("n")))
    val second = union(copy.select($"n", $"a"), copy.select($"a".as("n"), $"n".as("a")))
    val m = InputAlignment.merge(first, second).get
    assertPutsOut(m, first)
    assert(m.plan.sameResult(first))
    assert(second.output.map(m.second(_).exprId) == first.output.map(_.exprId).reverse)
  }

  test("unions: nullability of what is added is that of all branches") {
    val first = union(rows.select($"a"), copy.select($"a"))
    val second = union(copy.select($"n"), copy.select(Literal(1).as("n")))
    val third = union(copy.select($"n"), copy.select($"a".as("n")))
    assert(!InputAlignment.merge(first, second).get.second.values.exists(_.nullable))
    assert(InputAlignment.merge(first, third).get.second.values.forall(_.nullable))
  }

  test("unions of other branches, or of more of them") {
    val first = union(rows.select($"a"), copy.select($"a"))
    assert(InputAlignment.merge(first, union(copy.select($"n"), copy.where($"n" > 1).select($"n"))).isEmpty)
    assert(InputAlignment.merge(first, union(copy.select($"n"), copy.select($"n"), copy.select($"n"))).isEmpty)
  }
}
