package io.phantoms.spark.model

import scala.collection.immutable.BitSet

/**
 * The paper's way to write a configuration: `ABCD(AB BCD(BC BD CD))` is a relation ABCD that feeds AB and BCD, and BCD
 * feeds BC, BD and CD. Several raw relations are separated by a space; the grouping by nothing is `()`. Queries and
 * phantoms, and the two sides of the shuffle, are not told apart: [[describe]] does.
 *
 * Attributes whose names are all different single letters stand for themselves. Otherwise attribute i is called A, B, ...
 * Z, A1, ... Z1, A2, ... by its ordinal, and [[legend]] says which is which.
 */
final class Notation(attributes: IndexedSeq[KeyAttribute]) {
  import Notation._

  private val ownNames: Boolean =
    attributes.forall(a => a.name.length == 1 && isLetter(a.name.head)) &&
      attributes.map(_.name).distinct.size == attributes.size

  /** What each attribute is called. */
  val letters: IndexedSeq[String] =
    if (ownNames) attributes.map(_.name)
    else
      attributes.indices.map { i =>
        val letter = ('A' + i % 26).toChar.toString
        if (i < 26) letter else s"$letter${i / 26}"
      }

  private val ordinals: Map[String, Int] = letters.zipWithIndex.toMap

  /** Letter and name of each attribute; empty if the attributes stand for themselves. */
  def legend: Seq[(String, String)] = if (ownNames) Nil else letters.zip(attributes.map(_.name))

  /** A single relation. */
  def render(keys: BitSet): String = if (keys.isEmpty) "()" else keys.iterator.map(letters(_)).mkString

  /** A whole configuration; siblings in the order of their attributes. */
  def render(configuration: Configuration): String =
    render(configuration.relations.map(r => (r.keys, r.parent)))

  /** A forest of groupings, each with the position of its parent or -1. */
  def render(forest: Vector[(BitSet, Int)]): String = {
    val children = forest.indices.groupBy(i => forest(i)._2)
    def siblings(parent: Int): String =
      children.getOrElse(parent, Vector.empty[Int]).sortBy(i => forest(i)._1.toVector).map { i =>
        val below = if (children.contains(i)) s"(${siblings(i)})" else ""
        render(forest(i)._1) + below
      }.mkString(" ")
    siblings(-1)
  }

  /**
   * Reads the notation.
   *
   * @return groupings in the order of the text, each with the position of its parent or -1
   * @throws IllegalArgumentException if the text is not in the notation, names an unknown attribute, or lets a relation
   *   feed one that is not coarser
   */
  def parse(text: String): Vector[(BitSet, Int)] = {
    val found = Vector.newBuilder[(BitSet, Int)]
    var count = 0
    var at = 0
    def fail(what: String): Nothing =
      throw new IllegalArgumentException(s"not a configuration: $what at position $at of '$text'")
    def peek: Char = if (at < text.length) text(at) else End
    def skipSpaces(): Unit = while (peek == ' ') at += 1

    def grouping(): BitSet =
      if (text.startsWith("()", at)) {
        at += 2
        BitSet.empty
      } else {
        var keys = BitSet.empty
        while (isLetter(peek)) {
          val start = at
          at += 1
          while (isDigit(peek)) at += 1
          val letter = text.substring(start, at)
          val attribute = ordinals.getOrElse(letter, fail(s"unknown attribute $letter"))
          if (keys(attribute)) fail(s"attribute $letter twice in one relation")
          keys += attribute
        }
        if (keys.isEmpty) fail("a relation expected")
        keys
      }

    def relations(parent: Int, above: Option[BitSet]): Unit = {
      skipSpaces()
      while (at < text.length && peek != ')') {
        val keys = grouping()
        if (above.exists(a => !keys.subsetOf(a) || keys == a)) fail(s"${render(keys)} is not coarser than its parent")
        val self = count
        found += ((keys, parent))
        count += 1
        // "()" after a relation would be an empty list of children: only a separate word is the empty grouping.
        if (peek == '(') {
          at += 1
          relations(self, Some(keys))
          if (peek != ')') fail("')' expected")
          if (count == self + 1) fail("a relation expected")
          at += 1
        }
        if (at < text.length && peek != ')' && peek != ' ') fail("a space expected")
        skipSpaces()
      }
    }

    relations(-1, None)
    if (at < text.length) fail("unexpected ')'")
    found.result()
  }

  /**
   * One line per relation, indented below its parent: grouping by the attributes' names, whether it is a query or a
   * phantom, where it is maintained, and the size of its table.
   */
  def describe(configuration: Configuration): String = {
    val relations = configuration.relations
    def line(i: Int, depth: Int): Vector[String] = {
      val r = relations(i)
      val role = if (r.isPhantom) "phantom" else s"query ${r.queries.mkString(", ")}"
      val where = r.placement match {
        case Placement.Feeds => "feeds only"
        case Placement.Shipped(_, 1) => "shipped to one shard"
        case Placement.Shipped(key, shards) => s"shipped by ${names(key)} to $shards shards"
        case Placement.Derived => "derived after the shuffle"
        case Placement.SecondTier(_, 1) => "second tier, shipped again to one shard"
        case Placement.SecondTier(key, shards) => s"second tier, shipped again by ${names(key)} to $shards shards"
      }
      val table = if (!r.isMapSide) "" else if (r.buckets == 0) ", no table" else s", ${r.buckets} buckets"
      s"${"  " * depth}${render(r.keys)} [${names(r.keys)}]: $role, $where$table" +:
        configuration.children(i).flatMap(line(_, depth + 1))
    }
    relations.indices.filter(relations(_).parent < 0).flatMap(line(_, 0)).mkString("\n")
  }

  private def names(keys: BitSet): String = keys.iterator.map(attributes(_).name).mkString(", ")
}

object Notation {
  def apply(problem: Problem): Notation = new Notation(problem.attributes)

  private val End = '\u0000'
  private def isLetter(c: Char): Boolean = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
  private def isDigit(c: Char): Boolean = c >= '0' && c <= '9'

  implicit private val byAttributes: Ordering[Vector[Int]] = Ordering.Implicits.seqOrdering[Vector, Int]
}
