package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.expressions.{Expression, RowOrdering}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.util.{CollationFactory, UnsafeRowUtils}
import org.apache.spark.sql.types._

/**
 * What there is to know of an aggregate function before it can be computed from finer aggregates. One that is not in
 * [[SharedFunction.all]] is left to Spark; one is added by an entry there and nothing else: how its buffer lies in a record
 * follows from the types of its fields ([[FieldType.ofBuffer]]), and update, merge and result are its own expressions, or
 * those of what runs it ([[WordsAggregate]], [[ObjectAggregate]]).
 */
sealed trait SharedFunction {

  /** Whether this is about that function. */
  def is(function: AggregateFunction): Boolean

  /** The first input whose type is not accepted. */
  def refused(function: AggregateFunction): Option[Expression] = None

  /** What else is wrong with it, as a sentence. */
  def unsuited(function: AggregateFunction): Option[String] = None

  /** An argument that Spark evaluates for some rows only, which ones depending on their order. */
  def sometimesEvaluated(function: AggregateFunction): Option[Expression] = None

  /** Whether floats are added up, so that the last digits of a result depend on the order of rows. */
  def addsFloats(function: AggregateFunction): Boolean = false

  /** Whether the result is the same, to the bit, in whatever order rows are added and buffers merged. */
  def isExact(function: AggregateFunction): Boolean

  /** Whether what the result leaves out depends on the order of rows and merges, in plain Spark too. */
  def isApproximate(function: AggregateFunction): Boolean = false

  /** The function to run in its place. */
  def executed(function: AggregateFunction): DeclarativeAggregate = SharedFunction.declarative(function)
}

object SharedFunction {
  import InputTypes._

  val all: Seq[SharedFunction] = Seq(Counts, Sums, Averages, Extremes, ExtremesBy, Bits, Moments, Words, Objects)

  def of(function: AggregateFunction): Option[SharedFunction] = all.find(_.is(function))

  private[functions] def declarative(function: AggregateFunction): DeclarativeAggregate = function match {
    case d: DeclarativeAggregate => d
    case other => throw new IllegalStateException(s"${other.prettyName} is not made of expressions")
  }

  /**
   * Functions whose result is the order of rows, or one of them by their order. So are those that divide by a second moment
   * unless it is zero: where all values are equal it is zero or what rounding leaves, as rows come, and the result NULL, a
   * number or an error.
   */
  def isOrderDependent(function: AggregateFunction): Boolean = function match {
    case _: First | _: Last | _: CollectList | _: ListAgg | _: AnyValue => true
    case _: Skewness | _: Kurtosis | _: PearsonCorrelation | _: RegrSlope | _: RegrIntercept => true
    case _ => false
  }

  /** Functions whose result is a set, as an array that has its elements in any order. */
  def isUnordered(function: AggregateFunction): Boolean = function.isInstanceOf[CollectSet]

  private case object Counts extends SharedFunction {
    def is(f: AggregateFunction): Boolean = f.isInstanceOf[Count]
    def isExact(f: AggregateFunction): Boolean = true
  }

  /** What adds its one input up. */
  private sealed trait Additions extends SharedFunction {
    override def refused(f: AggregateFunction): Option[Expression] = f.children.find(c => !isSummable(c.dataType))
    override def addsFloats(f: AggregateFunction): Boolean = f.children.exists(c => isFloating(c.dataType))
    def isExact(f: AggregateFunction): Boolean =
      f.isInstanceOf[WideTotal] || f.children.forall(c => isExactOver(c.dataType))
    override def executed(f: AggregateFunction): DeclarativeAggregate = WideTotal(SharedFunction.declarative(f))

    /** Of Spark's own function over this type. */
    protected def isExactOver(t: DataType): Boolean
  }

  private case object Sums extends Additions {
    def is(f: AggregateFunction): Boolean = f match {
      case _: Sum | _: WideSum | _: WideDecimalSum => true
      case _ => false
    }
    protected def isExactOver(t: DataType): Boolean = addsExactly(t)
  }

  private case object Averages extends Additions {
    def is(f: AggregateFunction): Boolean = f match {
      case _: Average | _: WideIntervalAverage | _: WideDecimalAverage => true
      case _ => false
    }
    // Integers are averaged as doubles.
    protected def isExactOver(t: DataType): Boolean = t.isInstanceOf[DecimalType] && addsExactly(t)
  }

  /** Minima and maxima; those of booleans are `bool_and` and `bool_or`. */
  private case object Extremes extends SharedFunction {
    def is(f: AggregateFunction): Boolean = f.isInstanceOf[Min] || f.isInstanceOf[Max]
    override def refused(f: AggregateFunction): Option[Expression] = f.children.find(c => !isOrderedByBytes(c.dataType))
    def isExact(f: AggregateFunction): Boolean = f.children.forall(c => comparesExactly(c.dataType))
  }

