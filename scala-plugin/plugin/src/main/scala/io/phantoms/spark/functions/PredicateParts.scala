package io.phantoms.spark.functions

import io.phantoms.spark.fragments.{PredicateIndex, Signature}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Predicates taken apart for evaluation together. What several of them compare with constants is looked up once a row in
 * a [[PredicateIndex]]; the rest is evaluated one by one, where what was looked up leaves it open.
 *
 * Spark's filter evaluates the parts of a predicate in their order until one is not TRUE, and an error is raised for the
 * same rows here: a part that may fail is evaluated where all before it are TRUE, whatever those behind it are.
 *
 * @param early looked up for every row
 * @param late looked up where one of the predicates that ask is still open
 * @param after what cannot fail itself and stands behind that, looked up for every row
 * @param rest parts of single predicates, in the order of these
 */
private[functions] final case class PredicateParts(
    early: Seq[PredicateParts.Lookup],
    late: Seq[PredicateParts.LateLookup],
    after: Seq[PredicateParts.Lookup],
    rest: Seq[PredicateParts.Rest]
)

private[functions] object PredicateParts {

  /** An expression and the comparisons with it; what a value says of them takes long to write down. */
  final class Lookup(val subject: Expression, made: => PredicateIndex) {
    lazy val index: PredicateIndex = made
  }

  /** @param asking a bit for each predicate that compares the subject */
  final case class LateLookup(lookup: Lookup, asking: Array[Long])

  /** @param parts each is evaluated if those before it are TRUE */
  final case class Rest(predicate: Int, parts: Seq[Expression])

  /** Whether a predicate is TRUE, as Spark's filter finds out. */
  def isTrue(predicate: Expression, row: InternalRow): Boolean =
    FilterOrder.parts(predicate).forall(_.eval(row) == true)

  /** A part of a predicate over one expression and constants only. */
  private final case class Comparison(predicate: Int, subject: Expression, condition: Expression)

  def apply(predicates: Seq[Expression]): PredicateParts = {
    val found = predicates.zipWithIndex.map { case (p, j) => taken(p, j) }
    def lookups(of: Seq[Comparison]): Seq[Lookup] = bySubject(of).map(lookup(_, predicates.size))
    PredicateParts(
      lookups(found.flatMap(_.early)),
      bySubject(found.flatMap(_.late)).map { cs =>
        val asking = new Array[Long](Signature.words(predicates.size))
        cs.foreach(c => asking(c.predicate >>> 6) |= 1L << c.predicate)
        LateLookup(lookup(cs, predicates.size), asking)
      },
      lookups(found.flatMap(_.after)),
      found.flatMap(_.rest)
    )
  }

  private final case class Taken(
      early: Seq[Comparison],
      late: Option[Comparison],
      after: Seq[Comparison],
      rest: Option[Rest]
  )

  private def taken(predicate: Expression, ordinal: Int): Taken = {
    def comparison(e: Expression): Option[Comparison] = subjectOf(e).map(Comparison(ordinal, _, e))
    val parts = FilterOrder.parts(predicate).filterNot(_ == Literal.TrueLiteral)
    val (sure, failing) = parts.span(!ExpressionCost.canFail(_))
    val (early, other) = sure.partitionMap(e => comparison(e).toLeft(e))
    val late = failing.headOption.flatMap(comparison)
    val after = failing.drop(1).flatMap(e => comparison(e).filterNot(_ => ExpressionCost.canFail(e)))
    if (other.isEmpty && late.size + after.size == failing.size) Taken(early, late, after, None)
    else Taken(early, None, Nil, Some(Rest(ordinal, other ++ failing)))
  }

  /** Of values that are neither integers nor floating: texts by their bytes, decimals. */
  private object order extends java.util.Comparator[Any] with Serializable {
    override def compare(a: Any, b: Any): Int = (a, b) match {
      case (x: UTF8String, y: UTF8String) => x.binaryCompare(y)
      case (x: Decimal, y: Decimal) => x.compare(y)
      case _ => throw new IllegalArgumentException(s"$a is not compared with $b")
    }
  }

  private def bySubject(comparisons: Seq[Comparison]): Seq[Seq[Comparison]] =
    comparisons.map(_.subject.canonicalized).distinct.map { s =>
      comparisons.filter(_.subject.canonicalized == s)
    }

  /** What a condition compares with constants, if it does nothing else. */
  private def subjectOf(condition: Expression): Option[Expression] = {
    val found = subjects(condition)
    found.filter(s => s.nonEmpty && s.forall(_.semanticEquals(s.head)) && isIndexed(s.head.dataType)).map(_.head)
  }

  private def subjects(condition: Expression): Option[Seq[Expression]] = condition match {
    case And(a, b) => both(a, b)
    case Or(a, b) => both(a, b)
    case Not(e) => subjects(e)
    case c @ (_: EqualTo | _: EqualNullSafe | _: LessThan | _: LessThanOrEqual | _: GreaterThan | _: GreaterThanOrEqual) =>
      sides(c.asInstanceOf[BinaryComparison]).map { case (subject, _) => Seq(subject) }
    case In(e, list) if list.forall(isConstant(_, e.dataType)) => Some(Seq(e))
    // A set tells zeros of both signs apart, which are one value elsewhere.
    case InSet(e, set) if !set.contains(null) && !isFloating(e.dataType) => Some(Seq(e))
    case IsNull(e) => Some(Seq(e))
    case IsNotNull(e) => Some(Seq(e))
    case a @ (_: Attribute | _: BoundReference) if a.dataType == BooleanType => Some(Seq(a))
    case _ => None
  }

  private def both(a: Expression, b: Expression): Option[Seq[Expression]] =
    for { x <- subjects(a); y <- subjects(b) } yield x ++ y

  private def isConstant(e: Expression, of: DataType): Boolean = e match {
    case Literal(value, t) => value != null && t == of
    case _ => false
  }

  /** The compared expression and the constant. */
  private def sides(c: BinaryComparison): Option[(Expression, Literal)] = (c.left, c.right) match {
    case (e, l: Literal) if !e.foldable && isConstant(l, e.dataType) => Some((e, l))
    case (l: Literal, e) if !e.foldable && isConstant(l, e.dataType) => Some((e, l))
    case _ => None
  }

  private def isIndexed(t: DataType): Boolean =
    isIntegral(t) || isFloating(t) || t.isInstanceOf[DecimalType] ||
      (t.isInstanceOf[StringType] && UnsafeRowUtils.isBinaryStable(t))

  def isFloating(t: DataType): Boolean = t == DoubleType || t == FloatType

  def isIntegral(t: DataType): Boolean = t match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType =>
      true
    case _: YearMonthIntervalType | _: DayTimeIntervalType | _: TimeType => true
    case _ => false
  }

  /** A value in the order of its type; values that are equal in SQL are equal. */
  private def ordered(value: Any): Any = value match {
    case b: Boolean => if (b) 1L else 0L
    case b: Byte => b.toLong
    case s: Short => s.toLong
    case i: Int => i.toLong
    case f: Float => f.toDouble + 0.0
    case d: Double => d + 0.0
    case other => other
  }

  private def lookup(comparisons: Seq[Comparison], predicates: Int): Lookup = {
    val subject = comparisons.head.subject
    new Lookup(subject, index(subject, comparisons, predicates))
  }

  private def index(subject: Expression, comparisons: Seq[Comparison], predicates: Int): PredicateIndex = {
    val found = comparisons.flatMap(c => constantsOf(c.condition)).map(ordered).distinctBy {
      // Two decimals of different scales may be equal, and NaN is equal to itself.
      case d: Decimal => d.toJavaBigDecimal.stripTrailingZeros
      case d: Double => java.lang.Double.doubleToLongBits(d)
      case other => other
    }
    val constants: Array[Any] = subject.dataType match {
      case t if isIntegral(t) => found.map(_.asInstanceOf[Long]).sorted.toArray[Any]
      case t if isFloating(t) =>
        found.map(_.asInstanceOf[Double]).sorted(Ordering.Double.TotalOrdering).toArray[Any]
      case _ => found.toArray[Any].sortWith((a, b) => order.compare(a, b) < 0)
    }
    val ofNull = 2 * constants.length + 1
    def placeOf(constant: Any): Int = 2 * constants.indexWhere(same(_, ordered(constant))) + 1
    val words = Signature.words(predicates)
    val all = Array.fill(words)(-1L)
    val holds = Array.fill(ofNull + 1)(all.clone())
    comparisons.foreach { c =>
      val truth = truthOf(c.condition, placeOf)
      val (word, clear) = (c.predicate >>> 6, ~(1L << c.predicate))
      (0 to ofNull).foreach { position =>
        if (!truth(if (position == ofNull) None else Some(position)).contains(true)) holds(position)(word) &= clear
      }
    }
    val typed: Object =
      if (isIntegral(subject.dataType)) constants.map(_.asInstanceOf[Long])
      else if (isFloating(subject.dataType)) constants.map(_.asInstanceOf[Double])
      else constants.map(_.asInstanceOf[Object])
    new PredicateIndex(typed, order, holds)
  }

  private def same(a: Any, b: Any): Boolean = (a, b) match {
    case (x: Double, y: Double) => java.lang.Double.compare(x, y) == 0
    case (x: Decimal, y: Decimal) => x.compare(y) == 0
    case _ => a == b
  }

  private def constantsOf(condition: Expression): Seq[Any] = condition match {
    case And(a, b) => constantsOf(a) ++ constantsOf(b)
    case Or(a, b) => constantsOf(a) ++ constantsOf(b)
    case Not(e) => constantsOf(e)
    case c: BinaryComparison => sides(c).map(_._2.value).toSeq
    case In(_, list) => list.map(_.asInstanceOf[Literal].value)
    case InSet(_, set) => set.toSeq
    case IsNull(_) | IsNotNull(_) => Nil
    case _ => Seq(true)
  }

  /** TRUE, FALSE or NULL (None) of a value at this position; None: that of NULL. */
  private type Truth = Option[Int] => Option[Boolean]

  private def truthOf(condition: Expression, placeOf: Any => Int): Truth = condition match {
    case And(a, b) => connected(truthOf(a, placeOf), truthOf(b, placeOf), decisive = false)
    case Or(a, b) => connected(truthOf(a, placeOf), truthOf(b, placeOf), decisive = true)
    case Not(e) =>
      val truth = truthOf(e, placeOf)
      truth(_).map(!_)
    case c: BinaryComparison =>
      val (subject, literal) = sides(c).get
      val place = placeOf(literal.value)
      val isLeft = c.left.semanticEquals(subject)
      def compared(test: Int => Boolean): Truth = _.map { p =>
        val order = Integer.compare(p, place)
        test(if (isLeft) order else -order)
      }
      c match {
        case _: EqualNullSafe =>
          val equal = compared(_ == 0)
          p => equal(p).orElse(Some(false))
        case _: EqualTo => compared(_ == 0)
        case _: LessThan => compared(_ < 0)
        case _: LessThanOrEqual => compared(_ <= 0)
        case _: GreaterThan => compared(_ > 0)
        case _ => compared(_ >= 0)
      }
    case In(_, list) => isOneOf(list.map(l => placeOf(l.asInstanceOf[Literal].value)).toSet)
    case InSet(_, set) => isOneOf(set.map(placeOf))
    case IsNull(_) => p => Some(p.isEmpty)
    case IsNotNull(_) => p => Some(p.isDefined)
    case _ => isOneOf(Set(placeOf(true)))
  }

  private def isOneOf(places: Set[Int]): Truth = _.map(places.contains)

  /** @param decisive the value that settles it, whatever the other one is */
  private def connected(a: Truth, b: Truth, decisive: Boolean): Truth = { p =>
    val (x, y) = (a(p), b(p))
    if (x.contains(decisive) || y.contains(decisive)) Some(decisive)
    else if (x.isEmpty || y.isEmpty) None
    else Some(!decisive)
  }
}
