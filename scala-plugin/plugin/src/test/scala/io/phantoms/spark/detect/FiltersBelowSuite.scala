package io.phantoms.spark.detect

import org.apache.spark.sql.catalyst.analysis.SimpleAnalyzer
import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.dsl.plans._
import org.apache.spark.sql.catalyst.expressions.{And, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, LogicalPlan}
import org.apache.spark.sql.types.IntegerType
import org.scalatest.funsuite.AnyFunSuite

/** Filters of an input, on their way up and down. */
final class FiltersBelowSuite extends AnyFunSuite {

  private val t = LocalRelation($"k".int, $"v".long, $"x".double)
  private val u = LocalRelation($"m".int, $"w".long, $"y".double)

  private def analyzed(plan: LogicalPlan): LogicalPlan = SimpleAnalyzer.execute(plan)

  private def filters(plan: LogicalPlan): Seq[String] = plan.collect { case f: Filter => text(f.condition) }

  private def text(e: Expression): String = e.toString.replaceAll("#\\d+L?", "")

  private def taken(plan: LogicalPlan): Predicates.Filtered = FiltersBelow.taken(analyzed(plan))

  private def names(plan: LogicalPlan): Seq[String] = plan.output.map(_.name)

  /** Up and down: what is taken, and the filters of the plan in which it is asked again. */
  private def moved(plan: LogicalPlan): (Seq[String], Seq[String]) = {
    val up = taken(plan)
    val down = up.asked.map(_.condition).reduceOption(And(_, _)).fold(up.input)(FiltersBelow.placed(_, up.input))
    assert(down.resolved && down.output.map(_.exprId).startsWith(analyzed(plan).output.map(_.exprId).take(1)))
    (up.asked.map(a => text(a.condition)), filters(down))
  }

  test("what speaks of keys") {
    val plan = t.where($"k" === 1 && $"v" > 2L).groupBy($"k")($"k", sum($"v").as("s"))
    assert(moved(plan) == (Seq("(k = 1)"), Seq("(v > 2)", "(k = 1)")))
    assert(taken(plan).asked.map(_.guards) == Seq(1), "the sum may be out of range")
  }

  test("a key that is not put out, and one by another name") {
    val up = taken(t.where($"k" === 1).groupBy($"k")(max($"v").as("m")))
    assert(names(up.input) == Seq("m", "k"))
    val renamed = t.where($"k" === 1).select($"k".as("j"), $"v").groupBy($"j")($"j", max($"v").as("m"))
    assert(moved(renamed) == (Seq("(j = 1)"), Seq("(k = 1)")))
  }

  test("nothing of totals, and of floats") {
    assert(taken(t.where($"k" === 1).groupBy()(max($"v").as("m"))).asked.isEmpty)
    assert(taken(t.where($"x" === 1.0).groupBy($"x")($"x", max($"v").as("m"))).asked.isEmpty)
  }

  test("what all branches of a union ask") {
    val plan = t.where($"k" === 1 && $"v" > 2L).union(u.where($"m" === 1 && $"w" > 3L))
    assert(moved(plan) == (Seq("(k = 1)"), Seq("(v > 2)", "(k = 1)", "(w > 3)", "(m = 1)")))
  }

  test("a column that a union has only for its branches' filters") {
    val up = taken(t.where($"k" === 1).select($"v").union(u.where($"m" === 1).select($"w")))
    assert(names(up.input) == Seq("v", "k") && up.asked.map(a => text(a.condition)) == Seq("(k = 1)"))
    assert(up.input.resolved && filters(up.input).isEmpty)
    val two = t.where($"k" === 1).select($"k").union(u.where($"m" === 1).select(($"m" + 1).as("n")))
    assert(names(taken(two).input) == Seq("k", "k") && taken(two).input.resolved)
  }

  test("columns of other types, and conditions of one branch only, stay") {
    val wide = t.where($"k" === 1).select($"k").union(u.where($"w" === 1L).select($"w".cast(IntegerType).as("w")))
    assert(taken(wide).asked.isEmpty)
    assert(taken(t.where($"k" === 1).union(u)).asked.isEmpty)
  }

  test("nothing leaves what it guards") {
    val guards = t.where($"k" === 1).where($"v" / $"k" > 2.0).groupBy($"k")($"k", max($"v").as("m"))
    assert(taken(guards).asked.isEmpty)
    val computed = taken(t.where($"k" === 1).select($"k", ($"v" / $"k").as("q")).groupBy($"k")($"k", max($"q").as("m")))
    assert(computed.asked.map(_.guards) == Seq(1))
    assert(FiltersBelow.unguarded(computed.asked.head.condition, computed.input) == 0)
    assert(FiltersBelow.failingBelow(computed.input) == 1)
  }

  test("what is said of keys and of results is asked of keys below, and of both above") {
    val plan = analyzed(t.groupBy($"k")($"k", max($"v").as("m")))
    val (k, m) = (plan.output.head, plan.output.last)
    val either = (k === 1 && m > 2L) || (k === 3 && m > 4L)
    assert(filters(FiltersBelow.placed(either, plan)) ==
      Seq("(((k = 1) AND (m > 2)) OR ((k = 3) AND (m > 4)))", "((k = 1) OR (k = 3))"))
  }
}
