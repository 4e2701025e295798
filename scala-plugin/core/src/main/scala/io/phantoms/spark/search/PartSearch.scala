package io.phantoms.spark.search

import scala.collection.immutable.BitSet
import scala.collection.mutable

import io.phantoms.spark.cost.{CollisionModel, CostModel, PartStatistics}
import io.phantoms.spark.fragments.Fragments
import io.phantoms.spark.model.{Choice, KeyAttribute, KeyKind, PeriodicWindow, Problem, Query, RunnerUp}
import io.phantoms.spark.windows.EdgeRate

/**
 * One search over groupings, windows, predicates and placement.
 *
 * Windows are answered from slices and predicates from fragments (On-the-fly sharing, sections 3 to 5), and both are
 * attributes like any other: a query over windows groups by its keys and the slice, the slices of one grouping may feed
 * those of a coarser one, and placement decides where. What sharing them costs is that there are more slices and fragments
 * than any query needs: so the queries are parted, and each part has slices and fragments in common. Parts are merged
 * pairwise as long as that pays, starting from one for each window and predicate; all queries in one part compete.
 *
 * @param algorithm and `minSavings` as in [[Chooser.choose]]
 */
private[search] final class PartSearch(problem: Problem, algorithm: String, minSavings: Double) {
  private val statistics = problem.statistics
  private val machine = problem.machine
  private val model = new CostModel(problem)

  // By the predicates that queries name; rows that satisfy others only are like those that satisfy none.
  private val fragments = {
    val named = BitSet.fromSpecific(problem.queries.flatMap(_.predicate))
    Fragments(named.lastOption.fold(0)(_ + 1), statistics.signatures.map { case (b, n) => (b & named, n) })
  }
  private val parallelism = math.max(1, machine.parallelism).toDouble
  private val known = mutable.HashMap.empty[Vector[Int], SharedPart]

  /** Queries that agree in window and predicate: sharing among these costs nothing. */
  private val classes: Vector[Vector[Int]] = problem.queries.indices.toVector
    .groupBy(i => (problem.queries(i).window, problem.queries(i).predicate)).values.toVector.sortBy(_.head)

  def choose: PartedChoice = if (problem.queries.forall(_.isPlain)) groupings else parted

  /** Nothing to part. */
  private def groupings: PartedChoice = {
    val choice = Chooser.choose(problem, algorithm, minSavings)
    val part = SharedPart(problem.queries.indices.toVector, problem, 0, 0, choice, 0, 0)
    PartedChoice(Vector(part), choice.cost, choice.costWithout, choice.runnerUp)
  }

  private def parted: PartedChoice = {
    val without = withoutSharing(problem.queries)
    val apart = classes.map(part)
    val candidates = Seq(
      "every window and predicate apart" -> apart,
      "parts merged in pairs" -> (if (classes.size <= PartSearch.MostClasses) merged(apart) else apart),
      "all in common" -> Vector(part(classes.flatten.sorted))
    ).map { case (what, parts) => (what, parts, total(parts)) }
    val (_, best, cost) = candidates.minBy(_._3)
    // Ways to the same parts are one answer, however many there are.
    val others = candidates.filter(_._2 != best).map { case (what, _, c) => RunnerUp(what, c) } ++
      Option.when(best.exists(_.choice.configuration.nonEmpty))(RunnerUp("nothing shared", without))
    PartedChoice(best, cost, without, others.minByOption(_.cost))
  }

  private def merged(apart: Vector[SharedPart]): Vector[SharedPart] = {
    def gain(a: SharedPart, b: SharedPart): Double =
      total(Vector(a, b)) - total(Vector(part((a.queries ++ b.queries).sorted)))
    Iterator.iterate(Option(apart))(_.flatMap { parts =>
      val pairs = for (i <- parts.indices; j <- i + 1 until parts.size) yield (i, j, gain(parts(i), parts(j)))
      pairs.filter(_._3 > 0).maxByOption(_._3).map { case (i, j, _) =>
        parts.indices.filter(k => k != i && k != j).map(parts).toVector :+
          part((parts(i).queries ++ parts(j).queries).sorted)
      }
    }).takeWhile(_.nonEmpty).flatten.toVector.last
  }

  /** Elapsed nanoseconds of several parts: beside what is shared, what is not has a first shuffle as well. */
  private def total(parts: Vector[SharedPart]): Double = {
    val plain = parts.count(_.choice.configuration.isEmpty)
    parts.map(_.cost).sum + shuffle * (if (plain == parts.size) plain - 1 else plain)
  }

  /** Elapsed nanoseconds of a part. */
  def costOf(queries: Vector[Int]): Double = part(queries).cost

  private def part(queries: Vector[Int]): SharedPart = known.getOrElseUpdate(queries, make(queries))

  private def make(ordinals: Vector[Int]): SharedPart = {
    val queries = ordinals.map(problem.queries)
    val windows = queries.flatMap(_.window).distinct
    val slices = if (windows.isEmpty) 0.0 else math.max(1.0, cuts(windows))
    val shares = fragmentShares(queries)
    val sliceKey = Option.when(windows.nonEmpty)(problem.attributes.size)
    val fragmentKey = Option.when(shares.size > 1)(problem.attributes.size + sliceKey.size)
    def keys(q: Query): BitSet =
      q.keys ++ sliceKey.filter(_ => q.window.nonEmpty) ++ fragmentKey.filter(_ => q.predicate.nonEmpty)
    val keyed = problem.copy(
      attributes = problem.attributes ++ sliceKey.map(_ => KeyAttribute("slice", 32, KeyKind.Slice)) ++
        fragmentKey.map(_ => KeyAttribute("fragment", 32, KeyKind.Signature)),
      queries = queries.map(q => Query(keys(q))),
      statistics = new PartStatistics(statistics, sliceKey.map((_, slices)), fragmentKey, shares.map(_._2))
    )
    val chosen = Chooser.choose(keyed, algorithm, -1)
    val finals = queries.map(q => merges(q, slices, shares)).sum * machine.merge / parallelism
    val without = withoutSharing(queries)
    val choice = chosen.copy(costWithout = without)
    val unwanted =
      math.max(0.0, 1 - shares.map(_._2).sum) * statistics.rows * machine.scanRow / model.mapParallelism
    val shared =
      SharedPart(ordinals, keyed, slices, if (fragmentKey.isEmpty) 0 else shares.size, choice, finals, unwanted)
    if (choice.configuration.nonEmpty && (minSavings < 0 || 1 - shared.cost / without >= minSavings)) shared
    else SharedPart(ordinals, keyed, 0, 0, Choice(None, without, without, algorithm), 0, 0)
  }

  /** Slices of the span: counted where it is short, else by their rate. */
  private def cuts(windows: Vector[PeriodicWindow]): Double =
    if (windows.map(w => w.pairedSlices * (statistics.span.toDouble / w.slide)).sum <= PartSearch.MostCounted)
      EdgeRate.over(windows, 0, statistics.span) * statistics.span
    else EdgeRate.of(windows) * statistics.span

  /**
   * The fragments that these queries tell apart, as the predicates that hold and the share of the rows: of those some
   * query wants, which are all when one has no predicate.
   */
  private def fragmentShares(queries: Vector[Query]): IndexedSeq[(BitSet, Double)] = {
    val total = fragments.rows.toDouble
    val asked = BitSet.fromSpecific(queries.flatMap(_.predicate))
    if (asked.isEmpty || total == 0) IndexedSeq((BitSet.empty, 1.0))
    else {
      val merged = fragments.without(BitSet.fromSpecific(0 until fragments.queries) &~ asked)
      val wanted = if (queries.exists(_.predicate.isEmpty)) merged.all else merged.wanted
      wanted.map(f => (f.signature, f.frequency / total))
    }
  }

  /** Partial aggregates merged into a query's results: of every slice as often as a row is in a window. */
  private def merges(q: Query, slices: Double, shares: IndexedSeq[(BitSet, Double)]): Double = {
    val wanted = q.predicate match {
      case Some(p) if shares.size > 1 => shares.collect { case (b, s) if b(p) => s }
      case _ => IndexedSeq(shares.map(_._2).sum)
    }
    if (q.window.isEmpty && wanted.size < 2) 0.0
    else {
      val g = statistics.groups(q.keys)
      val n = if (q.window.isEmpty) 1.0 else slices
      q.copies *
        wanted.map(s => n * CollisionModel.occupied(statistics.rows * s / n, g)).sum
    }
  }

  /** What starting the stage of one more shuffle takes, of those that plain Spark makes for the queries. */
  private val shuffle = model.furtherShuffles / math.max(1, problem.queries.size - 1)

  private def withoutSharing(queries: IndexedSeq[Query]): Double =
    queries.map(withoutSharing(_)).sum + shuffle * (queries.size - 1)

  /** Plain Spark filters, puts each row into all of its windows, and groups by window and keys. */
  private def withoutSharing(q: Query): Double = {
    val rows = statistics.rows * problem.selectivity(q)
    val (results, each) = q.window.fold((1.0, rows)) { w =>
      (math.max(1.0, statistics.span.toDouble / w.slide), rows * math.min(1.0, w.range.toDouble / statistics.span))
    }
    val g = statistics.groups(q.keys)
    val groups = if (q.window.isEmpty && q.predicate.isEmpty) g else results * CollisionModel.occupied(each, g)
    val passing = if (q.predicate.isEmpty) 0.0 else (statistics.rows - rows) * machine.scanRow
    passing / parallelism +
      model.alone(q, rows * q.copies, math.max(1.0, math.min(groups, rows * math.max(1.0, q.copies))))
  }
}

private[search] object PartSearch {

  /** Different windows and predicates up to which pairs of them are tried. */
  val MostClasses = 16

  /** Slices up to which these are counted one by one. */
  val MostCounted = 1e5
}
