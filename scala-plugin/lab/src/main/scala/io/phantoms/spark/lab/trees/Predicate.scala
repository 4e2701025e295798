package io.phantoms.spark.lab.trees

import io.phantoms.spark.search.trees.{Box, Filter, RangeCondition}

/**
 * A boolean expression over range conditions. There is no negation: under SQL's logic of three values the negation of a
 * range is the disjunction of the ranges beside it, which like the range itself hold no NULL.
 */
sealed trait Predicate {

  /** @param value the tuple: the value of each attribute */
  def accepts(value: Int => Long): Boolean = this match {
    case Predicate.In(condition) => condition.accepts(value(condition.attribute))
    case Predicate.And(parts) => parts.forall(_.accepts(value))
    case Predicate.Or(parts) => parts.exists(_.accepts(value))
  }

  /**
   * The disjunctive normal form.
   *
   * @param maxBoxes most boxes on the way: a conjunction of n disjunctions of two has 2^n
   * @return None if there would be more
   */
  def toFilter(maxBoxes: Int = Predicate.MaxBoxes): Option[Filter] = this match {
    case Predicate.In(condition) => Some(Filter(Seq(Box(Vector(condition)))))
    case Predicate.Or(parts) => all(parts, maxBoxes).map(fs => Filter(fs.flatMap(_.boxes))).filter(fits(maxBoxes))
    case Predicate.And(parts) =>
      all(parts, maxBoxes).flatMap(_.foldLeft(Option(Filter.All)) { (found, f) =>
        found.filter(_.boxes.size.toLong * f.boxes.size <= maxBoxes.toLong * maxBoxes).map { g =>
          Filter(for { a <- g.boxes; b <- f.boxes; c <- a.intersect(b) } yield c)
        }.filter(fits(maxBoxes))
      })
  }

  private def all(parts: Vector[Predicate], maxBoxes: Int): Option[Vector[Filter]] = {
    val filters = parts.map(_.toFilter(maxBoxes))
    Option.when(filters.forall(_.nonEmpty))(filters.flatten)
  }

  private def fits(maxBoxes: Int)(f: Filter): Boolean = f.boxes.size <= maxBoxes
}

object Predicate {

  /** Boxes beyond which a predicate is not worth checking box by box. */
  val MaxBoxes: Int = 64

  final case class In(condition: RangeCondition) extends Predicate
  final case class And(parts: Vector[Predicate]) extends Predicate
  final case class Or(parts: Vector[Predicate]) extends Predicate
}
