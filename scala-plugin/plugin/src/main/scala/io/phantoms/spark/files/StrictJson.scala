package io.phantoms.spark.files

import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException}
import com.fasterxml.jackson.databind.{DeserializationFeature, ObjectMapper}
import org.json4s.JValue
import org.json4s.jackson.{Json4sScalaModule, JsonMethods}

/**
 * JSON in which no object has a name twice: of two numbers for one thing, nobody knows which is meant. Errors tell where,
 * and nothing of the text.
 */
private[spark] object StrictJson {

  // As json4s's own reads JSON, but for duplicates.
  private object Reader extends JsonMethods {
    override val mapper: ObjectMapper = {
      val made = new ObjectMapper()
      made.registerModule(new Json4sScalaModule)
      made.configure(DeserializationFeature.USE_BIG_INTEGER_FOR_INTS, true)
      made.getFactory.enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
      made
    }
  }

  /** The value, or what is wrong with the text, as the end of a sentence that begins with it. */
  def parse(text: String): Either[String, JValue] =
    try Right(Reader.parse(text))
    catch {
      case e: JsonProcessingException => Left(s"${what(e)}${where(e)}")
      case e if SmallFile.isFailure(e) => Left(s"is not valid JSON (${e.getClass.getSimpleName})")
    }

  private def what(e: JsonProcessingException): String =
    if (Option(e.getOriginalMessage).exists(_.startsWith("Duplicate field"))) "has a name twice in one JSON object"
    else "is not valid JSON"

  private def where(e: JsonProcessingException): String =
    Option(e.getLocation).filter(_.getLineNr > 0).fold("")(at => s" (line ${at.getLineNr}, column ${at.getColumnNr})")
}
