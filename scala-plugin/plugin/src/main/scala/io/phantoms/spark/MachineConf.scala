package io.phantoms.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.util.control.NonFatal

import org.json4s._
import org.json4s.jackson.JsonMethods

import io.phantoms.spark.choose.{Machine, MachineConstants}

/**
 * Values of `spark.phantoms.machine`: `c1=12,c2=140`, the same as a JSON object, or a file that holds either.
 *
 * A file of `phantoms.calibrate` is a JSON object with the constants under `constants`; what else it says is for people.
 */
object MachineConf {
  val Key = "spark.phantoms.machine"

  /** Whether a value holds the constants themselves and does not name a file. */
  def isInline(value: String): Boolean = value.trim.startsWith("{") || value.contains("=")

  /** The value itself, if it is a file's name or constants that can be read. */
  def checked(value: String): String = {
    if (isInline(value)) machine(value).left.foreach(why => throw new IllegalArgumentException(s"$Key: $why"))
    value
  }

  /** The machine that a value describes (constants it does not name have their defaults), or a sentence why not. */
  def read(value: String): Either[String, Machine] =
    if (value.trim.isEmpty) Right(Machine())
    else if (isInline(value)) machine(value)
    else {
      val file = value.trim
      try machine(new String(Files.readAllBytes(Paths.get(file)), UTF_8)).left.map(why => s"File $file: $why")
      catch { case NonFatal(e) => Left(s"The file $file cannot be read on the driver ($e).") }
    }

  private def machine(text: String): Either[String, Machine] = {
    val values = if (text.trim.startsWith("{")) fromJson(text) else MachineConstants.pairs(text.trim)
    values.flatMap(MachineConstants.replaced(Machine(), _))
  }

  private def fromJson(text: String): Either[String, Seq[(String, Double)]] = {
    val parsed =
      try Right(JsonMethods.parse(text))
      catch { case NonFatal(e) => Left(s"It is no valid JSON: ${e.getMessage.linesIterator.next()}.") }
    parsed.flatMap { json =>
      json \ "constants" match {
        case o: JObject => numbers(o)
        case JNothing => numbers(json)
        case _ => Left("Its 'constants' are no JSON object.")
      }
    }
  }

  private def numbers(json: JValue): Either[String, Seq[(String, Double)]] = json match {
    case JObject(fields) =>
      fields.foldLeft[Either[String, Seq[(String, Double)]]](Right(Nil)) { case (read, (name, v)) =>
        read.flatMap { before =>
          v match {
            case JInt(n) => Right(before :+ (name -> n.toDouble))
            case JLong(n) => Right(before :+ (name -> n.toDouble))
            case JDouble(n) => Right(before :+ (name -> n))
            case JDecimal(n) => Right(before :+ (name -> n.toDouble))
            case _ => Left(s"$name is no number.")
          }
        }
      }
    case _ => Left("It is no JSON object.")
  }
}