  /** The value beside the largest or smallest one. Among equal ones it is any, here as in Spark. */
  private case object ExtremesBy extends SharedFunction {
    def is(f: AggregateFunction): Boolean = f.isInstanceOf[MaxBy] || f.isInstanceOf[MinBy]
    override def refused(f: AggregateFunction): Option[Expression] = f match {
      case by: MaxMinBy => Option.when(!isOrderedByBytes(by.orderingExpr.dataType))(by.orderingExpr)
      case _ => None
    }
    override def sometimesEvaluated(f: AggregateFunction): Option[Expression] = f match {
      case by: MaxMinBy => Some(by.valueExpr)
      case _ => None
    }
    def isExact(f: AggregateFunction): Boolean = false
  }

  private case object Bits extends SharedFunction {
    def is(f: AggregateFunction): Boolean = f.isInstanceOf[BitAggregate]
    def isExact(f: AggregateFunction): Boolean = true
  }

  /** Second moments, kept as doubles and merged by Chan's formulas: deviations, variances, covariances. */
  private case object Moments extends SharedFunction {
    def is(f: AggregateFunction): Boolean = f match {
      case _: StddevPop | _: StddevSamp | _: VariancePop | _: VarianceSamp | _: RegrReplacement => true
      case _: CovPopulation | _: CovSample | _: RegrSXY => true
      case _ => false
    }
    override def addsFloats(f: AggregateFunction): Boolean = true
    def isExact(f: AggregateFunction): Boolean = false
  }

  /** Approximate distinct counts: registers in words, of which the greater ones stay. */
  private case object Words extends SharedFunction {
    def is(f: AggregateFunction): Boolean = WordsAggregate.is(f)
    override def refused(f: AggregateFunction): Option[Expression] = f.children.find(c => isNested(c.dataType))
    override def unsuited(f: AggregateFunction): Option[String] = WordsAggregate.tooWide(Seq(f))
    def isExact(f: AggregateFunction): Boolean = true
    override def executed(f: AggregateFunction): DeclarativeAggregate = f match {
      case program: ImperativeAggregate => WordsAggregate(program)
      case other => super.executed(other)
    }
  }

  /** Programs whose state is an object: percentiles, sets, sketches, the user's own. */
  private case object Objects extends SharedFunction {
    def is(f: AggregateFunction): Boolean = ObjectAggregate.is(f)
    override def refused(f: AggregateFunction): Option[Expression] =
      f.children.find(c => !c.foldable && isNested(c.dataType))
    override def unsuited(f: AggregateFunction): Option[String] = ObjectAggregate.tooWide(Seq(f))
    // Zeros of either sign are different values of a percentile, and yet equal; sets know one of them.
    def isExact(f: AggregateFunction): Boolean = ObjectAggregate.isExact(f) && (f match {
      case _: PercentileBase => !f.children.exists(c => isFloating(c.dataType) && !c.foldable)
      case o: ObjectAggregate => isExact(o.plain)
      case _ => true
    })
    override def isApproximate(f: AggregateFunction): Boolean = ObjectAggregate.isApproximate(f)
    // Whatever the user's adds.
    override def addsFloats(f: AggregateFunction): Boolean = ObjectAggregate.isUsers(f)
    override def executed(f: AggregateFunction): DeclarativeAggregate = f match {
      case program: TypedImperativeAggregate[_] => ObjectAggregate(program)
      case other => super.executed(other)
    }
  }
}

/** What may be added up or compared, and how exactly. */
private[functions] object InputTypes {

  def isFloating(t: DataType): Boolean = t == FloatType || t == DoubleType

  /** Arrays of a batch's columns do not look for NULL when a program asks for an element; those of rows do. */
  def isNested(t: DataType): Boolean = t match {
    case _: StructType | _: ArrayType | _: MapType | _: UserDefinedType[_] => true
    case _ => false
  }

  def isSummable(t: DataType): Boolean = t match {
    case _: NumericType | _: YearMonthIntervalType | _: DayTimeIntervalType => true
    case _ => false
  }

  /** Types with an order in which values are equal only if they are the same (zeros and NaNs apart). */
  def isOrderedByBytes(t: DataType): Boolean = t match {
    case s: StringType => s.collationId == CollationFactory.UTF8_BINARY_COLLATION_ID
    case StructType(fields) => fields.forall(f => isOrderedByBytes(f.dataType))
    case ArrayType(element, _) => isOrderedByBytes(element)
    case _: UserDefinedType[_] => false
    case other => RowOrdering.isOrderable(other)
  }

  def addsExactly(t: DataType): Boolean = t match {
    // Ten digits more than these fit, so that no intermediate sum of mixed signs overflows before the last one does.
    case d: DecimalType => d.precision <= DecimalType.MAX_PRECISION - 10
    case ByteType | ShortType | IntegerType | LongType | _: YearMonthIntervalType | _: DayTimeIntervalType => true
    case _ => false
  }

  /** Zeros of either sign, and collated strings, are equal and yet not the same. */
  def comparesExactly(t: DataType): Boolean = t match {
    case FloatType | DoubleType | _: StructType | _: ArrayType | _: MapType => false
    case other => UnsafeRowUtils.isBinaryStable(other)
  }
}
