package io.phantoms.spark.fuzz

/** Queries over the tables `t` and `d`: aggregates in every place where a query may have them. */
final class Grammar(d: Draw, tables: Vector[Table]) {
  private val failing =
    if (d.chance(8)) d.pick(Vector(Failing.Overflow, Failing.Division, Failing.Cast)) else Failing.Nothing
  private val large = tables.head.columns.map(Column.of)
  private val small = tables(1).columns.map(Column.of)
  private val t = Input(Named("t"), large)

  def next(): Query =
    // An operator above may keep an expression that fails from being evaluated, in one plan and not in another.
    if (failing != Failing.Nothing) flat(t).query
    else {
      val drawn = d.weighted(
        10 -> (() => flat(input())),
        4 -> (() => scattered(input())),
        3 -> (() => twice()),
        2 -> (() =>
          new Branches(d, input(), failing).union(windowed = false, d.pick(Vector("union", "intersect", "except")))
        ),
        2 -> (() => subqueries()),
        2 -> (() => within(input()))
      )
      wrapped(drawn)
    }

  /** One SELECT, or a union of several. */
  private def flat(input: Input): Drawn = {
    val branches = new Branches(d, input, failing)
    d.weighted(
      3 -> (() => branches.sets()),
      4 -> (() => branches.union(windowed = false)),
      2 -> (() => branches.union(windowed = true)),
      1 -> (() => branches.conditionals())
    )
  }

  // ---- inputs ----------------------------------------------------------------------------------------------------

  private def input(): Input = d.weighted(
    6 -> (() => t),
    1 -> (() => projected()),
    2 -> (() => joined()),
    1 -> (() => aggregated())
  )

  private def projected(): Input = {
    val in = new Expressions(d, large, failing)
    val made = d.fill(1 + d.upTo(2))(d.fresh("e") -> in.key())
    val items = large.map(c => Item(c.name, c.name)) ++ made.map { case (n, k) => Item(k.sql, n) }
    Input(
      Derived(Select(items, t.source, d.maybe(2)(in.predicate()).toVector), d.fresh("p")),
      large ++ made.map { case (n, k) => Column(n, k.dataType, k.values) }
    )
  }

  private def joined(): Input = {
    val how = d.pick(Vector("join", "join", "left join", "left semi join", "left anti join"))
    val columns = if (how.contains("semi") || how.contains("anti")) large else large ++ small
    Input(Joined(Named("t"), how, Named("d"), "t0 = d0"), columns)
  }

  /** Rows of two selections. */
  private def united(): Input = {
    val in = new Expressions(d, large, failing)
    val parts = d.fill(2)(Select(large.map(c => Item(c.name, c.name)), t.source, d.maybe(2)(in.predicate()).toVector))
    Input(Derived(SetOperation("union all", parts), d.fresh("u")), large)
  }

  private def aggregated(): Input = {
    val branches = new Branches(d, t, failing)
    val plan = branches.layout(2 + d.upTo(2), 1 + d.upTo(3), exact = true)
    Input(Derived(branches.branch(plan, branches.where()), d.fresh("a")), plan.columns)
  }

  // ---- aggregates in several places ------------------------------------------------------------------------------

  /** A join of groupBys over one input, by a key that all of them have. */
  private def scattered(input: Input): Drawn = {
    val branches = new Branches(d, input, failing)
    val (filter, own) = (branches.where(), d.chance(3))
    val key = branches.in.key()
    val sides = Vector.tabulate(2 + d.upTo(2)) { i =>
      // Of one side only there are several rows for one key, or the join's are too many.
      val plan = branches.layout(if (i == 0 && d.chance(2)) 1 else 0, d.upTo(3))
      val (name, alias) = (d.fresh("j"), d.fresh("q"))
      val side = branches.branch(plan, if (own) branches.where() else filter, plainOnly = true)
      val group = GroupBy.Keys((key.sql +: side.group.keys).distinct)
      val query = side.copy(items = Item(key.sql, name) +: side.items, group = group)
      (alias, name, query, Column(name, key.dataType, key.values) +: plan.columns)
    }
    val (first, firstKey, firstQuery, firstColumns) = sides.head
    val start = (Derived(firstQuery, first): Source, firstColumns)
    val (from, columns) = sides.tail.foldLeft(start) { case ((left, seen), (alias, name, query, own)) =>
      val how = d.pick(Vector("join", "join", "left join", "full join", "left semi join", "left anti join"))
      val on = s"$alias.$name ${d.pick(Vector("=", "<=>"))} $first.$firstKey"
      val hidden = how.contains("semi") || how.contains("anti")
      (Joined(left, how, Derived(query, alias), on), if (hidden) seen else seen ++ own)
    }
    Drawn(Select(columns.map(c => Item(c.name, c.name)), from), columns)
  }

