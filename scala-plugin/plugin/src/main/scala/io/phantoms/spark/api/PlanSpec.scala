package io.phantoms.spark.api

import scala.collection.immutable.BitSet

import org.json4s._
import org.json4s.jackson.JsonMethods

import io.phantoms.spark.model.{KeyAttribute, Machine, PeriodicWindow, Problem, Query, TableStatistics}
import io.phantoms.spark.search.Chooser
import io.phantoms.spark.stats.supplied.StatisticsException

/** A what-if question. */
private[spark] final case class PlanSpec(problem: Problem, chooser: String, minSavings: Double)

/** Reads the JSON that [[PlanApi.planJson]] describes. */
private[spark] object PlanSpec {

  /** Bytes of LFTA tables where a question names none: the default of spark.phantoms.lfta.memory. */
  val DefaultMemory: Long = 8L << 20

  private val TopFields =
    Set("queries", "stats", "chooser", "memory", "min_savings", "buffer_bits", "parallelism", "partitions", "shards")
  private val StatsFields = Set("rows", "groups", "flow_length", "span", "signatures")
  private val WindowFields = Set("range", "slide", "start")

  /** Shares of rows are counted in units of one part in this many. */
  private val Whole = 1000000000L

  /** One query as written. */
  private final case class Named(keys: List[String], window: Option[PeriodicWindow], predicate: Option[String])

  def read(specJson: String): PlanSpec = {
    val spec = parse(specJson)
    PlanSpec(problemOf(spec, queriesOf(spec)), chooserOf(spec), number(spec, "min_savings", 0.0, -1.0))
  }

  private def wrong(what: String): Nothing = throw new StatisticsException("PHANTOMS_BAD_PLAN_SPEC", what)

  private def parse(text: String): JObject = {
    val json =
      try JsonMethods.parse(text)
      catch { case e: Exception => wrong(s"the specification is not valid JSON: ${e.getMessage}") }
    val spec = fields(json, "the specification")
    unknown(spec, TopFields, "")
    spec
  }

  private def fields(v: JValue, what: String): JObject = v match {
    case o: JObject => o
    case _ => wrong(s"$what is not an object")
  }

  private def unknown(o: JObject, known: Set[String], prefix: String): Unit =
    o.obj.map(_._1).find(!known(_)).foreach { f =>
      wrong(s"unknown field $prefix$f; known ones are ${known.toSeq.sorted.mkString(", ")}")
    }

  private def chooserOf(spec: JObject): String = spec \ "chooser" match {
    case JNothing | JNull => "auto"
    case JString(name) if Chooser.accepts(name) => name
    case JString(name) => wrong(s"chooser: unknown '$name'; valid ones are ${Chooser.algorithms.mkString(", ")}")
    case _ => wrong("chooser: not a text")
  }

  private def queriesOf(spec: JObject): List[Named] = spec \ "queries" match {
    case JArray(Nil) => wrong("queries: an empty list")
    case JArray(items) => items.zipWithIndex.map { case (q, i) => queryOf(q, s"queries[$i]") }
    case JNothing => wrong("queries: missing")
    case _ => wrong("queries: not a list")
  }

  private def problemOf(spec: JObject, queries: List[Named]): Problem = {
    val seen = queries.flatMap(_.keys).distinct
    // Single letters in the order of the alphabet, as the papers write them; else in the order of the queries.
    val attributes = if (seen.forall(_.length == 1)) seen.sorted else seen
    val ordinals = attributes.zipWithIndex.toMap
    val predicates = queries.flatMap(_.predicate).distinct
    Problem(
      attributes.map(KeyAttribute(_, 32)).toIndexedSeq,
      queries.map(q =>
        Query(BitSet.fromSpecific(q.keys.map(ordinals)), q.window, q.predicate.map(predicates.indexOf(_)))
      ).toIndexedSeq,
      number(spec, "buffer_bits", 128, 1).toInt,
      statisticsOf(spec \ "stats", ordinals)
        .copy(span = spanOf(spec \ "stats", queries), signatures = signaturesOf(spec \ "stats", predicates)),
      Machine(
        parallelism = number(spec, "parallelism", 2, 1).toInt,
        partitions = number(spec, "partitions", 2, 1).toInt
      ),
      number(spec, "memory", DefaultMemory.toDouble, 1).toLong,
      number(spec, "shards", 200, 1).toInt
    )
  }

  private def queryOf(v: JValue, field: String): Named = v match {
    case keys: JArray => Named(columnsOf(keys, field), None, None)
    case o: JObject =>
      unknown(o, Set("keys", "window", "predicate"), s"$field.")
      val keys = o \ "keys" match {
        case JNothing => wrong(s"$field.keys: missing")
        case list => columnsOf(list, s"$field.keys")
      }
      val predicate = o \ "predicate" match {
        case JNothing | JNull => None
        case JString(name) if name.trim.nonEmpty && !name.contains(",") => Some(name.trim)
        case _ => wrong(s"$field.predicate: not a name (without a comma)")
      }
      Named(keys, windowOf(o \ "window", s"$field.window"), predicate)
    case _ => wrong(s"$field: neither a list of columns nor an object with keys")
  }

  private def columnsOf(v: JValue, field: String): List[String] = v match {
    case JArray(items) =>
      val names = items.zipWithIndex.map {
        case (JString(name), _) if name.trim.nonEmpty => name.trim
        case (_, i) => wrong(s"$field[$i]: not a column name")
      }
      names.diff(names.distinct).headOption.foreach(c => wrong(s"$field: column $c twice"))
      names
    case _ => wrong(s"$field: not a list")
  }

  private def windowOf(v: JValue, field: String): Option[PeriodicWindow] = v match {
    case JNothing | JNull => None
    case o: JObject =>
      unknown(o, WindowFields, s"$field.")
      def ticks(name: String, otherwise: => Long, least: Double): Long = o \ name match {
        case JNothing | JNull => otherwise
        case n =>
          val x = value(n, s"$field.$name", least)
          if (x == x.floor && x <= Long.MaxValue / 4) x.toLong
          else wrong(s"$field.$name: $x is no whole number of ticks")
      }
      val range = ticks("range", wrong(s"$field.range: missing"), 1)
      Some(PeriodicWindow.startingAt(range, ticks("slide", range, 1), ticks("start", 0, 0)))
    case _ => wrong(s"$field: not an object with range and slide")
  }

  private def spanOf(stats: JValue, queries: List[Named]): Long = stats \ "span" match {
    case JNothing | JNull =>
      if (queries.exists(_.window.nonEmpty))
        wrong("stats.span: missing; it is the time the rows cover, in the windows' unit")
      1L
    case v => value(v, "stats.span", 1).toLong
  }

  /** Shares of the rows that satisfy just the predicates named; the rest of the rows satisfies none. */
  private def signaturesOf(stats: JValue, predicates: List[String]): Seq[(BitSet, Long)] = stats \ "signatures" match {
    case JNothing | JNull =>
      if (predicates.nonEmpty)
        wrong("stats.signatures: missing; it says which share of the rows satisfies just which predicates")
      Nil
    case o: JObject =>
      val shares = o.obj.map { case (names, n) =>
        val set = names.split(",").map(_.trim).filter(_.nonEmpty).map { name =>
          val i = predicates.indexOf(name)
          if (i < 0) wrong(s"stats.signatures: predicate $name is of no query; these are ${predicates.mkString(", ")}")
          i
        }
        if (set.isEmpty) wrong(s"stats.signatures: '$names' names no predicate")
        BitSet.fromSpecific(set) -> value(n, s"stats.signatures.$names", 0)
      }
      val sum = shares.map(_._2).sum
      if (sum > 1 + 1e-9) wrong(s"stats.signatures: shares of the rows that add up to $sum")
      val parts = shares.map { case (set, x) => set -> math.round(x * Whole) }
      parts :+ (BitSet.empty -> math.max(0L, Whole - parts.map(_._2).sum))
    case _ => wrong("stats.signatures: not an object from predicates (\"p,q\") to shares of the rows")
  }

  private def statisticsOf(v: JValue, ordinals: Map[String, Int]): TableStatistics = {
    if (v == JNothing) wrong("stats: missing")
    val stats = fields(v, "stats")
    unknown(stats, StatsFields, "stats.")
    if (stats \ "rows" == JNothing) wrong("stats.rows: missing")
    def bySet(o: JObject, field: String, least: Double): Map[BitSet, Double] = o.obj.map { case (names, n) =>
      val set = names.split(",").map(_.trim).filter(_.nonEmpty).map { c =>
        ordinals.getOrElse(
          c,
          wrong(s"$field: column $c is in no query; these are ${ordinals.keys.toSeq.sorted.mkString(", ")}")
        )
      }
      if (set.isEmpty) wrong(s"$field: '$names' names no column")
      BitSet.fromSpecific(set) -> value(n, s"$field.$names", least)
    }.toMap
    val groups = stats \ "groups" match {
      case JNothing | JNull => Map.empty[BitSet, Double]
      case o: JObject => bySet(o, "stats.groups", 1)
      case _ => wrong("stats.groups: not an object from columns (\"A,B\") to numbers")
    }
    val rows = value(stats \ "rows", "stats.rows", 0)
    stats \ "flow_length" match {
      case JNothing | JNull => TableStatistics(rows, groups)
      case o: JObject => TableStatistics(rows, groups, flowLengths = bySet(o, "stats.flow_length", 1))
      case n => TableStatistics(rows, groups, flowLength = value(n, "stats.flow_length", 1))
    }
  }

  private def number(spec: JObject, field: String, otherwise: Double, least: Double): Double = spec \ field match {
    case JNothing | JNull => otherwise
    case v => value(v, field, least)
  }

  private def value(v: JValue, field: String, least: Double): Double = {
    val n = v match {
      case JInt(i) => i.toDouble
      case JLong(l) => l.toDouble
      case JDouble(d) => d
      case JDecimal(d) => d.toDouble
      case _ => wrong(s"$field: not a number")
    }
    if (n >= least && !n.isInfinite) n else wrong(s"$field: $n is less than $least")
  }
}
