package io.phantoms.spark.run

import io.phantoms.spark.model.KeyKind
import io.phantoms.spark.run.kernel.{GroupParts, HftaKernel, SortedGroups, WindowCombiner}
import io.phantoms.spark.spec.SharedSpec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types.LongType

/** The result rows of the queries that a relation answers: of its groups, or of windows that are put together from them. */
private[spark] final class ResultRows(spec: SharedSpec, kernel: HftaKernel) extends MergeOutput {
  private val strides = spec.layouts.map(_.stride).toArray

  override def of(relation: Int): Iterator[Iterator[InternalRow]] = {
    val queries = spec.queries.indices.filter(spec.queries(_).relation == relation)
    // The order that the records were put into last.
    var order: Option[(Seq[(Int, Long)], Int)] = None
    queries.iterator.map { q =>
      if (spec.queries(q).combines) {
        val (sorted, groups) = groupsOf(q, relation, order)
        order = Some(sorted)
        combined(q, relation, groups)
      } else rowsOf(q, relation)
    }
  }

  override def report(metrics: Map[String, SQLMetric]): Unit = {
    metrics("numOutputRows") += kernel.emitted
    metrics("windowMerges") += kernel.combined
    metrics("slices") += kernel.slices
    metrics("fragments") += kernel.fragments
  }

  /** The groups that a query's results are made of, and by what words they are sorted. */
  private def groupsOf(query: Int, relation: Int, order: Option[(Seq[(Int, Long)], Int)]) = {
    val layout = spec.layouts(relation)
    val fragment = spec.queries(query).fragment
    val slice = spec.queries(query).window.fold(-1)(w => layout.keyPlace(w.slice)._1)
    // Whatever signature it is of, a word of one does not tell results apart.
    val signatures =
      if (fragment.isEmpty && spec.queries(query).masked.isEmpty) Set.empty[Int]
      else layout.keys.filter(k => spec.keys(k).kind == KeyKind.Signature && spec.keys(k).dataType == LongType)
        .map(layout.keyPlace(_)._1).toSet
    val flags = (0 until layout.flagWords).map(w => w -> layout.keyMask(w)).filter(_._2 != 0)
    val keys = (layout.flagWords until layout.flagWords + layout.keyWords)
      .filterNot(w => w == slice || signatures(w)).map(_ -> -1L)
    val words = keys ++ flags
    val groups = new SortedGroups(
      kernel,
      relation,
      layout.stride,
      words.map(_._1).toArray,
      words.map(_._2).toArray,
      slice,
      fragment.fold(-1)(f => layout.keyPlace(f.signature)._1),
      fragment.fold(0)(_.bit),
      !order.contains((words, slice))
    )
    ((words, slice), groups)
  }

  private def combined(query: Int, relation: Int, groups: SortedGroups): Iterator[InternalRow] =
    spec.queries(query).window match {
      case Some(w) =>
        val windows = new WindowCombiner(kernel, relation, groups, w.range, w.slide, w.start)
        new ResultRows.WindowRows(kernel, query, windows)
      case None if spec.queries(query).masked.nonEmpty => maskedRows(query, relation, groups)
      case None =>
        val rows = new ResultRows.GroupRows(kernel, query, groups)
        if (!spec.queries(query).rowOnEmptyInput) rows
        else rows ++ Iterator(query).filterNot(_ => rows.hasGroup).flatMap(emptyRow(_, relation))
    }

  private def maskedRows(query: Int, relation: Int, groups: SortedGroups): Iterator[InternalRow] = {
    val masked = spec.queries(query).masked.get
    val parts = new GroupParts(
      kernel,
      relation,
      groups,
      masked.parts.map(p => spec.layouts(relation).keyPlace(p.signature)._1).toArray,
      masked.parts.map(_.bit).toArray
    )
    new MaskedRows(kernel, spec.valuesOf(query), masked, parts, spec.queries(query).rowOnEmptyInput)
  }

  private def emptyRow(query: Int, relation: Int): Iterator[InternalRow] = {
    val record = new Array[Long](strides(relation))
    kernel.initialize(relation, record)
    Option(kernel.emit(query, record, 0)).iterator
  }

  private def rowsOf(query: Int, relation: Int): Iterator[InternalRow] = {
    val table = kernel.table(relation)
    if (table.size == 0 && spec.queries(query).rowOnEmptyInput) emptyRow(query, relation)
    else new ResultRows.TableRows(kernel, query, table.records, table.size, strides(relation))
  }
}

private[run] object ResultRows {

  /** Rows one after the other, of which some may not hold the query's condition. */
  abstract class Rows(kernel: HftaKernel) extends Iterator[InternalRow] {
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

  /** The rows of one query over the fragments that have its bit. */
  private final class GroupRows(kernel: HftaKernel, query: Int, groups: SortedGroups) extends Rows(kernel) {

    /** Whether there was a group, be it one that the query's condition does not let through. */
    var hasGroup = false

    override protected def advance(): Boolean = groups.advance() && {
      hasGroup = true
      made = kernel.emit(query, groups.records(), groups.from() * groups.stride)
      true
    }
  }
}
