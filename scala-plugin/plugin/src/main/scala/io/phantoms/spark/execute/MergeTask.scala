package io.phantoms.spark.execute

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeAndComment, CodeGenerator}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.unsafe.Platform

/** What one reduce task of [[SharedMergeExec]] does. Serialized to executors, so it holds no plan. */
final class MergeTask(
    spec: SharedSpec,
    source: CodeAndComment,
    references: Array[Any],
    metrics: Map[String, SQLMetric]
) extends Serializable {

  /** Result rows of every relation whose blocks are in this partition. The row is reused. */
  def run(input: Iterator[InternalRow]): Iterator[InternalRow] = {
    val (clazz, _) = CodeGenerator.compile(source)
    val kernel = clazz.generate(references).asInstanceOf[HftaKernel]
    val memory = new TaskMemory(TaskContext.get(), "the merge of spark-phantoms")
    kernel.open(memory, spec.layouts.map(_.stride).toArray)
    input.foreach(row => addBlock(kernel, row))
    val present = spec.relations.indices.filter(kernel.tables(_) != null)
    // One relation after the other, and its descendants after it: a table is freed once its rows are written.
    val rows = present.iterator.flatMap(r => subtree(kernel, r))
    new Iterator[InternalRow] {
      override def hasNext: Boolean = rows.hasNext || {
        finish(kernel, memory)
        false
      }
      override def next(): InternalRow = rows.next()
    }
  }

  private def addBlock(kernel: HftaKernel, row: InternalRow): Unit = row match {
    case u: UnsafeRow if u.getBaseObject.isInstanceOf[Array[Byte]] =>
      val offsetAndSize = u.getLong(1)
      val at = u.getBaseOffset - Platform.BYTE_ARRAY_OFFSET + (offsetAndSize >> 32)
      kernel.addBlock(u.getBaseObject.asInstanceOf[Array[Byte]], at.toInt)
    case other => kernel.addBlock(other.getBinary(1), 0)
  }

  private def subtree(kernel: HftaKernel, relation: Int): Iterator[InternalRow] = {
    val children = spec.children(relation).filter(spec.relations(_).derived)
    children.foreach(kernel.derive(relation, _))
    metrics("groups") += kernel.table(relation).size
    val own = spec.queries.indices.iterator.filter(spec.queries(_).relation == relation).flatMap(rowsOf(kernel, _))
    own ++ freed(kernel, relation) ++ children.iterator.flatMap(subtree(kernel, _))
  }

  private def freed(kernel: HftaKernel, relation: Int): Iterator[InternalRow] = new Iterator[InternalRow] {
    override def hasNext: Boolean = {
      kernel.free(relation)
      false
    }
    override def next(): InternalRow = throw new NoSuchElementException
  }

  private def rowsOf(kernel: HftaKernel, query: Int): Iterator[InternalRow] = {
    val relation = spec.queries(query).relation
    val stride = spec.layouts(relation).stride
    val table = kernel.table(relation)
    if (table.size == 0 && spec.queries(query).rowOnEmptyInput) {
      val record = new Array[Long](stride)
      kernel.initialize(relation, record)
      Option(kernel.emit(query, record, 0)).iterator
    } else new MergeTask.Rows(kernel, query, table.records, table.size, stride)
  }

  private def finish(kernel: HftaKernel, memory: TaskMemory): Unit = if (!kernel.reported) {
    metrics("received") += kernel.received
    metrics("derived") += kernel.derived
    metrics("numOutputRows") += kernel.emitted
    metrics("peakBytes") += memory.peak
    kernel.reported = true
  }
}

object MergeTask {

  /** The rows of one query over a complete table. */
  private final class Rows(kernel: HftaKernel, query: Int, records: Array[Long], size: Int, stride: Int)
      extends Iterator[InternalRow] {
    private var i = 0
    private var row: UnsafeRow = _

    override def hasNext: Boolean = {
      while (row == null && i < size) {
        row = kernel.emit(query, records, i * stride)
        i += 1
      }
      row != null
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException("no more rows")
      val result = row
      row = null
      kernel.emitted += 1
      result
    }
  }
}
