package io.phantoms.spark.conf

import org.json4s._

import io.phantoms.spark.files.{SmallFile, StrictJson}
import io.phantoms.spark.model.{Machine, MachineConstants}

/**
 * Values of `spark.phantoms.machine`: `c1=12,c2=140`, the same as a JSON object, or a file that holds either.
 *
 * A file's content is never quoted. One of `phantoms.calibrate` is a JSON object with the constants under `constants`; what else it says is for people.
 */
object MachineConf {
  val Key = "spark.phantoms.machine"

  /** Bytes of a file: those of `phantoms.calibrate` have some ten thousand. */
  private val MostBytes = 1 << 20

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
      SmallFile.read(file, MostBytes).left.map(no => s"The file $file ${no.why}.")
        .flatMap(machine(_, quoting = false).left.map(why => s"The file $file is no use: $why"))
    }

  private def machine(text: String, quoting: Boolean = true): Either[String, Machine] = {
    val values =
      if (text.trim.startsWith("{")) fromJson(text, quoting) else MachineConstants.pairs(text.trim, quoting)
    values.flatMap(MachineConstants.replaced(Machine(), _, quoting))
  }

  private def fromJson(text: String, quoting: Boolean): Either[String, Seq[(String, Double)]] =
    StrictJson.parse(text).left.map(why => s"It $why.").flatMap { json =>
      json \ "constants" match {
        case o: JObject => numbers(o, quoting)
        case JNothing => numbers(json, quoting)
        case _ => Left("Its 'constants' are no JSON object.")
      }
    }

  private def numbers(json: JValue, quoting: Boolean): Either[String, Seq[(String, Double)]] = json match {
    case JObject(fields) =>
      fields.foldLeft[Either[String, Seq[(String, Double)]]](Right(Nil)) { case (read, (name, v)) =>
        read.flatMap { before =>
          v match {
            case JInt(n) => Right(before :+ (name -> n.toDouble))
            case JLong(n) => Right(before :+ (name -> n.toDouble))
            case JDouble(n) => Right(before :+ (name -> n))
            case JDecimal(n) => Right(before :+ (name -> n.toDouble))
            case _ => Left(s"${if (quoting) name else "One of its constants"} is no number.")
          }
        }
      }
    case _ => Left("It is no JSON object.")
  }
}
