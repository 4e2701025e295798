package io.phantoms.spark.fuzz

import org.apache.spark.sql.types._

/** A query with what its columns may be used for. */
final case class Drawn(query: Query, columns: Vector[Column])

/** An input that several groupBys of a query read, word for word the same each time. */
final case class Input(source: Source, columns: Vector[Column])

/**
 * The columns of results that branches have in common.
 *
 * @param window the name and the type of a column that shows a window's start or end
 * @param count the name of the column that counts rows, the last one
 */
final case class Layout(
    keys: Vector[(String, Typed)],
    window: Option[(String, DataType)],
    measures: Vector[(String, Measure)],
    count: String
) {
  def columns: Vector[Column] =
    window.map { case (n, t) => Column(n, t, Values.Tame) }.toVector ++
      keys.map { case (n, k) => Column(n, k.dataType, k.values) } ++
      measures.map { case (n, m) => m.column(n) } :+
      Column(count, LongType, Values.Tame)
}

/** GroupBys over one input whose results have the same columns. */
final class Branches(d: Draw, input: Input, failing: Failing.Value) {
  val in = new Expressions(d, input.columns, failing)
  val calls = new Calls(d, in, failing)
  private val pool: Vector[Typed] = d.fill(6)(in.key()).distinctBy(_.sql)

  def layout(
      keys: Int,
      measures: Int,
      windowed: Boolean = false,
      exact: Boolean = false,
      all: Boolean = false
  ): Layout =
    Layout(
      d.fill(keys)(d.fresh("k") -> d.pick(pool)),
      Option.when(windowed)(in.window()).flatten.map(w => d.fresh("w") -> w.dataType),
      d.fill(measures)(calls.measure(all)).filter(m => m.isExact || !exact).map(d.fresh("m") -> _),
      d.fresh("n")
    )

  def where(): Vector[Predicate] = d.maybe(3)(in.predicate()).toVector

  /** A groupBy with its own keys, calls and window. */
  def branch(layout: Layout, where: Vector[Predicate], plainOnly: Boolean = false): Select = {
    val window = layout.window.flatMap { case (name, t) =>
      Iterator.continually(in.window()).flatten.find(_.dataType == t).map(w => Item(w.sql, name))
    }
    val keys = layout.keys.map { case (name, k) =>
      val fit = pool.filter(_.dataType == k.dataType)
      Item(if (d.chance(4)) s"cast(null as ${k.dataType.sql})" else d.pick(fit).sql, name)
    }
    val by = keys.map(_.expression).filterNot(_.startsWith("cast(null")).distinct
    val windows = window.map(_.expression.stripSuffix(".start").stripSuffix(".end")).toVector
    val group = if (!plainOnly && by.size > 1 && d.chance(6)) GroupBy.Hierarchy("rollup", windows, by)
    else GroupBy.Keys(windows ++ by)
    Select(window.toVector ++ keys ++ measured(layout), input.source, where, group, having(by, 6))
  }

  def measured(layout: Layout): Vector[Item] =
    layout.measures.map { case (n, m) => m.next().copy(name = n) } :+ Item("count(*)", layout.count)

  def having(keys: Vector[String], oneIn: Int): Vector[Predicate] = d.maybe(oneIn)(Condition(d.pick(
    Vector("count(*) > 1", "count(*) < 20", "count(*) % 2 = 0", "count(*) is not null") ++ keys.map(k =>
      s"$k is not null"
    )
  ))).toVector

  /** GROUPING SETS, ROLLUP or CUBE. */
  def sets(): Drawn = {
    val keys = d.shuffle(pool).take(1 + d.upTo(4))
    val names = keys.map(_.sql)
    val group = d.upTo(4) match {
      case 0 => GroupBy.Hierarchy("rollup", Vector.empty, names)
      case 1 => GroupBy.Hierarchy("cube", Vector.empty, names.take(3))
      case 2 if names.size > 1 => GroupBy.Hierarchy("rollup", names.take(1), names.drop(1))
      // Every key has to occur somewhere to be selected.
      case _ => GroupBy.Sets(d.fill(1 + d.upTo(5))(names.filter(_ => d.chance(2))) :+ names)
    }
    val shown = keys.filter(k => group.keys.contains(k.sql)).map(k => (d.fresh("k"), k))
    val measures = layout(0, d.upTo(5), all = true)
    val ids = d.maybe(2)(Item("grouping_id()", d.fresh("g"))).toVector ++
      d.maybe(3)(Item(s"grouping(${d.pick(group.keys)})", d.fresh("g")))
    val above = d.maybe(5)(Condition(d.pick(Vector("count(*) > 1", "grouping_id() > 0", "grouping_id() % 2 = 1"))))
    val items = shown.map { case (n, k) => Item(k.sql, n) } ++ ids ++ measured(measures)
    Drawn(
      Select(items, input.source, where(), group, above.toVector),
      shown.map { case (n, k) => Column(n, k.dataType, k.values) } ++
        ids.map(i => Column(i.name, if (i.expression.startsWith("grouping_id")) LongType else ByteType, Values.Tame)) ++
        measures.columns
    )
  }

  /** A union of groupBys with the same filter or filters of their own, of many groupings or of few. */
  def union(windowed: Boolean, word: String = "union all"): Drawn = {
    val plan = layout(1 + d.upTo(3), d.upTo(4), windowed, exact = word != "union all", all = d.chance(5))
    val common = where()
    val own = d.chance(2)
    val few = d.fill(2)(branch(plan, common, plainOnly = true))
    val repeats = d.chance(2)
    val count = if (windowed && d.chance(3)) 1
    else if (own && repeats && d.chance(6)) 20
    else 2 + d.upTo(if (own) 6 else 4)
    val branches = d.fill(count) {
      val one = if (repeats) d.pick(few) else branch(plan, common)
      if (own && !d.chance(6)) one.copy(where = Vector(in.predicate())) else one
    }
    Drawn(if (count == 1) branches.head else SetOperation(word, branches), plan.columns)
  }

  /** One groupBy with many aggregates under conditions, in every way to write them. */
  def conditionals(): Drawn = {
    val plan = layout(d.upTo(3), d.upTo(3))
    val number = input.columns.find(c => Expressions.isWhole(c.dataType) && c.isTame).fold("1")(_.name)
    val measures = d.fill(6 + d.upTo(6)) {
      val p = in.predicate()
      val name = d.fresh("m")
      d.pick(Vector(
        Item(s"count_if(${p.sql})", name),
        Item("count(*)", name, Some(p)),
        Item(s"sum(case when ${p.sql} then $number else 0 end)", name),
        Item(s"avg(case when ${p.sql} then $number end)", name),
        Item(s"max($number)", name, Some(p)),
        Item(s"sum($number)", name, Some(p))
      ))
    }
    val base = branch(plan, where(), plainOnly = true)
    // Types of these differ: nobody reads them.
    Drawn(base.copy(items = base.items ++ measures), plan.columns)
  }
}
