package io.phantoms.spark.run

import scala.collection.mutable

import io.phantoms.spark.functions.WindowShape
import io.phantoms.spark.model.KeyKind
import io.phantoms.spark.run.kernel.{
  GroupParts,
  HftaKernel,
  PairedSlices,
  QuerySlices,
  SliceBlocks,
  SortedGroups,
  WindowCombiner
}
import io.phantoms.spark.spec.SharedSpec
import io.phantoms.spark.windows.CoarseSlices

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types.LongType

/** The result rows of the queries that a relation answers: of its groups, or of windows that are put together from them. */
private[spark] final class ResultRows(spec: SharedSpec, kernel: HftaKernel) extends MergeOutput {
  private val strides = spec.layouts.map(_.stride).toArray

  override def of(relation: Int): Iterator[Iterator[InternalRow]] = {
    val queries = spec.queries.indices.filter(spec.queries(_).relation == relation)
    val (combining, plain) = queries.partition(spec.queries(_).combines)
    val orders = combining.map(orderOf(_, relation))
    var before: Option[ResultRows.Order] = None
    plain.iterator.map(rowsOf(_, relation)) ++ orders.distinct.iterator.flatMap { order =>
      val groups = sorted(relation, order, before)
      before = Some(order)
      val (masked, others) =
        combining.indices.filter(orders(_) == order).map(combining).partition(spec.queries(_).masked.nonEmpty)
      val rows = if (others.isEmpty) None else Some(new GroupRows(relation, others, groups))
      rows.iterator ++ masked.iterator.map(q => maskedRows(q, relation, sorted(relation, order, before)))
    }
  }

  override def report(metrics: Map[String, SQLMetric]): Unit = {
    metrics("numOutputRows") += kernel.emitted
    metrics("windowMerges") += kernel.combined
    metrics("slices") += kernel.slices
    metrics("fragments") += kernel.fragments
  }

  /** By what words the records are sorted that a query's results are made of. */
  private def orderOf(query: Int, relation: Int): ResultRows.Order = {
    val layout = spec.layouts(relation)
    val asked = spec.queries(query)
    val slice = asked.window.fold(-1)(w => layout.keyPlace(w.slice)._1)
    // Whatever signature it is of, a word of one does not tell results apart.
    val signatures =
      if (asked.fragment.isEmpty && asked.masked.isEmpty) Set.empty[Int]
      else layout.keys.filter(k => spec.keys(k).kind == KeyKind.Signature && spec.keys(k).dataType == LongType)
        .map(layout.keyPlace(_)._1).toSet
    val flags = (0 until layout.flagWords).map(w => w -> layout.keyMask(w)).filter(_._2 != 0)
    val keys = (layout.flagWords until layout.flagWords + layout.keyWords)
      .filterNot(w => w == slice || signatures(w)).map(_ -> -1L)
    ResultRows.Order(keys ++ flags, slice)
  }

  private def sorted(relation: Int, order: ResultRows.Order, before: Option[ResultRows.Order]): SortedGroups =
    new SortedGroups(
      kernel,
      relation,
      strides(relation),
      order.words.map(_._1).toArray,
      order.words.map(_._2).toArray,
      order.slice,
      !before.contains(order)
    )

  /** Blocks of slices that several windows merge, if these save merges. */
  private def blocksOf(relation: Int, queries: Seq[Int], groups: SortedGroups): Option[SliceBlocks] =
    if (queries.size < 2) None
    else {
      val looked = math.min(groups.count, ResultRows.Looked)
      val start = (groups.count - looked) / 2
      val runs = queries.flatMap(q => ownSlices(q)).map(groups.run(_, start, looked))
      val sizes = CoarseSlices.best(groups.count, runs).sizes
      if (sizes.isEmpty) None
      else Option(SliceBlocks.of(kernel, relation, groups, sizes.map(Integer.numberOfTrailingZeros).toArray))
    }

  private def ownSlices(query: Int): Option[PairedSlices] = spec.queries(query).window.filter(_.composed).map(w =>
    new PairedSlices(w.range, w.slide, w.start, WindowShape(w.range, w.slide, w.start).safe)
  )

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

  /** The row of nothing, or null. */
  private def emptyRow(query: Int, relation: Int): UnsafeRow = {
    val record = new Array[Long](strides(relation))
    kernel.initialize(relation, record)
    kernel.emit(query, record, 0)
  }

  private def rowsOf(query: Int, relation: Int): Iterator[InternalRow] = {
    val table = kernel.table(relation)
    if (table.size == 0 && spec.queries(query).rowOnEmptyInput) Option(emptyRow(query, relation)).iterator
    else new ResultRows.TableRows(kernel, query, table.records, table.size, strides(relation))
  }

  /**
   * The rows of queries over groups in one order, all of one group before those of the next: its records are in the cache
   * then.
   */
  private final class GroupRows(relation: Int, queries: Seq[Int], groups: SortedGroups)
      extends ResultRows.Rows(kernel) {
    private val taken = {
      val inBlocks = queries.filter(q => spec.queries(q).fragment.isEmpty && spec.queries(q).window.exists(_.composed))
      val blocks = blocksOf(relation, inBlocks, groups)
      queries.map { q =>
        val fragment = spec.queries(q).fragment
        new QuerySlices(
          kernel,
          relation,
          groups,
          fragment.fold(-1)(f => spec.layouts(relation).keyPlace(f.signature)._1),
          fragment.fold(0)(_.bit),
          ownSlices(q).orNull,
          if (inBlocks.contains(q)) blocks.orNull else null
        )
      }.toArray
    }
    private val windows = queries.zip(taken).map { case (q, slices) =>
      spec.queries(q).window.map(w => new WindowCombiner(kernel, relation, slices, w.range, w.slide, w.start)).orNull
    }.toArray

    /** Queries that have a row even of nothing, and had no group yet. */
    private val unseen =
      mutable.LinkedHashSet.from(queries.indices.filter(i => spec.queries(queries(i)).rowOnEmptyInput))

    // Queries in [at, end) are still to be asked about the group at hand; those behind that have not looked at it.
    private var at = taken.length
    private var end = taken.length

    override protected def advance(): Boolean = {
      while (true) {
        while (at < end) {
          if (next(at)) return true
          release(at)
          at += 1
        }
        if (at < taken.length) load()
        else if (groups.advance()) {
          at = 0
          load()
        } else {
          val empty = unseen.headOption
          empty.foreach { i =>
            unseen -= i
            made = emptyRow(queries(i), relation)
          }
          return empty.nonEmpty
        }
      }
      false
    }

    private def next(i: Int): Boolean = {
      val window = windows(i)
      if (window != null) window.advance() && {
        made = kernel.emit(queries(i), window.window, 0)
        true
      }
      else
        taken(i).advance() && {
          if (unseen.nonEmpty) unseen -= i
          made = kernel.emit(queries(i), taken(i).records(), taken(i).from * groups.stride)
          true
        }
    }

    private def release(i: Int): Unit = {
      taken(i).release()
      if (windows(i) != null) windows(i).release()
    }

    /**
     * Queries from `at` on look at the group at hand, as many as there is room for what they take, by and by: what all
     * have looked at leaves the cache.
     */
    private def load(): Unit = {
      val most = math.max(1L, ResultRows.TakenWords / ((groups.until - groups.from).toLong * groups.stride))
      end = math.min(taken.length.toLong, at + most).toInt
      var i = at
      while (i < end) {
        taken(i).start()
        i += 1
      }
      var from = groups.from
      while (from < groups.until) {
        val until = math.min(groups.until, (from / ResultRows.Chunk + 1) * ResultRows.Chunk)
        i = at
        while (i < end) {
          taken(i).take(from, until)
          i += 1
        }
        from = until
      }
    }
  }
}

private[run] object ResultRows {

  /**
   * An order of records.
   *
   * @param words by which words of a record, and which bits of these
   * @param slice the word that holds the slice, by which in the end; -1: none
   */
  private final case class Order(words: Seq[(Int, Long)], slice: Int)

  /** Records that are looked at to know how many slices make up one of a window. */
  private val Looked = 4096

  /** Words of what queries take of one group at a time, at most, if it is more than one query. */
  private val TakenWords = 1L << 20

  /** Records that all queries look at before the next ones; blocks of slices are shorter. */
  private val Chunk = 2048

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
}
