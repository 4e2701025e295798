package io.phantoms.spark.functions

import scala.util.Random

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeProjection
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** Fields read in one pass against Spark's `get_json_object`, path by path. */
class JsonPathsSuite extends AnyFunSuite {
  private val names = Seq("a", "b", "ms", "longer_name")
  private val text = BoundReference(0, StringType, nullable = true)
  private val spark = names.map(n => GetJsonObject(text, Literal(s"$$.$n")))
  private val together = JsonPaths(text, names)
  private val fields = names.indices.map(i => GetStructField(together, i))
  private val generated = GenerateUnsafeProjection.generate(fields)

  private def check(json: String): Unit = {
    val row = InternalRowOf(UTF8String.fromString(json))
    val expected = spark.map(_.eval(row))
    assert(fields.map(_.eval(row)) == expected, s"$json")
    val ours = generated(row)
    assert(names.indices.map(i => if (ours.isNullAt(i)) null else ours.getUTF8String(i)) == expected, s"$json")
    ()
  }

  test("values of every kind, duplicates, and what is not an object") {
    Seq(
      null,
      "",
      " ",
      "{}",
      "null",
      "7",
      "\"a\"",
      "[{\"a\":1}]",
      """{"a":1,"b":"x","ms":-3,"longer_name":null}""",
      """{"a":1.50,"b":1e3,"ms":12345678901234567890123,"longer_name":1.7976931348623157e309}""",
      """{"a":-0,"b":-0.0,"ms":9223372036854775807,"longer_name":-9223372036854775808}""",
      """{"a":null,"a":2,"b":3,"b":4,"ms":null}""",
      """{"x":{"a":1},"a":{"b":[1,"two",{"a":null}]},"b":[],"ms":{}}""",
      """{"a":true,"b":false,"ms":"","longer_name":" "}""",
      """{'a':'single','b':"mixed"}""",
      """{"a":"é ü 𝄞 \n\t\"\\","b":"#d834","ms":"#dd1e x","longer_name":"#00e9 #d834#dd1e"}""".replace("#", "\\u"),
      "{\"a\":\"tab\there\",\"b\":\"line\nbreak\"}",
      """{"a":1,"b":2} trailing""",
      """{"a":1}{"b":2}""",
      """{"a":1,"b":""",
      """{"a":1,"b":nonsense}""",
      """{"a":01}""",
      """{"a":1,}""",
      """{"a":NaN}""",
      """{a:1}""",
      """{"#0061":"escaped name"}""".replace("#", "\\u"),
      "{\"a\":1 /* no */,\"b\":2}"
    ).foreach(check)
  }

  test("seeded texts, whole and damaged") {
    val random = new Random(13)
    def scalar(): String = random.nextInt(9) match {
      case 0 => "null"
      case 1 => random.nextInt().toString
      case 2 => random.nextDouble().toString
      case 3 => random.nextBoolean().toString
      case 4 => BigInt(100, random).toString
      case 5 => "\"\\u" + "%04x".format(random.nextInt(0x10000)) + "\""
      case _ =>
        "\"" + Seq.fill(random.nextInt(6))("aé𝄞 z\\n'".charAt(random.nextInt(6))).mkString.replace("\\", "") + "\""
    }
    def value(depth: Int): String = random.nextInt(6) match {
      case 0 if depth < 3 => obj(depth + 1)
      case 1 if depth < 3 => Seq.fill(random.nextInt(3))(value(depth + 1)).mkString("[", ",", "]")
      case _ => scalar()
    }
    def obj(depth: Int): String = Seq.fill(random.nextInt(6)) {
      s""""${(names :+ "other")(random.nextInt(names.size + 1))}":${value(depth)}"""
    }.mkString("{", ",", "}")
    for (_ <- 0 until 3000) {
      val whole = obj(0)
      check(whole)
      val at = random.nextInt(whole.length)
      check(random.nextInt(3) match {
        case 0 => whole.take(at)
        case 1 => whole.patch(at, "", 1)
        case _ => whole.patch(at, ",:{}[]\"x".charAt(random.nextInt(8)).toString, random.nextInt(2))
      })
    }
  }

  test("fields are read together where two are read for every row, of one text") {
    val (a, b) = (spark(0), spark(1))
    def merged(es: Expression*): Int = es.map(JsonPaths.together(es)).count(_.exists(_.isInstanceOf[JsonPaths]))
    val isNull = IsNull(BoundReference(1, IntegerType, nullable = true))
    assert(merged(a, b) == 2)
    assert(merged(Concat(Seq(a, b))) == 1)
    assert(merged(a, a) == 0)
    assert(merged(a, If(isNull, b, Literal(null, StringType))) == 0)
    assert(merged(a, GetJsonObject(BoundReference(2, StringType, nullable = true), Literal("$.b"))) == 0)
    assert(merged(a, GetJsonObject(text, Literal("$.b.c"))) == 0)
    assert(merged(a, GetJsonObject(text, Literal("$.*"))) == 0)
    assert(merged(a, GetJsonObject(text, Literal(null, StringType))) == 0)
    // Those that are known already serve where the others are read under a condition, too.
    assert(merged(a, b, If(isNull, b, Literal(null, StringType))) == 3)
  }
}
