package io.phantoms.spark.files

import org.json4s._

/**
 * Reads the fields of statistics in JSON. Errors do not quote what a field holds.
 *
 * @param bad throws what a field that cannot be read means to the reader, given a text that says why
 */
private[spark] final class JsonFields(bad: String => Nothing) {
  def text(v: JValue, field: String): String = v match {
    case JString(s) => s
    case _ => bad(s"""field "$field" is not a text""")
  }

  def list(v: JValue, field: String): List[JValue] = v match {
    case JArray(items) => items
    case _ => bad(s"""field "$field" is not a list""")
  }

  /** A finite number. */
  def number(v: JValue, field: String, least: Int = 0): Double = {
    val n = v match {
      case JInt(i) => i.toDouble
      case JDouble(d) => d
      case JLong(l) => l.toDouble
      case JDecimal(d) => d.toDouble
      case _ => bad(s"""field "$field" is not a number""")
    }
    if (n >= least && !n.isInfinite) n else bad(s"""field "$field" is out of range; it must be at least $least""")
  }
}
