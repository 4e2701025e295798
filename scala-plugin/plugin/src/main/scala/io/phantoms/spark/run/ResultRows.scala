package io.phantoms.spark.run

import io.phantoms.spark.run.kernel.HftaKernel
import io.phantoms.spark.spec.SharedSpec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.metric.SQLMetric

/** The result rows of the queries that a relation answers. */
private[spark] final class ResultRows(spec: SharedSpec, kernel: HftaKernel) extends MergeOutput {
  private val strides = spec.layouts.map(_.stride).toArray

  override def of(relation: Int): Iterator[Iterator[InternalRow]] =
    spec.queries.indices.iterator.filter(spec.queries(_).relation == relation).map(rowsOf(_, relation))

  override def report(metrics: Map[String, SQLMetric]): Unit = metrics("numOutputRows") += kernel.emitted

  private def rowsOf(query: Int, relation: Int): Iterator[InternalRow] = {
    val table = kernel.table(relation)
    if (table.size == 0 && spec.queries(query).rowOnEmptyInput) {
      val record = new Array[Long](strides(relation))
      kernel.initialize(relation, record)
      Option(kernel.emit(query, record, 0)).iterator
    } else new ResultRows.TableRows(kernel, query, table.records, table.size, strides(relation))
  }
}

private object ResultRows {

  /** The rows of one query over a complete table. */
  private final class TableRows(kernel: HftaKernel, query: Int, records: Array[Long], size: Int, stride: Int)
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
