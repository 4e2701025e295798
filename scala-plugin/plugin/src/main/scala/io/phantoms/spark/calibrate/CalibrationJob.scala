package io.phantoms.spark.calibrate

import scala.collection.immutable.BitSet

import io.phantoms.spark.cost.CollisionModel
import io.phantoms.spark.model.{Configuration, Placement, Relation}

/**
 * How much data a job reads: what a job costs at the start is told from what a row costs by sizes that differ.
 *
 * @param rows of those that calibration was asked to take
 */
private[calibrate] sealed abstract class CalibrationTable(val name: String, val rows: Long => Long)

private[calibrate] object CalibrationTable {
  case object Whole extends CalibrationTable("calibration_whole", identity)
  case object Quarter extends CalibrationTable("calibration_quarter", n => math.max(1, n / 4))

  /** So few that reading them takes no time. */
  case object Few extends CalibrationTable("calibration_few", _ => 1000)
  val all: Seq[CalibrationTable] = Seq(Whole, Quarter, Few)
}

/**
 * One relation of a job's configuration.
 *
 * @param keys letters of its columns
 * @param parent ordinal of the relation that feeds it, -1: the input
 * @param buckets of its table, 0: none
 */
private[calibrate] final case class Node(keys: String, parent: Int, buckets: Int, place: Place)

private[calibrate] sealed trait Place
private[calibrate] object Place {
  case object Feed extends Place
  case object Derive extends Place

  /** @param by letters of the shard key; none: one shard */
  final case class Ship(by: String) extends Place
}

/**
 * A union of groupBys under a configuration that no chooser is asked for.
 *
 * @param queries letters of the grouping columns of each groupBy
 * @param nodes the configuration, parents first; empty: plain Spark
 * @param wide more aggregates: 7 words of an entry instead of 2
 */
private[calibrate] final case class CalibrationJob(
    name: String,
    queries: Seq[String],
    nodes: Seq[Node],
    wide: Boolean = false,
    table: CalibrationTable = CalibrationTable.Whole
) {
  import CalibrationJob._

  def sql: String = queries.map { keys =>
    val columns = Columns.take(if (queries.exists(_.exists(Dependent))) Columns.size else Independent)
      .map(c => if (keys.contains(c)) c.toString else s"cast(null as int) as $c")
    val aggregates = "count(*) as n" +: "sum(v) as sv" +:
      (if (wide) Seq("min(v) as lv", "max(v) as hv", "sum(w) as sw", "min(w) as lw", "max(w) as hw") else Nil)
    s"select ${(columns ++ aggregates).mkString(", ")} from ${table.name} group by ${keys.mkString(", ")}"
  }.mkString("\nunion all\n")

  /** @param ordinals of each letter in the workload's keys */
  def configuration(ordinals: Map[Char, Int]): Configuration = {
    def set(keys: String) = BitSet.fromSpecific(keys.map(ordinals))
    Configuration(nodes.toVector.map { n =>
      val placement = n.place match {
        case Place.Feed => Placement.Feeds
        case Place.Derive => Placement.Derived
        case Place.Ship(by) => Placement.Shipped(set(by), if (by.isEmpty) 1 else Shards)
      }
      val answers =
        if (placement == Placement.Feeds) Vector.empty[Int] else queries.indices.filter(queries(_) == n.keys)
      Relation(set(n.keys), answers.toVector, n.parent, n.buckets, placement)
    })
  }
}

