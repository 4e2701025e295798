package io.phantoms.spark.run.interpreted

import io.phantoms.spark.block.ByteDictionary
import io.phantoms.spark.run.generated.AggregateCode
import io.phantoms.spark.spec.{AggregateSpec, SharedSpec}

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

/**
 * Runs aggregate functions on records by evaluating each function's own expressions: what [[AggregateCode]] writes as
 * Java text, done.
 *
 * @param inputs how many values the functions' inputs are numbered among; 0 where nothing is updated from input rows
 */
private[interpreted] final class InterpretedAggregates(spec: SharedSpec, inputs: Int) {
  import InterpretedAggregates.prepare

  private final class Function(a: Int) {
    private val AggregateSpec(function, condition) = spec.aggregates(a)
    private val buffers = spec.aggregates(a).buffers.zipWithIndex
    private val own = buffers.map { case (b, i) => b -> (inputs + i) }
    private val both = buffers ++ function.inputAggBufferAttributes.zipWithIndex
      .map { case (b, i) => b -> (buffers.size + i) }

    val first: Int = spec.firstSlot(a)
    val size: Int = buffers.size
    val initial: Array[Expression] = prepare(function.initialValues)
    lazy val update: Array[Expression] = prepare(function.updateExpressions.map(AggregateCode.bind(_, own)))
    lazy val filter: Option[Expression] = prepare(condition.toSeq).headOption
    val merge: Array[Expression] = prepare(function.mergeExpressions.map(AggregateCode.bind(_, both)))
    val results = new Array[Any](size)
    val pair = new Array[Any](2 * size)
    val pairRow = new GenericInternalRow(pair)

    /** All new values before any is stored: expressions see the old ones. */
    def evaluate(expressions: Array[Expression], row: InternalRow): Unit = {
      var i = 0
      while (i < size) {
        results(i) = expressions(i).eval(row)
        i += 1
      }
    }
  }

  private val functions = spec.aggregates.indices.map(new Function(_)).toArray
  private val isObject = spec.aggregates.indices.map(spec.isObject).toArray

  /** The values that functions are updated from: inputs by ordinal, then room for the buffers of one function. */
  val values = new Array[Any](inputs + spec.aggregates.map(_.buffers.size).foldLeft(0)(math.max))
  private val row = new GenericInternalRow(values)

  /** Sets the buffers of a record to the initial values. */
  def initialize(record: RecordAccess, t: Array[Long], o: Int, dictionary: ByteDictionary): Unit =
    record.layout.aggregates.foreach { a =>
      val f = functions(a)
      f.evaluate(f.initial, InternalRow.empty)
      var i = 0
      while (i < f.size) {
        record.storeSlot(f.first + i, t, o, f.results(i), null, dictionary)
        i += 1
      }
    }

  /** Updates a record from the inputs in [[values]]. */
  def update(record: RecordAccess, t: Array[Long], o: Int, dictionary: ByteDictionary): Unit =
    record.layout.aggregates.foreach { a =>
      val f = functions(a)
      if (f.filter.isEmpty || f.filter.get.eval(row) == true) {
        var i = 0
        while (i < f.size) {
          values(inputs + i) = record.slot(f.first + i, t, o, dictionary)
          i += 1
        }
        f.evaluate(f.update, row)
        i = 0
        while (i < f.size) {
          record.storeSlot(f.first + i, t, o, f.results(i), values(inputs + i), dictionary)
          i += 1
        }
      }
    }

  /** Merges the buffers of a record of `from` (the same or a finer relation) into a record. */
  def merge(
      record: RecordAccess,
      t: Array[Long],
      o: Int,
      from: RecordAccess,
      s: Array[Long],
      b: Int,
      dictionary: ByteDictionary
  ): Unit = record.layout.aggregates.foreach(mergeOne(_, record, t, o, from, s, b, dictionary))

  /** Merges what results are put together from: objects are none of it, and a copy's are those of another record. */
  def combine(record: RecordAccess, t: Array[Long], o: Int, s: Array[Long], b: Int, dictionary: ByteDictionary): Unit =
    record.layout.aggregates.foreach(a => if (!isObject(a)) mergeOne(a, record, t, o, record, s, b, dictionary))

  private def mergeOne(
      a: Int,
      record: RecordAccess,
      t: Array[Long],
      o: Int,
      from: RecordAccess,
      s: Array[Long],
      b: Int,
      dictionary: ByteDictionary
  ): Unit = {
    val f = functions(a)
    var i = 0
    while (i < f.size) {
      f.pair(i) = record.slot(f.first + i, t, o, dictionary)
      f.pair(f.size + i) = from.slot(f.first + i, s, b, dictionary)
      i += 1
    }
    f.evaluate(f.merge, f.pairRow)
    i = 0
    while (i < f.size) {
      record.storeSlot(f.first + i, t, o, f.results(i), f.pair(i), dictionary)
      i += 1
    }
  }
}

private[interpreted] object InterpretedAggregates {

  /** Expressions ready to be evaluated in this task: state is not shared with other tasks of the process. */
  def prepare(expressions: Seq[Expression]): Array[Expression] = {
    val own = expressions.map(_.freshCopyIfContainsStatefulExpression())
    own.foreach(_.foreach {
      case n: Nondeterministic => n.initialize(TaskContext.getPartitionId())
      case _ =>
    })
    own.toArray
  }

  /** Writes rows, likewise. */
  def projection(expressions: Seq[Expression]): UnsafeProjection = {
    val made = InterpretedUnsafeProjection.createProjection(expressions)
    made.initialize(TaskContext.getPartitionId())
    made
  }
}
