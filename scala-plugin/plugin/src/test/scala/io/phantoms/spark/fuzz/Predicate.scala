package io.phantoms.spark.fuzz

/** A condition that can be made smaller. */
sealed trait Predicate {
  def sql: String

  /** With other texts of conditions, those of subqueries apart. */
  def mapped(text: String => String): Predicate

  /** What is left when a part is taken away, most of it first. */
  def smaller: Seq[Predicate]
}

final case class Condition(sql: String) extends Predicate {
  def mapped(text: String => String): Predicate = Condition(text(sql))
  def smaller: Seq[Predicate] = Nil
}

/** Parts that have to hold all (`and`), or one of them (`or`). */
final case class Parts(word: String, parts: Vector[Predicate]) extends Predicate {
  def sql: String = parts.map(_.sql).mkString("(", s" $word ", ")")
  def mapped(text: String => String): Predicate = Parts(word, parts.map(_.mapped(text)))
  def smaller: Seq[Predicate] = parts ++ Shrink.parts(parts)(_.smaller).filter(_.size > 1).map(Parts(word, _))
}

final case class Not(part: Predicate) extends Predicate {
  def sql: String = s"not (${part.sql})"
  def mapped(text: String => String): Predicate = Not(part.mapped(text))
  def smaller: Seq[Predicate] = part +: part.smaller.map(Not(_))
}

/** A condition around a subquery: `before` it and `after` it, such as `k in (` and `)`. */
final case class Subquery(before: String, query: Query, after: String = ")") extends Predicate {
  def sql: String = s"$before${query.sql}$after"
  def mapped(text: String => String): Predicate = copy(before = text(before), after = text(after))
  def smaller: Seq[Predicate] = query.smaller.map(q => copy(query = q))
}

private[fuzz] object Shrink {

  /** Without one of several, then with one of them smaller. */
  def parts[T](all: Vector[T])(smaller: T => Seq[T]): Seq[Vector[T]] = without(all) ++ oneSmaller(all)(smaller)

  def without[T](all: Vector[T]): Seq[Vector[T]] = all.indices.map(i => all.patch(i, Nil, 1))

  def oneSmaller[T](all: Vector[T])(smaller: T => Seq[T]): Seq[Vector[T]] =
    all.zipWithIndex.flatMap { case (one, i) => smaller(one).map(s => all.updated(i, s)) }
}
