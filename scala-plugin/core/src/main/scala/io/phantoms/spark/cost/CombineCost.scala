package io.phantoms.spark.cost

import scala.collection.immutable.BitSet

import io.phantoms.spark.model.{KeyKind, PeriodicWindow, Problem, Query}
import io.phantoms.spark.windows.{CoarseSlices, Cut, SliceIndex}

/**
 * The last step of queries over slices and fragments: how many results come out, and what putting them together takes.
 *
 * A result of a window is there if any row of its group is in it: of each group in as many windows as the input spans, or
 * in those only that its rows are in, if these are fewer. How many windows that is the distinct slices tell.
 */
private[cost] final class CombineCost(problem: Problem) {
  private val machine = problem.machine

  // What several places read is as a rule joined there: plain Spark finds it dealt by its keys, results lie anywhere.
  private val emit = machine.emit + (if (problem.consumers > 1) CombineCost.Dealt * machine.plainGroup else 0.0)

  private def of(kind: KeyKind)(attribute: Int): Boolean = problem.attributes(attribute).kind == kind

  /** A bit of a signature says which groups are the query's. */
  private def isFragmented(q: Query): Boolean = q.predicate.isEmpty && q.keys.exists(of(KeyKind.Signature))

  /** Windows by the attribute that holds their slices. */
  private lazy val windows: Map[BitSet, Seq[PeriodicWindow]] =
    problem.queries.filter(_.window.nonEmpty).groupMap(slice)(_.window.get).map { case (key, of) => key -> of.distinct }

  /** Slices a tick, by the attribute that holds them: windows that share it are cut by each other, on their common grid. */
  private lazy val rates: Map[BitSet, Double] = windows.map { case (key, of) =>
    val grid = new SliceIndex(of.flatMap(cuts)).unit
    key -> math.min(1.0 / grid, of.map(ownRate).sum)
  }

  private def ownRate(w: PeriodicWindow): Double = w.pairedSlices.toDouble / w.slide

  /** Whether slices are finer than those of the query's window, for the sake of others. */
  private def isComposed(q: Query): Boolean = q.window.nonEmpty && windows(slice(q)).size > 1

  /** Slices of its own that a query's window is put together from, where it has so many of those in common. */
  private def ownSlices(q: Query, of: Double): Double =
    math.max(1.0, math.min(of, groups(plain(q)) * groups(slice(q)) * ownRate(q.window.get) / rates(slice(q))))

  private def cuts(w: PeriodicWindow): Seq[Cut] = Cut.ofWindow(w.range, w.slide, w.phase - w.range)

  private def slice(q: Query): BitSet = q.keys.filter(of(KeyKind.Slice))

  /** What results differ in, beside their windows. */
  private def plain(q: Query): BitSet =
    if (q.predicate.nonEmpty) q.keys -- slice(q) else q.keys.filter(of(KeyKind.Grouping))

  private def groups(keys: BitSet): Double = if (keys.isEmpty) 1.0 else math.max(1.0, problem.statistics.groups(keys))

  /** Result rows of a query that takes them from so many groups. */
  def results(q: Query, of: Double): Double = q.window match {
    case Some(w) if slice(q).nonEmpty =>
      val spanned = math.max(1.0, groups(slice(q)) / (rates(slice(q)) * w.slide)) + w.range.toDouble / w.slide
      math.min(of * math.max(1.0, q.copies), spanned * groups(plain(q)))
    case Some(_) => of * math.max(1.0, q.copies)
    case None => if (isFragmented(q)) math.min(of, groups(plain(q))) else of
  }

  /** Nanoseconds to write the results of queries of one grouping with so many groups. */
  def work(of: Double, queries: Seq[Query]): Double = {
    val combining = queries.filter(q => q.window.nonEmpty || isFragmented(q))
    // Sorted once for all.
    val sorted = if (combining.isEmpty) 0.0 else of * machine.merge
    val inBlocks = combining.filter(q => isComposed(q) && !isFragmented(q))
    val runs = inBlocks.map(q => of / ownSlices(q, of))
    val slices = math.min(of, Int.MaxValue / 2.0).toInt
    val blocks = if (runs.size < 2) CoarseSlices.none else CoarseSlices.best(slices, runs)
    sorted + blocks.building(slices) * machine.merge / CombineCost.InPlace + queries.iterator.map { q =>
      val parts = math.max(1, q.masks)
      val taken = if (isFragmented(q)) of * parts * CombineCost.Taken else of
      val looked = if (isFragmented(q)) of * CombineCost.Look else 0.0
      val merges =
        if (isComposed(q)) {
          val own = ownSlices(q, taken)
          val pieces = if (isFragmented(q)) taken else own * blocks.expected(taken / own)
          pieces + (CombineCost.MergesPerSlice - 1) * own
        } else if (q.window.nonEmpty) CombineCost.MergesPerSlice * taken
        else if (isFragmented(q)) taken
        else 0.0
      looked + merges * machine.merge / CombineCost.InPlace + results(
        q,
        of
      ) * (emit + q.masks * CombineCost.Part)
    }.sum
  }
}

private[cost] object CombineCost {

  /** Each slice is merged into what leaves a window next, into what came last, and from there into a window. */
  private val MergesPerSlice: Double = 3

  /** The part of the groups that a query takes by its bit; those of On-the-fly sharing take two fifths. */
  private val Taken: Double = 0.4

  /** Nanoseconds to see that a group lacks a bit. */
  private val Look: Double = 3

  /** Nanoseconds for the part of a result that is of a part of the group. */
  private val Part: Double = 50

  /** What it takes to deal a result once more, as a part of what plain Spark does with a group. */
  private val Dealt: Double = 0.3

  /** How much faster it is to merge a record that lies where it is wanted than one that has to be found in a table. */
  private val InPlace: Double = 5
}
