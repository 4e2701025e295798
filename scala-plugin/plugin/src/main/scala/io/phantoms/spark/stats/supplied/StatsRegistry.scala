package io.phantoms.spark.stats.supplied

import io.phantoms.spark.conf.OfApplication
import java.util.concurrent.atomic.AtomicReference

import org.json4s._
import org.json4s.jackson.JsonMethods

import io.phantoms.spark.files.{JsonFields, StrictJson}

/**
 * What the user said about a table.
 *
 * @param table its name or path, as given
 * @param source what it resolved to ([[InputIdentity.source]]); None while it does not exist
 * @param shape the filters of the view it names, empty for a table ([[InputIdentity.shape]])
 * @param snapshot the state it was in when the numbers were given
 * @param rows None: not said
 * @param groups distinct combinations of columns
 * @param flowLength effective flow length (SMAP's l_a) by columns; the empty set speaks for all others
 */
final case class SuppliedStatistics(
    table: String,
    source: Option[String] = None,
    shape: String = "",
    snapshot: String = "",
    rows: Option[Double] = None,
    groups: Map[Set[String], Double] = Map.empty,
    flowLength: Map[Set[String], Double] = Map.empty
)

/**
 * Supplied statistics of one application, by table or path. Safe for use by many threads.
 *
 * Numbers stay in force when the table changes: only the user knows whether they still hold. Explanations say when they
 * were given for another snapshot.
 */
final class StatsRegistry {
  private val entries = new AtomicReference(Map.empty[String, SuppliedStatistics])

  def all: Seq[SuppliedStatistics] = entries.get.values.toSeq.sortBy(_.table)

  def get(table: String): Option[SuppliedStatistics] = entries.get.get(table)

  /** Changes the entry of a table, which is made if there is none. */
  def update(table: String)(change: SuppliedStatistics => SuppliedStatistics): Unit = {
    val _ = entries.updateAndGet(m => m.updated(table, change(m.getOrElse(table, SuppliedStatistics(table)))))
  }

  def clear(): Unit = entries.set(Map.empty)

  /** Adds what a text written by [[toJson]] holds; entries of the same table are replaced. */
  def addJson(text: String): Unit = add(StatsRegistry.parse(text))

  /** Replaces entries of the same table. */
  def add(loaded: Seq[SuppliedStatistics]): Unit = {
    val _ = entries.updateAndGet(_ ++ loaded.map(e => e.table -> e))
  }

  def toJson: String = JsonMethods.pretty(json)

  /** The same before it is a text. */
  def json: JObject = {
    def byColumns(m: Map[Set[String], Double], number: String): JValue = JArray(
      m.toList.map { case (c, n) => c.toList.sorted -> n }.sortBy(_._1.mkString(",")).map { case (c, n) =>
        JObject("columns" -> JArray(c.map(JString(_))), number -> JDouble(n))
      }
    )
    val tables = all.toList.map { e =>
      JObject(
        List(
          "table" -> JString(e.table),
          "source" -> e.source.map(JString(_)).getOrElse(JNull),
          "shape" -> JString(e.shape),
          "snapshot" -> JString(e.snapshot),
          "rows" -> e.rows.map(JDouble(_)).getOrElse(JNull),
          "groups" -> byColumns(e.groups, "groups"),
          "flow_length" -> byColumns(e.flowLength, "rows")
        )
      )
    }
    JObject(
      "format" -> JString(StatsRegistry.Format),
      "version" -> JInt(StatsRegistry.Version),
      "tables" -> JArray(tables)
    )
  }
}

object StatsRegistry {
  val Format = "phantoms-statistics"
  val Version = 1

  /** The application's. */
  val of = new OfApplication(() => new StatsRegistry)

  /** What a text written by `toJson` holds. */
  def parse(text: String): Seq[SuppliedStatistics] = {
    def bad(what: String) = throw new StatisticsException("PHANTOMS_STATISTICS_FORMAT", what)
    val json = StrictJson.parse(text).fold(why => bad(s"the text $why"), identity)
    if (json \ "format" != JString(Format)) bad(s"""not a statistics file: "format" is not "$Format"""")
    json \ "version" match {
      case JInt(v) if v.toInt == Version =>
      case JInt(v) if v.isValidInt => bad(s"statistics of format version $v; this release reads version $Version")
      case _ => bad("""statistics without a "version"""")
    }
    val fields = new JsonFields(bad(_))
    import fields.{number, text => textOf}
    def list(v: JValue, field: String): List[JValue] = v match {
      case JNothing | JNull => Nil
      case other => fields.list(other, field)
    }
    def byColumns(v: JValue, field: String, value: String): Map[Set[String], Double] = list(v, field).map { item =>
      list(item \ "columns", s"$field.columns").map(textOf(_, s"$field.columns")).toSet ->
        number(item \ value, s"$field.$value")
    }.toMap
    def optional(v: JValue, field: String): Option[String] = v match {
      case JNull | JNothing => None
      case other => Some(textOf(other, field))
    }
    list(json \ "tables", "tables").map { t =>
      SuppliedStatistics(
        textOf(t \ "table", "table"),
        optional(t \ "source", "source"),
        optional(t \ "shape", "shape").getOrElse(""),
        optional(t \ "snapshot", "snapshot").getOrElse(""),
        t \ "rows" match {
          case JNull | JNothing => None
          case v => Some(number(v, "rows"))
        },
        byColumns(t \ "groups", "groups", "groups"),
        byColumns(t \ "flow_length", "flow_length", "rows")
      )
    }
  }
}

/**
 * Statistics or a planning question that cannot be used as given.
 *
 * @param errorClass UPPER_SNAKE, part of the public contract; the message starts with it in brackets
 */
final class StatisticsException(val errorClass: String, message: String)
    extends IllegalArgumentException(s"[$errorClass] $message")
