package io.phantoms.spark.run

import io.phantoms.spark.run.kernel.{HftaKernel, WindowCombiner}
import io.phantoms.spark.spec.SharedSpec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.metric.SQLMetric

/** The result rows of the queries that a relation answers: of its groups, or of windows that are put together from them. */
private[spark] final class ResultRows(spec: SharedSpec, kernel: HftaKernel) extends MergeOutput {
  private val strides = spec.layouts.map(_.stride).toArray

  override def of(relation: Int): Iterator[Iterator[InternalRow]] =
    spec.queries.indices.iterator.filter(spec.queries(_).relation == relation).map(rowsOf(_, relation))

  override def report(metrics: Map[String, SQLMetric]): Unit = {
    metrics("numOutputRows") += kernel.emitted
    metrics("windowMerges") += kernel.combined
  }

  private def combiner(query: Int, relation: Int): WindowCombiner = {
    val (layout, window) = (spec.layouts(relation), spec.queries(query).window.get)
    val slice = layout.keyPlace(window.slice)._1
    val flags = (0 until layout.flagWords).map(w => w -> layout.keyMask(w)).filter(_._2 != 0)
    val keys = (layout.flagWords until layout.flagWords + layout.keyWords).filter(_ != slice).map(_ -> -1L)
    val (words, masks) = (keys ++ flags).unzip
    new WindowCombiner(
      kernel,
      relation,
      layout.stride,
      words.toArray,
      masks.toArray,
      slice,
      window.range,
      window.slide,
      window.start
    )
  }

  private def rowsOf(query: Int, relation: Int): Iterator[InternalRow] = {
    val table = kernel.table(relation)
    if (spec.queries(query).window.nonEmpty) new ResultRows.WindowRows(kernel, query, combiner(query, relation))
    else if (table.size == 0 && spec.queries(query).rowOnEmptyInput) {
      val record = new Array[Long](strides(relation))
      kernel.initialize(relation, record)
      Option(kernel.emit(query, record, 0)).iterator
    } else new ResultRows.TableRows(kernel, query, table.records, table.size, strides(relation))
  }
}

private object ResultRows {

  /** Rows one after the other, of which some may not hold the query's condition. */
  private abstract class Rows(kernel: HftaKernel) extends Iterator[InternalRow] {
    private var row: UnsafeRow = _

    /** Whether there was one more; [[made]] is its row then, or null. */
    protected def advance(): Boolean
    protected var made: UnsafeRow = _

    override def hasNext: Boolean = {
      while (row == null && advance()) row = made
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

  /** The rows of one query over a complete table. */
  private final class TableRows(kernel: HftaKernel, query: Int, records: Array[Long], size: Int, stride: Int)
      extends Rows(kernel) {
    private var i = 0

    override protected def advance(): Boolean = i < size && {
      made = kernel.emit(query, records, i * stride)
      i += 1
      true
    }
  }

  /** The rows of one query over windows. */
  private final class WindowRows(kernel: HftaKernel, query: Int, windows: WindowCombiner) extends Rows(kernel) {
    override protected def advance(): Boolean = windows.advance() && {
      made = kernel.emit(query, windows.window, 0)
      true
    }
  }
}
