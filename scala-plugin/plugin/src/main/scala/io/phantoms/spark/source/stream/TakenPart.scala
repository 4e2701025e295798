package io.phantoms.spark.source.stream

import org.json4s._
import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.{compact, parse, render}

/**
 * What a batch takes of a file, and what has to be remembered of the file for the batches to come.
 *
 * @param path as a URI
 * @param from where a record begins
 * @param until the first byte that is not taken
 * @param length the file's when it was looked at
 * @param modified when it was changed last, in milliseconds since 1970
 * @param headers where the blocks are that a reader has to know who begins at `from`; None: nobody has looked
 * @param growth how the file is followed if it grows; None: it is not
 */
final case class TakenPart(
    path: String,
    from: Long,
    until: Long,
    length: Long,
    modified: Long,
    headers: Option[Seq[Long]],
    growth: Option[Growth]
) {
  def bytes: Long = until - from

  /** As a line of the log. */
  def json: String = {
    val taken =
      ("path" -> path) ~ ("from" -> from) ~ ("until" -> until) ~ ("length" -> length) ~ ("modified" -> modified)
    val read = headers.fold(taken)(h => taken ~ ("headers" -> h))
    compact(render(growth.fold(read) { g =>
      val known = ("whole" -> g.whole) ~ ("first" -> g.first) ~ ("checksum" -> g.checksum)
      read ~ ("growth" -> g.headers.fold(known)(h => known ~ ("headers" -> h)))
    }))
  }
}

/**
 * What is known of a capture that may grow.
 *
 * @param whole where a record ends, the last one that was followed
 * @param headers what a reader has to know who begins there
 * @param first how many of the file's first bytes the checksum is made of
 * @param checksum by which another file under the same name is told
 */
final case class Growth(whole: Long, headers: Option[Seq[Long]], first: Int, checksum: Long)

object TakenPart {
  private implicit val formats: Formats = DefaultFormats

  // None and an empty list are two things.
  private def headersOf(v: JValue): Option[Seq[Long]] = v \ "headers" match {
    case list: JArray => Some(list.extract[Seq[Long]])
    case _ => None
  }

  /** Reads a line of the log; throws whatever the parser throws if it is none. */
  def of(line: String): TakenPart = {
    val v = parse(line)
    TakenPart(
      (v \ "path").extract[String],
      (v \ "from").extract[Long],
      (v \ "until").extract[Long],
      (v \ "length").extract[Long],
      (v \ "modified").extract[Long],
      headersOf(v),
      v \ "growth" match {
        case g: JObject =>
          Some(Growth(
            (g \ "whole").extract[Long],
            headersOf(g),
            (g \ "first").extract[Int],
            (g \ "checksum").extract[Long]
          ))
        case _ => None
      }
    )
  }
}
