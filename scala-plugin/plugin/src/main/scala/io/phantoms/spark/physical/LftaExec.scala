package io.phantoms.spark.physical

import scala.reflect.ClassTag

import io.phantoms.spark.functions.SignatureWords
import io.phantoms.spark.run.{Kernels, LftaOptions, LftaTask, ObservedCounts}
import io.phantoms.spark.run.generated.InputForm
import io.phantoms.spark.spec.{RowSteps, SharedSpec}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * The low level: fixed-memory tables on the map side that turn input rows into blocks of partial groups.
 *
 * Reads batches where the child makes them, rows otherwise: from the code of the child's stage, see [[FedByStage]], or from
 * an iterator. What comes out is a function of the input rows in their order
 * and of the configuration alone, as Spark's shuffle checksum needs when a task runs again; where neither is certain,
 * [[BlockExchange]] goes without.
 *
 * @param inputs keys first, then what the aggregate functions read; over `child.output` and the values of the steps
 * @param steps what is done with a row before, see [[RowSteps]]
 * @param output reduce partition (int) and block (binary)
 */
final case class LftaExec(
    inputs: Seq[Expression],
    steps: Seq[Expression],
    spec: SharedSpec,
    output: Seq[Attribute],
    child: SparkPlan
) extends UnaryExecNode
    with FedByStage {
  override def nodeName: String = "PhantomsLfta"
  override protected def stringArgs: Iterator[Any] = Iterator(spec.notation, inputs, steps)
  override def outputPartitioning: Partitioning = UnknownPartitioning(child.outputPartitioning.numPartitions)
  override def producedAttributes: AttributeSet = AttributeSet(output)

  // With a columnar child we claim to be columnar as well: then no ColumnarToRow is put between, and since rows are
  // possible too, rows is what the exchange above asks for.
  override def supportsColumnar: Boolean = child.supportsColumnar
  override def supportsRowBased: Boolean = true
  override protected def doExecuteColumnar(): RDD[ColumnarBatch] =
    throw new UnsupportedOperationException(s"$nodeName makes rows only")

  /** What is done with a row, bound to the child's columns; what several places need is computed once. */
  def rowSteps: RowSteps = {
    val keys = spec.keys.size
    val roots = spec.mapSide.filter(spec.relations(_).parent < 0)
    val readBy = roots.map(r => spec.inputsOf(spec.relations(r).aggregates).toSet)
    def times(input: Int): Int = if (input < keys) 1 else readBy.count(_.contains(input))
    RowSteps(steps.toIndexedSeq, inputs.toIndexedSeq)
      .readingJsonOnce
      .sharingCommon(times)
      .inlined(keys, times(_) > 0)
      .bound(child.output)
      .remembering
  }

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "rows" -> SQLMetrics.createMetric(sparkContext, "input rows"),
    "dropped" -> SQLMetrics.createMetric(sparkContext, "rows that no query wants"),
    "evaluationsSaved" -> SQLMetrics.createMetric(sparkContext, "evaluations of predicates saved"),
    "probes" -> SQLMetrics.createMetric(sparkContext, "probes"),
    "hits" -> SQLMetrics.createMetric(sparkContext, "hits"),
    "collisions" -> SQLMetrics.createMetric(sparkContext, "collisions"),
    "internalEvictions" -> SQLMetrics.createMetric(sparkContext, "internal evictions"),
    "externalEvictions" -> SQLMetrics.createMetric(sparkContext, "external evictions"),
    "bypassed" -> SQLMetrics.createMetric(sparkContext, "rows and entries passed through without a table"),
    "tableBytes" -> SQLMetrics.createSizeMetric(sparkContext, "table sizes"),
    "blocks" -> SQLMetrics.createMetric(sparkContext, "blocks"),
    "blockBytes" -> SQLMetrics.createSizeMetric(sparkContext, "block bytes"),
    "bytesSaved" -> SQLMetrics.createSizeMetric(sparkContext, "bytes saved by packing")
  )

  override protected def doExecute(): RDD[InternalRow] = {
    LastExecution.running(this, spec.notation)
    val bound = rowSteps
    val columnar = child.supportsColumnar
    val makeTask = task(bound, if (columnar) InputForm.Batches else InputForm.Rows)
    def blocks[T: ClassTag](rows: RDD[T]): RDD[InternalRow] = {
      val input = atLeastOne(rows)
      val (task, batches) = (makeTask(input.getNumPartitions), columnar)
      input.mapPartitionsWithIndex((partition, part) => task.run(partition, part, batches))
    }
    if (columnar) blocks(child.executeColumnar()) else blocks(childRows())
  }

  /** What tasks do, by the number of partitions. */
  private[physical] def task(bound: RowSteps, form: InputForm): Int => LftaTask = {
    val columns = child.output.map(a => (a.dataType, a.nullable)).toIndexedSeq
    val options = LftaOptions.read(conf, sparkContext)
    val kernels = Kernels.lfta(spec, bound, columns, form, options.secondChance, Kernels.mode(conf))
    val saved = SignatureWords.evaluationsSaved(bound.steps ++ bound.inputs)
    partitions =>
      new LftaTask(
        spec,
        kernels,
        options,
        metrics,
        ObservedCounts.mapSide(spec, partitions, sparkContext),
        saved
      )
  }

  /** A global aggregate has a row even when the input has no partition at all (no file left after pruning). */
  private[physical] def atLeastOne[T: ClassTag](rdd: RDD[T]): RDD[T] =
    if (rdd.getNumPartitions == 0 && spec.queries.exists(_.rowOnEmptyInput)) {
      sparkContext.parallelize(Seq.empty[T], 1)
    } else rdd

  override protected def withNewChildInternal(newChild: SparkPlan): LftaExec = copy(child = newChild)
}