private[calibrate] object CalibrationJob {
  import CalibrationTable.Quarter
  import Place._

  /** Grouping columns that do not depend on each other, with their number of values. */
  private val Values: Seq[(Char, Int)] = Seq('a' -> 32, 'b' -> 64, 'c' -> 128, 'd' -> 256)
  private val Independent = Values.size

  /** Columns that follow from a, b and c: with them keys are wider, and groups as many. */
  private val Dependent: Set[Char] = Set('e', 'f', 'g', 'h')

  /** All grouping columns. */
  val Columns: Seq[Char] = Values.map(_._1) ++ Dependent.toSeq.sorted

  /** All columns of the input, over `id`. */
  def columns(seed: Long): Seq[String] = {
    def hash(i: Int) = s"xxhash64(id, ${seed}L, $i)"
    val keys = Values.zipWithIndex.map { case ((name, n), i) => name -> s"cast(pmod(${hash(i)}, $n) as int)" }.toMap
    val following = Seq("ab", "ac", "bc", "abc").zip(Dependent.toSeq.sorted).map { case (from, name) =>
      name -> s"cast(pmod(xxhash64(${from.map(keys).mkString(", ")}), 50000) as int)"
    }
    val measures = Seq('v', 'w').zipWithIndex.map { case (name, i) => name -> s"pmod(${hash(9 + i)}, 5000)" }
    (Values.map(_._1).map(c => c -> keys(c)) ++ following ++ measures).map { case (name, e) => s"$e as $name" }
  }

  /** Reduce partitions of a relation with a shard key. */
  val Shards: Int = 2

  /** Groups among `rows` rows of a set of columns, which has dependent ones only beside those they follow from. */
  def groups(keys: Iterable[Char], rows: Double): Double = {
    val all = keys.map(Values.toMap.getOrElse(_, 1).toDouble).product
    if (all <= 1) 1.0 else CollisionModel.occupied(rows, all)
  }

  private val All = "abcdefgh"
  private val Pairs = Seq("ab", "cd", "ac", "bd", "ad", "bc")

  /** Each relation fed by the input and shipped, with a table of as many buckets. */
  private def flat(name: String, keys: Seq[String], buckets: Int, wide: Boolean = false) =
    CalibrationJob(name, keys, keys.map(Node(_, -1, buckets, Ship(""))), wide)

  // All of them read all columns, so that more relations are not taken for more columns.
  private val mapSide: Seq[CalibrationJob] = Seq(
    flat("tables of 2", Pairs.take(2), 1 << 16),
    flat("tables of 4", Pairs.take(4), 1 << 15),
    flat("tables of 6", Pairs, 1 << 15),
    flat("small tables of 2", Pairs.take(2), 64),
    flat("small tables of 6", Pairs, 256),
    flat("no tables of 2", Pairs.take(2), 0),
    flat("no tables of 4", Pairs.take(4), 0),
    flat("wide tables of 2", Pairs.take(2), 1 << 15, wide = true),
    flat("wide small tables of 2", Pairs.take(2), 64, wide = true),
    flat("wide, no tables of 2", Pairs.take(2), 0, wide = true),
    CalibrationJob(
      "a phantom",
      Seq("ab", "ac", "bc", "cd"),
      Node("abc", -1, 1 << 16, Feed) +: Seq("ab", "ac", "bc").map(Node(_, 0, 1 << 14, Ship(""))) :+
        Node("cd", -1, 1 << 15, Ship(""))
    )
  )

  // Narrow entries, and such as reports have: what the cost model takes for one price, whatever the width.
  private val reduceSide: Seq[CalibrationJob] = Seq(
    CalibrationJob("large, shipped", Seq("abc", "abd"), Seq("abc", "abd").map(Node(_, -1, 0, Ship("a")))),
    CalibrationJob(
      "small, derived",
      Seq("abcd", "ab", "ac", "ad"),
      Node("abcd", -1, 0, Ship("a")) +: Seq("ab", "ac", "ad").map(Node(_, 0, 0, Derive))
    ),
    derived("large, derived", "abcd", wide = false),
    derived("wide, derived", All, wide = true),
    CalibrationJob(
      "wide, narrow derived",
      Seq(All, "ab", "ac", "ad"),
      Node(All, -1, 0, Ship("a")) +: Seq("ab", "ac", "ad").map(Node(_, 0, 0, Derive)),
      wide = true
    ),
    CalibrationJob("wide keys, shipped", Seq(All, "abc"), Seq(All, "abc").map(Node(_, -1, 0, Ship("a")))),
    CalibrationJob("many results", Seq.fill(4)("abcd"), Seq(Node("abcd", -1, 0, Ship("a")))),
    CalibrationJob("many results of few", Seq.fill(6)("abd"), Seq(Node("abd", -1, 1 << 17, Ship("a")))),
    CalibrationJob("many wide results", Seq.fill(3)(All), Seq(Node(All, -1, 0, Ship("a"))), wide = true)
  )

  private def derived(name: String, root: String, wide: Boolean) = CalibrationJob(
    name,
    Seq(root, s"abc${root.drop(4)}", "abd", "acd", "ab"),
    Seq(
      Node(root, -1, 0, Ship("a")),
      Node(s"abc${root.drop(4)}", 0, 0, Derive),
      Node("abd", 0, 0, Derive),
      Node("acd", 0, 0, Derive),
      Node("ab", 1, 0, Derive)
    ),
    wide
  )

  private val smaller: Seq[CalibrationJob] =
    (mapSide.filter(_.name == "tables of 4") ++
      reduceSide.filter(j => Set("large, derived", "wide, derived", "many results")(j.name)))
      .map(j => j.copy(name = s"${j.name}, fewer rows", table = Quarter))

  /** Jobs that share. */
  val shared: Seq[CalibrationJob] = mapSide ++ reduceSide ++ smaller

  /** Single groupBys of plain Spark. */
  val plain: Seq[CalibrationJob] = {
    def one(keys: String, wide: Boolean) =
      CalibrationJob(s"plain $keys${if (wide) ", wide" else ""}", Seq(keys), Nil, wide)
    val whole = Seq("ab", "cd", "abd", "abcd").map(one(_, wide = false)) ++
      Seq("ab", "abc", All).map(one(_, wide = true))
    whole ++ whole.filter(j => Set("ab", "abcd", All)(j.queries.head))
      .map(j => j.copy(name = s"${j.name}, fewer rows", table = Quarter))
  }

  /** The smallest shared job, for what starting one more stage costs. */
  val least: CalibrationJob = flat("least", Seq("a", "b"), 1 << 10).copy(table = CalibrationTable.Few)
}
