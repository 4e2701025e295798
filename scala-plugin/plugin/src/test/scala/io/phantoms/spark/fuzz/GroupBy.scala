package io.phantoms.spark.fuzz

/** The GROUP BY clause of a SELECT. */
sealed trait GroupBy {
  def sql: String
  def keys: Vector[String]
  def without(key: String): GroupBy
  def mapped(text: String => String): GroupBy
  def smaller: Seq[GroupBy]
}

object GroupBy {
  val None: GroupBy = Keys(Vector.empty)

  final case class Keys(keys: Vector[String]) extends GroupBy {
    def sql: String = if (keys.isEmpty) "" else keys.mkString(" group by ", ", ", "")
    def without(key: String): GroupBy = Keys(keys.filterNot(_ == key))
    def mapped(text: String => String): GroupBy = Keys(keys.map(text))
    def smaller: Seq[GroupBy] = Nil
  }

  /** GROUPING SETS. */
  final case class Sets(sets: Vector[Vector[String]]) extends GroupBy {
    def sql: String = sets.map(_.mkString("(", ", ", ")")).mkString(" group by grouping sets (", ", ", ")")
    def keys: Vector[String] = sets.flatten.distinct
    def without(key: String): GroupBy = Sets(sets.map(_.filterNot(_ == key)))
    def mapped(text: String => String): GroupBy = Sets(sets.map(_.map(text)))
    def smaller: Seq[GroupBy] = Keys(keys) +: Shrink.without(sets).filter(_.nonEmpty).map(Sets(_))
  }

  /** ROLLUP or CUBE, behind keys that are in all of its sets. */
  final case class Hierarchy(word: String, always: Vector[String], rolled: Vector[String]) extends GroupBy {
    def sql: String = (always :+ rolled.mkString(s"$word(", ", ", ")")).mkString(" group by ", ", ", "")
    def keys: Vector[String] = always ++ rolled
    def without(key: String): GroupBy = rolled.filterNot(_ == key) match {
      case Vector() => Keys(always)
      case fewer => Hierarchy(word, always.filterNot(_ == key), fewer)
    }
    def mapped(text: String => String): GroupBy = Hierarchy(word, always.map(text), rolled.map(text))
    def smaller: Seq[GroupBy] = Seq(Keys(keys))
  }
}