  /** A common table expression, of rows or of groups, that is read twice. */
  private def twice(): Drawn = {
    val name = d.fresh("cte")
    val made = d.pick(Vector(() => projected(), () => aggregated(), () => joined(), () => united()))()
    val definition = made.source match {
      case Derived(query, _) => query
      case other => Select(made.columns.map(c => Item(c.name, c.name)), other)
    }
    val read = Input(Named(name), made.columns)
    val body = if (d.chance(2)) scattered(read) else flat(read)
    Drawn(With(name, definition, body.query), body.columns)
  }

  /** Scalar subqueries over one input, beside each other. */
  private def subqueries(): Drawn = {
    val branches = new Branches(d, t, failing)
    val (filter, own) = (branches.where(), d.chance(2))
    val made = d.fill(2 + d.upTo(3)) {
      val measure = branches.calls.measure(all = false)
      val where = if (own) Vector(branches.in.predicate()) else filter
      val query = Select(Vector(measure.next().copy(name = "s")), t.source, where)
      (Item(s"(${query.sql})", d.fresh("s")), measure)
    }
    val columns = made.map { case (i, m) => m.column(i.name) }
    Drawn(Select(made.map(_._1), Named("range(1)")), columns)
  }

  /** GroupBys whose rows or groups are picked by subqueries. */
  private def within(input: Input): Drawn = {
    val branches = new Branches(d, input, failing)
    val plan = branches.layout(1 + d.upTo(2), d.upTo(3))
    val number = input.columns.find(c => Expressions.isWhole(c.dataType) && c.isTame).map(_.name)
    def groups: Select = Select(
      Vector(Item("t0", "x")),
      t.source,
      branches.where().filter(_ => input.source == t.source),
      GroupBy.Keys(Vector("t0")),
      Vector(Condition(s"count(*) ${d.pick(Vector("> 1", "< 3"))}"))
    )
    val picked: Vector[Predicate] = number.toVector.map { k =>
      d.pick(Vector[() => Predicate](
        () => Subquery(s"$k in (", groups),
        () => Subquery(s"$k not in (", groups.copy(where = groups.where :+ Condition("t0 is not null"))),
        () => Subquery("exists (", Select(Vector(Item("1", "x")), Named("d"), Vector(Condition(s"d0 = $k")))),
        () => Subquery(s"$k > (", Select(Vector(Item("avg(t0)", "x")), t.source))
      ))()
    }
    val compared = Subquery("count(*) >= (", Select(Vector(Item("count(*) / 8", "x")), t.source))
    val several = d.fill(2)(branches.branch(plan, branches.where(), plainOnly = true)).map { s =>
      if (d.chance(2)) s.copy(where = s.where ++ picked) else s.copy(having = s.having :+ compared)
    }
    Drawn(SetOperation("union all", several), plan.columns)
  }

  // ---- what stands above -----------------------------------------------------------------------------------------

  private def wrapped(drawn: Drawn): Query = if (!drawn.columns.exists(_.isExact)) drawn.query
  else d.weighted(
    7 -> (() => drawn.query),
    1 -> (() => filtered(drawn)),
    1 -> (() => Counted(drawn.query, 1 + d.upTo(50))),
    1 -> (() => ordered(drawn)),
    1 -> (() => ranked(drawn)),
    1 -> (() => regrouped(drawn))
  )

  private def over(drawn: Drawn): Input = Input(Derived(drawn.query, d.fresh("o")), drawn.columns)
  private def shown(columns: Vector[Column]): Vector[Item] = columns.map(c => Item(c.name, c.name))

  private def filtered(drawn: Drawn): Query =
    Select(shown(drawn.columns), over(drawn).source, Vector(new Expressions(d, drawn.columns, failing).predicate()))

  /** Ties that a limit cuts are of equal rows. */
  private def ordered(drawn: Drawn): Query = {
    val columns = drawn.columns.filter(c => c.isExact && Expressions.isOrdered(c.dataType))
    if (columns.isEmpty) drawn.query
    else {
      val by = d.shuffle(columns).map(c => s"${c.name}${d.pick(Vector("", " desc", " nulls last"))}")
      Ordered(Select(shown(columns), over(drawn).source), by, d.maybe(2)(1 + d.upTo(20)))
    }
  }

  /** Window functions that rank equal rows alike. */
  private def ranked(drawn: Drawn): Query = {
    val columns = drawn.columns.filter(c => c.isExact && Expressions.isOrdered(c.dataType))
    if (columns.isEmpty) drawn.query
    else {
      val window = s"over (partition by ${d.pick(columns).name} order by ${d.pick(columns).name})"
      val counted = drawn.columns.last
      val function = d.pick(Vector("rank()", "dense_rank()", "count(*)", s"max(${counted.name})"))
      Select(shown(drawn.columns) :+ Item(s"$function $window", d.fresh("r")), over(drawn).source)
    }
  }

  private def regrouped(drawn: Drawn): Query = new Branches(d, over(drawn), failing).sets().query
}
