package io.phantoms.spark

import scala.collection.immutable.BitSet

import org.json4s._
import org.json4s.jackson.JsonMethods

import io.phantoms.spark.choose.{Chooser, KeyAttribute, Machine, Notation, Placement, Problem, TableStatistics}
import io.phantoms.spark.stats.StatisticsException

/** The chooser alone, for what-if questions: no session, no data. */
object PlanApi {

  /** Bytes of LFTA tables where a question names none: the default of spark.phantoms.lfta.memory. */
  val DefaultMemory: Long = 8L << 20

  private val TopFields =
    Set("queries", "stats", "chooser", "memory", "min_savings", "buffer_bits", "parallelism", "partitions", "shards")
  private val StatsFields = Set("rows", "groups", "flow_length")

  /**
   * Answers one question.
   *
   * @param specJson `{"queries": [["A","B"], {"keys": ["B","C"]}], "stats": {"rows": n, "groups": {"A,B": n},
   *   "flow_length": x}}` and optionally `chooser` (`auto`), `memory` (bytes per map task), `min_savings` (fraction, 0),
   *   `buffer_bits` (128), `parallelism`, `partitions` (2), `shards` (200)
   * @return `{"shared", "configuration", "legend", "cost", "cost_without", "savings", "algorithm", "tables"}`: the
   *   configuration in the paper's notation (null where nothing is shared), costs in nanoseconds of elapsed time, one
   *   entry of `tables` per relation, parents (by position, null: the raw input) first
   * @throws StatisticsException if a field is missing, unknown or wrong; the message names it
   */
  def planJson(specJson: String): String = {
    val spec = parse(specJson)
    val (problem, chooser, minSavings) = (problemOf(spec), chooserOf(spec), number(spec, "min_savings", 0.0, -1.0))
    val choice = Chooser.choose(problem, chooser, minSavings)
    val notation = Notation(problem)
    def names(keys: BitSet): JArray = JArray(keys.toList.map(k => JString(problem.attributes(k).name)))
    val tables = choice.configuration.toList.flatMap { c =>
      val expected = Chooser.estimate(problem, c).relations
      c.relations.zip(expected).map { case (r, e) =>
        val (placement, shardKey, shards) = r.placement match {
          case Placement.Shipped(key, n) => ("shipped", names(key), JInt(n))
          case Placement.Feeds => ("feeds", JNull, JNull)
          case Placement.Derived => ("derived", JNull, JNull)
          case Placement.SecondTier(key, n) => ("second tier", names(key), JInt(n))
        }
        JObject(
          "relation" -> JString(notation.render(r.keys)),
          "keys" -> names(r.keys),
          "queries" -> JArray(r.queries.toList.map(JInt(_))),
          "parent" -> (if (r.parent < 0) JNull else JInt(r.parent)),
          "buckets" -> JInt(r.buckets),
          "placement" -> JString(placement),
          "shard_key" -> shardKey,
          "shards" -> shards,
          "groups" -> JDouble(e.groups),
          "fed" -> JDouble(e.fed),
          "collision_rate" -> JDouble(e.collisionRate),
          "evictions" -> JDouble(e.evictions),
          "bytes" -> JInt(e.tableBytes),
          "cost" -> JDouble(e.cost)
        )
      }
    }
    JsonMethods.compact(
      JObject(
        "shared" -> JBool(choice.configuration.nonEmpty),
        "configuration" -> choice.configuration.map(c => JString(notation.render(c))).getOrElse(JNull),
        "legend" -> JObject(notation.legend.toList.map { case (letter, name) => letter -> JString(name) }),
        "cost" -> JDouble(choice.cost),
        "cost_without" -> JDouble(choice.costWithout),
        "savings" -> JDouble(choice.savings),
        "algorithm" -> JString(choice.algorithm),
        "tables" -> JArray(tables)
      )
    )
  }

  private def wrong(what: String): Nothing = throw new StatisticsException("PHANTOMS_BAD_PLAN_SPEC", what)

  private def unsupported(field: String): Nothing =
    throw new StatisticsException("PHANTOMS_UNSUPPORTED", s"$field: the chooser does not plan it yet; leave it out")

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

  private def problemOf(spec: JObject): Problem = {
    val queries = spec \ "queries" match {
      case JArray(Nil) => wrong("queries: an empty list")
      case JArray(items) => items.zipWithIndex.map { case (q, i) => columnsOf(q, s"queries[$i]") }
      case JNothing => wrong("queries: missing")
      case _ => wrong("queries: not a list")
    }
    val seen = queries.flatten.distinct
    // Single letters in the order of the alphabet, as the papers write them; else in the order of the queries.
    val attributes = if (seen.forall(_.length == 1)) seen.sorted else seen
    val ordinals = attributes.zipWithIndex.toMap
    Problem(
      attributes.map(KeyAttribute(_, 32)).toIndexedSeq,
      queries.map(q => BitSet.fromSpecific(q.map(ordinals))).toIndexedSeq,
      number(spec, "buffer_bits", 128, 1).toInt,
      statisticsOf(spec \ "stats", ordinals),
      Machine(
        parallelism = number(spec, "parallelism", 2, 1).toInt,
        partitions = number(spec, "partitions", 2, 1).toInt
      ),
      number(spec, "memory", DefaultMemory.toDouble, 1).toLong,
      number(spec, "shards", 200, 1).toInt
    )
  }

  private def columnsOf(v: JValue, field: String): List[String] = v match {
    case JArray(items) =>
      val names = items.zipWithIndex.map {
        case (JString(name), _) if name.trim.nonEmpty => name.trim
        case (_, i) => wrong(s"$field[$i]: not a column name")
      }
      names.diff(names.distinct).headOption.foreach(c => wrong(s"$field: column $c twice"))
      names
    case o: JObject =>
      if (o.obj.exists { case (k, value) => k == "window" && value != JNull }) unsupported(s"$field.window")
      if (o.obj.exists { case (k, value) => k == "predicate" && value != JNull }) unsupported(s"$field.predicate")
      unknown(o, Set("keys", "window", "predicate"), s"$field.")
      o \ "keys" match {
        case keys: JArray => columnsOf(keys, s"$field.keys")
        case JNothing => wrong(s"$field.keys: missing")
        case _ => wrong(s"$field.keys: not a list")
      }
    case _ => wrong(s"$field: neither a list of columns nor an object with keys")
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
