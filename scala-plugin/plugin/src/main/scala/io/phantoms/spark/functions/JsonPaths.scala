package io.phantoms.spark.functions

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, InputStreamReader}
import java.nio.charset.StandardCharsets

import com.fasterxml.jackson.core.{
  JsonEncoding,
  JsonFactory,
  JsonFactoryBuilder,
  JsonParser,
  JsonProcessingException,
  JsonToken
}
import com.fasterxml.jackson.core.json.JsonReadFeature
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode
import org.apache.spark.sql.catalyst.expressions.json.GetJsonObjectEvaluator
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Several fields of one JSON object, read in one pass: field i is what `get_json_object(child, '$.' || names(i))` answers.
 *
 * Spark reads the text once for each path. The pass here takes the common course only; a text on which it stumbles is
 * handed to Spark's own evaluator, path by path, because what is malformed for one path may be none of another's business.
 *
 * @param names of fields on the top level, distinct
 */
final case class JsonPaths(child: Expression, names: Seq[String]) extends UnaryExpression {
  override def nullable: Boolean = false
  override def dataType: StructType = StructType(names.map(StructField(_, StringType)))
  override def prettyName: String = "json_paths"

  @transient private lazy val reader = new JsonPaths.Reader(names.toArray)

  override def eval(input: InternalRow): Any = reader.read(child.eval(input).asInstanceOf[UTF8String])

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    import org.apache.spark.sql.catalyst.expressions.codegen.Block._
    import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral
    val readerClass = classOf[JsonPaths.Reader].getName
    val list = ctx.addReferenceObj("names", names.toArray, "String[]")
    val made = ctx.addMutableState(readerClass, "json", v => s"$v = new $readerClass($list);", forceInline = true)
    val text = child.genCode(ctx)
    ev.copy(
      code = code"""${text.code}
                   |final InternalRow ${ev.value} = $made.read(${text.isNull} ? null : ${text.value});""".stripMargin,
      isNull = FalseLiteral
    )
  }

  override protected def withNewChildInternal(newChild: Expression): JsonPaths = copy(child = newChild)
}

object JsonPaths {

  // As Spark has it.
  private val factory: JsonFactory = new JsonFactoryBuilder()
    .enable(JsonReadFeature.ALLOW_UNESCAPED_CONTROL_CHARS)
    .enable(JsonReadFeature.ALLOW_SINGLE_QUOTES)
    .build()

  private val Field = """\$\.([A-Za-z_][A-Za-z0-9_]*)""".r

  /** The field that a call reads, and nothing below it. */
  private object FieldOf {
    def unapply(e: Expression): Option[(Expression, String)] = e match {
      case GetJsonObject(json, Literal(path: UTF8String, StringType)) if json.dataType == StringType =>
        path.toString match {
          case Field(name) => Some(json -> name)
          case _ => None
        }
      case _ => None
    }
  }

  /**
   * The expressions with several fields of one text read together, where at least two are read for every row.
   *
   * @param whole expressions of which all parts count that are evaluated whenever they are
   */
  def together(whole: Seq[Expression]): Expression => Expression = {
    val evaluated = new EquivalentExpressions
    whole.foreach(evaluated.addExprTree(_))
    val read = whole.flatMap(_.collect {
      case e @ FieldOf(json, name) if evaluated.getExprState(e).nonEmpty => ExpressionEquals(json) -> name
    }).distinct
    val merged = read.groupMap(_._1)(_._2).collect {
      case (json, names) if names.size > 1 => json -> JsonPaths(json.e, names.sorted)
    }
    if (merged.isEmpty) identity
    else _.transformUp { case e @ FieldOf(json, name) =>
      merged.get(ExpressionEquals(json)).filter(_.names.contains(name))
        .fold[Expression](e)(all => GetStructField(all, all.names.indexOf(name), Some(name)))
    }
  }

  /** Reads texts one after the other; not for several threads. */
  final class Reader(names: Array[String]) {
    private lazy val byPath = names.map(name => new GetJsonObjectEvaluator(UTF8String.fromString("$." + name)))
    private val found = new Array[UTF8String](names.length)

    /** A row of its own for every text, so that it may be kept. */
    def read(json: UTF8String): InternalRow = {
      java.util.Arrays.fill(found.asInstanceOf[Array[AnyRef]], null)
      if (json != null) {
        try onePass(json)
        catch { case _: JsonProcessingException => pathByPath(json) }
      }
      new GenericInternalRow(found.toArray[Any])
    }

    private def pathByPath(json: UTF8String): Unit = names.indices.foreach { i =>
      byPath(i).setJson(json)
      found(i) = byPath(i).evaluate().asInstanceOf[UTF8String]
    }

    private def onePass(json: UTF8String): Unit = {
      val bytes = json.getByteBuffer
      val stream =
        new ByteArrayInputStream(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining())
      val parser = factory.createParser(new InputStreamReader(stream, StandardCharsets.UTF_8))
      try {
        if (parser.nextToken() == JsonToken.START_OBJECT) {
          while (parser.nextToken() != JsonToken.END_OBJECT) {
            if (parser.currentToken == JsonToken.FIELD_NAME) {
              val i = ordinal(parser.currentName)
              val value = parser.nextToken()
              // The first value that is not null counts.
              if (i >= 0 && found(i) == null && value != JsonToken.VALUE_NULL) found(i) = text(parser)
            }
            val _ = parser.skipChildren()
          }
        }
      } finally parser.close()
    }

    private def ordinal(name: String): Int = {
      var i = names.length - 1
      while (i >= 0 && names(i) != name) i -= 1
      i
    }

    private def text(parser: JsonParser): UTF8String = parser.currentToken match {
      case JsonToken.VALUE_STRING if isPlain(parser) => UTF8String.fromString(parser.getText)
      case JsonToken.VALUE_NUMBER_INT if parser.getNumberType != JsonParser.NumberType.BIG_INTEGER =>
        UTF8String.fromString(java.lang.Long.toString(parser.getLongValue))
      case token => written(parser, raw = token == JsonToken.VALUE_STRING)
    }

    /** Whether no character of a text is half of a pair, which only the generator knows to join or to refuse. */
    private def isPlain(parser: JsonParser): Boolean = {
      val chars = parser.getTextCharacters
      val end = parser.getTextOffset + parser.getTextLength
      var i = parser.getTextOffset
      while (i < end && !Character.isSurrogate(chars(i))) i += 1
      i == end
    }

    /** As Spark writes it. */
    private def written(parser: JsonParser, raw: Boolean): UTF8String = {
      val out = new ByteArrayOutputStream()
      val generator = factory.createGenerator(out, JsonEncoding.UTF8)
      try {
        if (raw) generator.writeRaw(parser.getText) else generator.copyCurrentStructure(parser)
      } finally generator.close()
      UTF8String.fromBytes(out.toByteArray)
    }
  }
}
