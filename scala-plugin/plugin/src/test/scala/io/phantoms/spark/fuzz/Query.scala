package io.phantoms.spark.fuzz

import java.util.regex.Matcher

/**
 * A query as a tree. What [[smaller]] returns need not be valid SQL: whoever shrinks a query runs it, and plain Spark
 * refuses what names a column that is gone.
 */
sealed trait Query {
  def sql: String

  /** How many columns it has. */
  def width: Int

  /** Queries in which something is missing, those that miss most first. */
  def smaller: Seq[Query]

  /** Without one of its columns. */
  def without(column: Int): Option[Query]

  /** SELECTs in it, subqueries of conditions apart. */
  def selects: Int
}

/** What is selected: an expression, for aggregates with the condition of a FILTER clause. */
final case class Item(expression: String, name: String, filter: Option[Predicate] = None) {
  def sql: String = s"$expression${filter.fold("")(f => s" filter (where ${f.sql})")} $name"

  def smaller: Seq[Item] = filter.toSeq.flatMap(f => copy(filter = None) +: f.smaller.map(s => copy(filter = Some(s))))
}

final case class Select(
    items: Vector[Item],
    from: Source,
    where: Vector[Predicate] = Vector.empty,
    group: GroupBy = GroupBy.None,
    having: Vector[Predicate] = Vector.empty
) extends Query {
  def sql: String = s"select ${items.map(_.sql).mkString(", ")} from ${from.sql}${conditions("where", where)}" +
    s"${group.sql}${conditions("having", having)}"

  private def conditions(word: String, all: Vector[Predicate]): String =
    if (all.isEmpty) "" else all.map(_.sql).mkString(s" $word ", " and ", "")

  def width: Int = items.size

  def without(column: Int): Option[Query] = Option.when(items.size > 1)(copy(items = items.patch(column, Nil, 1)))

  def selects: Int = 1 + from.selects

  def smaller: Seq[Query] =
    from.queries ++
      inlined ++
      (if (where.size > 1) Seq(copy(where = Vector.empty)) else Nil) ++
      from.smaller.map(f => copy(from = f)) ++
      Shrink.without(where).map(w => copy(where = w)) ++
      Shrink.without(having).map(h => copy(having = h)) ++
      (if (items.size > 3) Seq(items.take(items.size / 2), items.drop(items.size / 2)).map(i => copy(items = i))
       else Nil) ++
      items.indices.flatMap(without) ++
      withoutKeys ++
      plainer ++
      group.smaller.map(g => copy(group = g)) ++
      Shrink.oneSmaller(where)(_.smaller).map(w => copy(where = w)) ++
      Shrink.oneSmaller(having)(_.smaller).map(h => copy(having = h)) ++
      Shrink.oneSmaller(items)(_.smaller).map(i => copy(items = i))

  /** Without a subquery that only projects and filters: what it computes is written out where it is read. */
  private def inlined: Seq[Query] = from match {
    case Derived(Select(made, inner, filter, GroupBy.None, Vector()), _) =>
      def text(sql: String): String = made.filter(i => i.expression != i.name)
        .foldLeft(sql)((s, i) => s.replaceAll(s"\\b${i.name}\\b", Matcher.quoteReplacement(s"(${i.expression})")))
      Seq(
        Select(
          items.map(i => Item(text(i.expression), i.name, i.filter.map(_.mapped(text)))),
          inner,
          where.map(_.mapped(text)) ++ filter,
          group.mapped(text),
          having.map(_.mapped(text))
        )
      )
    case _ => Nil
  }

  /** With a column in place of a key that is made of it. */
  private def plainer: Seq[Query] = group.keys.filterNot(_.matches("\\w+")).flatMap { key =>
    "[a-z]+[0-9]+".r.findFirstIn(key).map { column =>
      def text(sql: String): String = sql.replace(key, column)
      copy(
        items = items.map(i => i.copy(expression = text(i.expression))),
        group = group.mapped(text),
        having = having.map(_.mapped(text))
      )
    }
  }

  /** A key and what shows it go together. */
  private def withoutKeys: Seq[Query] = group.keys.map { key =>
    copy(items = items.filterNot(_.expression.startsWith(key)), group = group.without(key))
  }.filter(_.items.nonEmpty)
}

/** `union all`, `union`, `intersect` or `except` of queries of one width. */
final case class SetOperation(word: String, branches: Vector[Query]) extends Query {
  def sql: String = branches.map {
    case s: Select => s.sql
    case other => s"(${other.sql})"
  }.mkString(s" $word ")

  def width: Int = branches.head.width

  def without(column: Int): Option[Query] = {
    val narrower = branches.flatMap(_.without(column))
    Option.when(narrower.size == branches.size)(copy(branches = narrower))
  }

  def selects: Int = branches.map(_.selects).sum

  def smaller: Seq[Query] = branches ++ halves ++
    (if (branches.size > 2) Shrink.without(branches).map(b => copy(branches = b)) else Nil) ++
    (0 until width).flatMap(without) ++
    Shrink.oneSmaller(branches)(_.smaller.filter(_.width == width)).map(b => copy(branches = b))

  private def halves: Seq[Query] = if (branches.size < 4) Nil
  else Seq(branches.take(branches.size / 2), branches.drop(branches.size / 2)).map(b => copy(branches = b))
}

/** A common table expression and the query that reads it. */
final case class With(name: String, definition: Query, body: Query) extends Query {
  def sql: String = s"with $name as (${definition.sql}) ${body.sql}"
  def width: Int = body.width
  def without(column: Int): Option[Query] = body.without(column).map(b => copy(body = b))
  def selects: Int = definition.selects + body.selects
  def smaller: Seq[Query] = Seq(body, definition) ++ body.smaller.map(b => copy(body = b)) ++
    definition.smaller.map(d => copy(definition = d))
}

/** The first rows of a query by all of its columns that are ordered. */
final case class Ordered(query: Query, by: Vector[String], limit: Option[Int]) extends Query {
  def sql: String = s"select * from (${query.sql}) order by ${by.mkString(", ")}${limit.fold("")(n => s" limit $n")}"
  def width: Int = query.width
  def without(column: Int): Option[Query] = None
  def selects: Int = 1 + query.selects
  // Fewer columns in ORDER BY would leave ties.
  def smaller: Seq[Query] = query +: (limit.map(_ => copy(limit = None)).toSeq ++
    query.smaller.filter(_.width == width).map(q => copy(query = q)))
}

/** How many rows a query has, or as many as that. */
final case class Counted(query: Query, limit: Int) extends Query {
  def sql: String = s"select count(*) n from (${query.sql} limit $limit)"
  def width: Int = 1
  def without(column: Int): Option[Query] = None
  def selects: Int = 1 + query.selects
  def smaller: Seq[Query] = query +: query.smaller.filter(!_.isInstanceOf[Ordered]).map(q => copy(query = q))
}
