package io.phantoms.spark.search.trees

import scala.collection.immutable.BitSet

/**
 * A range condition `low <= a <= high` on an attribute.
 *
 * Values are order-preserving 64-bit codes. NULL has the code [[RangeCondition.Null]], which no range holds.
 *
 * @param attribute ordinal of the attribute
 */
final case class RangeCondition(attribute: Int, low: Long, high: Long) {
  require(attribute >= 0, s"attribute $attribute")
  require(low <= high && low >= RangeCondition.Lowest, s"range $low to $high")

  def accepts(value: Long): Boolean = low <= value && value <= high

  def contains(that: RangeCondition): Boolean = low <= that.low && that.high <= high
}

object RangeCondition {

  /** The code of NULL. */
  val Null: Long = Long.MinValue

  /** The bound of a range that is open below; `Long.MaxValue` opens it above. */
  val Lowest: Long = Long.MinValue + 1
}

/**
 * A conjunction of range conditions: a box, open in the attributes it does not name (aggregate trees, section 4.1).
 *
 * @param conditions by attribute, at most one each
 */
final case class Box(conditions: Vector[RangeCondition]) {
  require(
    conditions.iterator.sliding(2).withPartial(false).forall(c => c.head.attribute < c.last.attribute),
    "conditions of a box are ordered by attribute, one each"
  )

  def attributes: BitSet = BitSet.fromSpecific(conditions.map(_.attribute))

  /** @param value the tuple: the value of each attribute */
  def accepts(value: Int => Long): Boolean = conditions.forall(c => c.accepts(value(c.attribute)))

  def condition(attribute: Int): Option[RangeCondition] = conditions.find(_.attribute == attribute)

  /** Whether every tuple of `that` is one of this box. */
  def contains(that: Box): Boolean =
    conditions.forall(c => that.condition(c.attribute).exists(c.contains))

  /** The union of the patent: the smallest box that contains both. An attribute open in one of them is open in it. */
  def hull(that: Box): Box = Box(conditions.flatMap { c =>
    that.condition(c.attribute).map(d => c.copy(low = math.min(c.low, d.low), high = math.max(c.high, d.high)))
  })

  /** Tuples of both boxes; None if there are none. */
  def intersect(that: Box): Option[Box] = {
    val both = (conditions ++ that.conditions).groupBy(_.attribute).toVector.sortBy(_._1).map { case (a, cs) =>
      (a, cs.map(_.low).max, cs.map(_.high).min)
    }
    Option.when(both.forall { case (_, low, high) => low <= high })(Box.of(both: _*))
  }

  override lazy val hashCode: Int = conditions.hashCode
}

object Box {

  /** The box of all tuples. */
  val All: Box = Box(Vector.empty)

  /** @param ranges attribute, lowest and highest value; each attribute once */
  def of(ranges: (Int, Long, Long)*): Box =
    Box(ranges.map((RangeCondition.apply _).tupled).sortBy(_.attribute).toVector)
}

/**
 * A filter in disjunctive normal form: a tuple passes if one of the boxes holds it (aggregate trees, section 4.3).
 *
 * @param boxes none inside another, in a fixed order; none at all: nothing passes
 */
final class Filter private (val boxes: Vector[Box]) {

  def attributes: BitSet = boxes.foldLeft(BitSet.empty)(_ | _.attributes)

  /** The patent's T: every tuple passes. */
  def isAll: Boolean = boxes.exists(_.conditions.isEmpty)

  def accepts(value: Int => Long): Boolean = boxes.exists(_.accepts(value))

  /**
   * Whether each box of `that` lies in one box of this filter: enough for every tuple that passes `that` to pass this,
   * not necessary when only several boxes together hold one.
   */
  def contains(that: Filter): Boolean = that.boxes.forall(b => boxes.exists(_.contains(b)))

  override def equals(that: Any): Boolean = that match {
    case f: Filter => hashCode == f.hashCode && boxes == f.boxes
    case _ => false
  }

  override lazy val hashCode: Int = boxes.hashCode

  override def toString: String = boxes.mkString("Filter(", " or ", ")")
}

object Filter {

  /** The patent's T. */
  val All: Filter = new Filter(Vector(Box.All))

  val Nothing: Filter = new Filter(Vector.empty)

  /** The disjunction of boxes; those inside another are left out. */
  def apply(boxes: Iterable[Box]): Filter = {
    val different = boxes.toVector.distinct
    new Filter(
      different.filterNot(b => different.exists(other => other != b && other.contains(b)))
        .sortBy(_.conditions.map(c => (c.attribute, c.low, c.high)))
    )
  }

  /** A conjunction of ranges: attribute, lowest and highest value. */
  def range(ranges: (Int, Long, Long)*): Filter = Filter(Seq(Box.of(ranges: _*)))

  implicit private val byConditions: Ordering[Vector[(Int, Long, Long)]] =
    Ordering.Implicits.seqOrdering[Vector, (Int, Long, Long)]
}
