package io.phantoms.spark.api

import io.phantoms.spark.integration.PluginSession
import io.phantoms.spark.stats.supplied.StatisticsException

import org.apache.spark.sql.Dataset
import org.json4s._
import org.json4s.jackson.JsonMethods
import org.scalatest.funsuite.AnyFunSuite

/** Calls by name: each answers JSON, and what is wrong with one is said. */
class PhantomsCallSuite extends AnyFunSuite with PluginSession {
  private def call(name: String, arguments: String = "{}", df: Dataset[_] = null): JValue =
    JsonMethods.parse(PhantomsCall.call(spark, df, name, arguments), useBigDecimalForDouble = false)

  private def refused(name: String, arguments: String = "{}")(code: String, words: String*): Unit = {
    val e = intercept[StatisticsException](PhantomsCall.call(spark, null, name, arguments))
    assert(e.getMessage.startsWith(s"[$code]"), e.getMessage)
    words.foreach(w => assert(e.getMessage.contains(w)))
  }

  test("answers are those of the objects behind the names") {
    val df = spark.sql(PluginSession.sets("flows"))
    assert(call("build_info") == JsonMethods.parse(PhantomsApi.buildInfo()))
    assert(call("is_active") == JBool(true))
    assert(call("explain", df = df) \ "text" == JString(PhantomsApi.explainText(df)))
    assert(call("explain", df = df) \ "document" == JsonMethods.parse(PhantomsApi.explainJson(df)))
    assert(call("why_not", df = df) \ "text" == JString(PhantomsApi.whyNotText(df)))
    assert(call("why_not", df = df) \ "document" == JsonMethods.parse(PhantomsApi.explainJson(df)))
    val question = """{"queries": [["A"], ["B"]], "stats": {"rows": 1000, "groups": {"A": 10, "B": 10, "A,B": 20}}}"""
    assert(call("plan", question) == JsonMethods.parse(PlanApi.planJson(question)))
    assert(call("stats.set_rows", """{"table": "flows", "n": 5000}""") == JNull)
    assert(call("stats.set_groups", """{"table": "flows", "columns": ["k", "m"], "n": 77.5}""") == JNull)
    assert(call("stats.set_flow_length", """{"table": "flows", "columns": [], "length": 3}""") == JNull)
    assert(memory.supplied.get("flows").exists(s => s.rows.contains(5000.0) && s.groups == Map(Set("k", "m") -> 77.5)))
    val path = s"$folder/saved.json"
    assert(call("stats.save", s"""{"path": "$path"}""") == JNull)
    assert(call("stats.clear") == JNull && memory.supplied.all.isEmpty)
    assert(call("stats.load", s"""{"path": "$path"}""") == JNull && memory.supplied.get("flows").nonEmpty)
    assert(call("stats.observed") == JArray(Nil))
    assert(call("stats.sample", df = spark.table("flows")) \ "rows" == JDouble(5000))
    assert((call("machine", """{"value": "{\"c1\": 12.5}"}""") \ "c1") == JDouble(12.5))
    call("stats.clear")
  }

  test("the last execution: the operators of one query, counted") {
    // Without adaptive execution the last operator is asked first.
    for (adaptive <- Seq("true", "false")) withConf("spark.sql.adaptive.enabled" -> adaptive) {
      spark.sql(PluginSession.sets("flows")).collect()
      val rows = spark.sql(PluginSession.union("flows")).collect().length
      val found = call("last_execution")
      val operators = (found \ "operators").children
      assert(operators.map(_ \ "operator") == Seq(JString("PhantomsLfta"), JString("PhantomsMerge")))
      assert(operators.head \ "metrics" \ "rows" == JInt(20000))
      assert(operators.last \ "metrics" \ "numOutputRows" == JInt(rows))
      spark.sql(s"select * from (${PluginSession.union("flows")}) order by n limit 3").collect()
      val JInt(earlier) = found \ "execution_id": @unchecked
      val JInt(later) = call("last_execution") \ "execution_id": @unchecked
      assert(later > earlier)
    }
  }

  test("what is wrong with a call") {
    refused("stats.set_row")("PHANTOMS_UNKNOWN_CALL", "stats.set_row", "stats.set_rows")
    refused("explain")("PHANTOMS_BAD_CALL", "explain", "DataFrame")
    refused("stats.set_rows", "[]")("PHANTOMS_BAD_CALL", "object")
    refused("stats.set_rows", "{")("PHANTOMS_BAD_CALL", "JSON")
    refused("stats.set_rows", """{"table": "flows", "n": 1, "n": 2}""")("PHANTOMS_BAD_CALL", "twice")
    refused("stats.set_rows", """{"table": 7, "n": 1}""")("PHANTOMS_BAD_CALL", "table")
    refused("stats.set_rows", """{"table": "flows"}""")("PHANTOMS_BAD_CALL", "\"n\"")
    refused("stats.set_groups", """{"table": "flows", "columns": "k", "n": 1}""")("PHANTOMS_BAD_CALL", "columns")
    refused("stats.set_rows", """{"table": "flows", "n": -1}""")("PHANTOMS_BAD_NUMBER")
    val e = intercept[StatisticsException](PhantomsCall.call(null, null, "stats.clear", "{}"))
    assert(e.getMessage.startsWith("[PHANTOMS_BAD_CALL]") && e.getMessage.contains("session"))
  }
}
