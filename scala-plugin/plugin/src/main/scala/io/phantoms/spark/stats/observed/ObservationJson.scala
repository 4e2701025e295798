package io.phantoms.spark.stats.observed

import org.json4s._
import org.json4s.jackson.JsonMethods

import io.phantoms.spark.estimate.Observation
import io.phantoms.spark.files.{JsonFields, StrictJson}

/** Observations as JSON: one input a file, or a list of them. */
private[spark] object ObservationJson {
  val Format = "phantoms-observed"
  val Version = 1

  /** Why a text is none of ours. */
  final class Unreadable(message: String) extends IllegalArgumentException(message)

  def render(stored: StoredObservation): String = JsonMethods.pretty(
    JObject(("format" -> JString(Format)) :: ("version" -> JInt(Version)) :: toJson(stored).obj)
  )

  def toJson(s: StoredObservation): JObject = {
    val o = s.observation
    val used = (o.groups.keySet ++ o.flowLengths.keySet).flatten
    JObject(
      "source" -> JString(s.key.source),
      "reading" -> JString(s.key.reading),
      "shape" -> JString(s.key.shape),
      "snapshot" -> JString(s.snapshot),
      "leaf_rows" -> JDouble(s.leafRows),
      "rows" -> o.rows.fold[JValue](JNull)(JDouble(_)),
      "names" -> JObject(s.names.toList.filter(n => used(n._1)).sorted.map { case (k, n) => k -> JString(n) }),
      "groups" -> bySet(o.groups, "keys", "groups")(identity),
      "flow_length" -> bySet(o.flowLengths, "keys", "rows")(identity),
      "depth_flow_length" -> JArray(o.depthFlowLengths.toList.map(JDouble(_)))
    )
  }

  /**
   * Numbers by set: a list of objects with the set's members, as they are called, and the number.
   *
   * @param members field of the members
   * @param value field of the number
   */
  def bySet(numbers: Map[Set[String], Double], members: String, value: String)(called: String => String): JArray =
    JArray(
      numbers.toList.map { case (keys, n) => keys.toList.map(called).sorted -> n }
        .sortBy { case (names, _) => (names.size, names.mkString(",")) }
        .map { case (names, n) => JObject(members -> JArray(names.map(JString(_))), value -> JDouble(n)) }
    )

  /** @throws Unreadable with a sentence for people */
  def parse(text: String): StoredObservation = {
    val json = StrictJson.parse(text).fold(why => bad(s"it $why"), identity)
    if (json \ "format" != JString(Format)) bad(s"""its "format" is not "$Format"""")
    json \ "version" match {
      case JInt(v) if v == Version =>
      case JInt(v) if v.isValidInt => bad(s"it has format version $v, and this release reads version $Version")
      case _ => bad("""it has no "version"""")
    }
    fromJson(json)
  }

  def fromJson(json: JValue): StoredObservation = {
    import fields.{list, number, text}
    def bySet(field: String, value: String, least: Int): Map[Set[String], Double] = list(json \ field, field).map {
      item =>
        list(item \ "keys", s"$field.keys").map(text(_, s"$field.keys")).toSet ->
          number(item \ value, s"$field.$value", least)
    }.toMap
    val names = json \ "names" match {
      case JObject(called) => called.map { case (k, v) => k -> text(v, "names") }.toMap
      case _ => bad("""its field "names" is no object""")
    }
    StoredObservation(
      ObservedKey(text(json \ "source", "source"), text(json \ "reading", "reading"), text(json \ "shape", "shape")),
      text(json \ "snapshot", "snapshot"),
      number(json \ "leaf_rows", "leaf_rows", 0),
      names,
      Observation(
        json \ "rows" match {
          case JNull | JNothing => None
          case v => Some(number(v, "rows", 0))
        },
        bySet("groups", "groups", 0),
        bySet("flow_length", "rows", 1),
        list(json \ "depth_flow_length", "depth_flow_length").map(number(_, "depth_flow_length", 1)).toVector
      )
    )
  }

  private def bad(why: String): Nothing = throw new Unreadable(why)
  private val fields = new JsonFields(why => bad(s"its $why"))
}
