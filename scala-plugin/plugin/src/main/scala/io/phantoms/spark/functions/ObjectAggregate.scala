package io.phantoms.spark.functions

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.aggregate.ScalaAggregator
import org.apache.spark.sql.types._

/**
 * One of Spark's functions that is a program and keeps its state in an object of any class: percentiles, sets, sketches, the
 * user's own Aggregators. A record holds the id of a [[GroupObject]] in one word; the expressions below hand that to the
 * program, which changes it. Where a record leaves its task, or is merged into another one, the object goes as the bytes that
 * the program itself writes: those cross shuffles and lie in spill files, and no two groups ever hold the same object.
 */
final case class ObjectAggregate(plain: TypedImperativeAggregate[_]) extends DeclarativeAggregate {

  /** What programs ask for once, before any row, stays with them. */
  private def inputs: Seq[Expression] = plain.children.filterNot(_.foldable)

  /** What runs, over a row of the inputs. */
  @transient lazy val program: TypedImperativeAggregate[_] = {
    val ordinals = Iterator.from(0)
    plain.withNewChildren(plain.children.map { c =>
      if (c.foldable) c else BoundReference(ordinals.next(), c.dataType, nullable = true)
    }).asInstanceOf[TypedImperativeAggregate[_]]
  }

  private lazy val state: AttributeReference =
    AttributeReference("state", FieldType.ObjectField.dataType, nullable = false)()

  override def children: Seq[Expression] = plain.children
  override def dataType: DataType = plain.dataType
  override def nullable: Boolean = plain.nullable
  override def prettyName: String = plain.prettyName

  override lazy val aggBufferAttributes: Seq[AttributeReference] = Seq(state)
  override lazy val initialValues: Seq[Expression] = Seq(Literal(null, FieldType.ObjectField.dataType))
  override lazy val updateExpressions: Seq[Expression] = Seq(ObjectUpdate(state, inputs))
  override lazy val mergeExpressions: Seq[Expression] = Seq(ObjectMerge(state.left, state.right))
  override lazy val evaluateExpression: Expression = ObjectResult(state, dataType, nullable)

  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): ObjectAggregate =
    copy(plain.withNewChildren(children).asInstanceOf[TypedImperativeAggregate[_]])
}

object ObjectAggregate {

  /** Most words that a group of all its functions is expected to be written as. */
  val MostWords = 8192

  /** Whether the function's state is an object that may be written, read and merged in any order. */
  def is(function: AggregateFunction): Boolean = function match {
    case _: ObjectAggregate => true
    case other => isExact(other) || isApproximate(other) || isUsers(other)
  }

  /** Functions whose result is one and the same in whatever order rows are added and states merged. */
  def isExact(function: AggregateFunction): Boolean = function match {
    case _: Percentile | _: PercentileDisc | _: CountMinSketchAgg | _: CollectSet => true
    case o: ObjectAggregate => isExact(o.plain)
    case _ => false
  }

  /** Sketches of which what is left out depends on the order of rows and merges, in plain Spark as here. */
  def isApproximate(function: AggregateFunction): Boolean = function match {
    case _: ApproximatePercentile | _: HllSketchAgg | _: HllUnionAgg | _: ThetaSketchAgg | _: ThetaUnionAgg => true
    case o: ObjectAggregate => isApproximate(o.plain)
    case _ => false
  }

  /** The user's own: an Aggregator keeps its word that it merges in any order. */
  def isUsers(function: AggregateFunction): Boolean = function match {
    case _: ScalaAggregator[_, _, _] => true
    case o: ObjectAggregate => isUsers(o.plain)
    case _ => false
  }

  /** Whether its program may fail on a row, whose values are all there: it may not see one that plain Spark does not show it. */
  def mayRefuse(function: AggregateFunction): Boolean = function match {
    case p: Percentile => !p.frequencyExpression.foldable
    case _: HllUnionAgg | _: ThetaUnionAgg => true
    case o: ObjectAggregate => mayRefuse(o.plain)
    case other => isUsers(other)
  }

  /** Words that a group of all such functions among these is expected to be written as. */
  def sum(functions: Seq[AggregateFunction]): Int =
    math.min(Int.MaxValue / 2, functions.filter(is).map(words).sum).toInt

  /** What is wrong with these functions, as a sentence, if a group of all of them takes too much. */
  def tooWide(functions: Seq[AggregateFunction]): Option[String] = {
    val found = sum(functions)
    Option.when(found > MostWords)(
      s"${functions.filter(is).map(_.prettyName).distinct.mkString(", ")}: about $found words for each group, more than the " +
        s"$MostWords that are shared"
    )
  }

  private def words(function: AggregateFunction): Long = function match {
    case o: ObjectAggregate => words(o.plain)
    // As many counters as it asks for, whatever it counts.
    case c: CountMinSketchAgg =>
      val (error, confidence) = (number(c.epsExpression), number(c.confidenceExpression))
      (math.ceil(2 / error) * math.ceil(-math.log1p(-confidence) / math.log(2))).toLong
    case _ => Typical
  }

  /** Of a few dozen different values: how many there are is not known before. */
  private val Typical = 128L

  private def number(e: Expression): Double = e.eval() match {
    case n: Number => n.doubleValue
    case d: Decimal => d.toDouble
    case _ => 1.0
  }

  /** Values that take no more than a few words. */
  private[functions] def isNarrow(t: DataType): Boolean = t match {
    case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType | NullType => true
    case _: YearMonthIntervalType | _: DayTimeIntervalType | _: TimeType => true
    case _ => false
  }
}
