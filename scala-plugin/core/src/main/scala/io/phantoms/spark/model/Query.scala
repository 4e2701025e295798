package io.phantoms.spark.model

import scala.collection.immutable.BitSet

/** What a key column of a relation tells apart. */
sealed trait KeyKind

object KeyKind {

  /** A column that queries group by. */
  case object Grouping extends KeyKind

  /** The slice of time that a row falls into: what windows are put together from. */
  case object Slice extends KeyKind

  /** Which predicates a row satisfies. */
  case object Signature extends KeyKind
}

/**
 * An attribute that relations group by, as the chooser sees it.
 *
 * @param name what the notation and explanations call it
 * @param bits width of one value in a table entry, in bits (a dictionary id for strings)
 */
final case class KeyAttribute(name: String, bits: Int, kind: KeyKind = KeyKind.Grouping)

/**
 * States of functions that are more than a number: arrays of words, and objects of a class of the function's own. They are
 * merged word by word.
 *
 * @param words of the arrays
 * @param objectWords words that the objects of a group of many rows are expected to be written as
 * @param objects how many objects a group has
 * @param update nanoseconds to add a row to all of them
 */
final case class Sketches(words: Int = 0, objectWords: Int = 0, objects: Int = 0, update: Double = 0.0) {

  def isEmpty: Boolean = words == 0 && objects == 0

  /** Words of the objects of a group of so many rows: empty at first, they grow with their rows. */
  def objectWordsOf(rows: Double): Int = math.min(objectWords.toDouble, objects * math.ceil(math.max(1.0, rows))).toInt
}

object Sketches {
  val None: Sketches = Sketches()
}

/**
 * What one query of a workload asks for.
 *
 * @param keys its grouping, ordinals into the workload's attributes
 * @param window None: all rows at once
 * @param predicate ordinal of its predicate; None: all rows
 * @param fragment the attribute that holds its signature, and its bit of that; None: all rows, or a predicate of its own
 * @param masks different parts of a group that its results tell apart
 * @param consumer which operator of the plan gets its results; each merges for itself what was shipped
 * @param repeated whether it is another consumer's too, so that plain Spark computes it once for both
 * @param sketches what its functions keep in each of its groups beside numbers
 * @param plainTimes how many groupings of plain Spark it stands for
 */
final case class Query(
    keys: BitSet,
    window: Option[PeriodicWindow] = None,
    predicate: Option[Int] = None,
    fragment: Option[(Int, Int)] = None,
    masks: Int = 0,
    consumer: Int = 0,
    repeated: Boolean = false,
    sketches: Sketches = Sketches.None,
    plainTimes: Int = 1
) {

  /** Whether it is a grouping of all rows, and nothing else. */
  def isPlain: Boolean = window.isEmpty && predicate.isEmpty

  /** In how many of its windows a row is, on average. */
  def copies: Double = window.fold(1.0)(w => w.range.toDouble / w.slide)
}
