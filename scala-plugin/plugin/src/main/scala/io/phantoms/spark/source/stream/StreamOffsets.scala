package io.phantoms.spark.source.stream

import org.json4s._
import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.{compact, parseOpt, render}

import org.apache.spark.sql.connector.read.streaming.Offset

/** How far a stream of files has come: the number of the last entry of its log; -1 before the first. */
final case class EntryOffset(entry: Long) extends Offset {
  override def json: String = compact(render("entry" -> entry))
}

object EntryOffset {
  def of(json: String): EntryOffset = StreamOffsets.field(json, "entry") match {
    case Some(JInt(entry)) => EntryOffset(entry.toLong)
    case _ => throw StreamOffsets.other(json, "files")
  }
}

/**
 * How far a stream of datagrams has come.
 *
 * @param listener whose datagrams they are: numbers begin anew with each start
 * @param datagram the number of the next one
 */
final case class DatagramOffset(listener: String, datagram: Long) extends Offset {
  override def json: String = compact(render(("listener" -> listener) ~ ("datagram" -> datagram)))
}

object DatagramOffset {
  def of(json: String): DatagramOffset =
    (StreamOffsets.field(json, "listener"), StreamOffsets.field(json, "datagram")) match {
      case (Some(JString(listener)), Some(JInt(datagram))) => DatagramOffset(listener, datagram.toLong)
      case _ => throw StreamOffsets.other(json, "a UDP port")
    }
}

private object StreamOffsets {
  def field(json: String, name: String): Option[JValue] = parseOpt(json).map(_ \ name).filter(_ != JNothing)

  def other(json: String, expected: String): IllegalStateException = new IllegalStateException(
    s"The checkpoint is not of a stream of $expected: it says $json. Use another checkpointLocation, or read what the " +
      "query read that made it."
  )
}
