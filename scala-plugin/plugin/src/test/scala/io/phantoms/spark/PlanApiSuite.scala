package io.phantoms.spark

import org.json4s._
import org.json4s.jackson.JsonMethods
import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.stats.StatisticsException

class PlanApiSuite extends AnyFunSuite {
  implicit private val formats: Formats = DefaultFormats

  private val smap =
    """{"queries": [["A","B"], {"keys": ["B","C"], "window": null}, ["B","D"], ["C","D"]],
      | "stats": {"rows": 5e7, "flow_length": 30,
      |  "groups": {"A,B": 1846, "B,C": 1520, "B,D": 1610, "C,D": 2130, "B,C,D": 2117, "A,B,C,D": 2837}}}""".stripMargin

  test("SMAP's four queries are answered through phantoms") {
    val plan = JsonMethods.parse(PlanApi.planJson(smap))
    assert((plan \ "shared").extract[Boolean])
    assert((plan \ "configuration").extract[String].contains("("))
    assert((plan \ "cost").extract[Double] < (plan \ "cost_without").extract[Double])
    val tables = (plan \ "tables").children
    assert(tables.flatMap(t => (t \ "queries").extract[List[Int]]).sorted == List(0, 1, 2, 3))
    tables.zipWithIndex.foreach { case (t, i) =>
      assert((t \ "parent").extractOpt[Int].forall(_ < i))
      assert(Set("shipped", "feeds", "derived")((t \ "placement").extract[String]))
      assert((t \ "groups").extract[Double] >= 1 && (t \ "collision_rate").extract[Double] <= 1)
    }
    val ab = tables.find(t => (t \ "keys").extract[List[String]] == List("A", "B")).get
    assert((ab \ "groups").extract[Double] == 1846)
  }

  test("a relation of the second tier says where it is shipped again") {
    val plan = JsonMethods.parse(PlanApi.planJson(
      """{"queries": [["A","B"], ["A","C"], ["B","C"]], "memory": 8388608, "buffer_bits": 192, "min_savings": -1,
        | "stats": {"rows": 2e7, "flow_length": 1, "groups": {"A": 1000, "B": 1000, "C": 1000, "A,B": 400000,
        |  "A,C": 400000, "B,C": 400000, "A,B,C": 1000000}}}""".stripMargin
    ))
    val again = (plan \ "tables").children.filter(t => (t \ "placement").extract[String] == "second tier")
    assert(again.size == 1)
    assert((again.head \ "shard_key").extract[List[String]] == (again.head \ "keys").extract[List[String]])
    assert((again.head \ "shards").extract[Int] > 1 && (again.head \ "buckets").extract[Int] == 0)
    assert((again.head \ "evictions").extract[Double] >= (again.head \ "groups").extract[Double])
  }

  test("chooser none shares nothing") {
    val plan = JsonMethods.parse(PlanApi.planJson(smap.dropRight(1) + """, "chooser": "none"}"""))
    assert(!(plan \ "shared").extract[Boolean] && (plan \ "configuration") == JNull)
    assert((plan \ "tables").children.isEmpty && (plan \ "cost") == (plan \ "cost_without"))
  }

  test("SMAP's algorithms by name, phi included") {
    for (name <- Seq("gcsl", "gcsr", "gcpl", "gcpr", "gces", "gp", "gp(0.5)", "epes")) {
      val plan = JsonMethods.parse(PlanApi.planJson(smap.dropRight(1) + s", \"chooser\": \"$name\"}"))
      assert((plan \ "algorithm").extract[String] == name)
      assert((plan \ "tables").children.forall(t => (t \ "placement").extract[String] != "derived"), name)
      assert((plan \ "tables").children.exists(t => (t \ "placement").extract[String] == "feeds"), name)
    }
  }

  test("names longer than a letter get a legend") {
    val plan = JsonMethods.parse(PlanApi.planJson(
      """{"queries": [["src","dst"], ["src"], ["dst"]], "stats": {"rows": 1e8, "groups": {"src,dst": 1000, "src": 50, "dst": 60}}}"""
    ))
    assert((plan \ "legend").extract[Map[String, String]] == Map("A" -> "src", "B" -> "dst"))
  }

  test("what is wrong is named") {
    def error(spec: String): StatisticsException = intercept[StatisticsException](PlanApi.planJson(spec))
    val cases = Seq(
      "nonsense" -> "JSON",
      "[]" -> "specification",
      """{"stats": {"rows": 1}}""" -> "queries: missing",
      """{"queries": [], "stats": {"rows": 1}}""" -> "queries",
      """{"queries": ["A,B"], "stats": {"rows": 1}}""" -> "queries[0]",
      """{"queries": [["A", 3]], "stats": {"rows": 1}}""" -> "queries[0][1]",
      """{"queries": [["A", "A"]], "stats": {"rows": 1}}""" -> "column A twice",
      """{"queries": [{"window": null}], "stats": {"rows": 1}}""" -> "queries[0].keys",
      """{"queries": [{"keys": ["A"], "colour": 1}], "stats": {"rows": 1}}""" -> "queries[0].colour",
      """{"queries": [["A"]]}""" -> "stats: missing",
      """{"queries": [["A"]], "stats": {}}""" -> "stats.rows",
      """{"queries": [["A"]], "stats": {"rows": "many"}}""" -> "stats.rows",
      """{"queries": [["A"]], "stats": {"rows": -1}}""" -> "stats.rows",
      """{"queries": [["A"]], "stats": {"rows": 1, "groups": {"B": 1}}}""" -> "column B",
      """{"queries": [["A"]], "stats": {"rows": 1, "groups": {"A": 0}}}""" -> "stats.groups.A",
      """{"queries": [["A"]], "stats": {"rows": 1, "flow_length": 0.5}}""" -> "stats.flow_length",
      """{"queries": [["A"]], "stats": {"rows": 1, "lines": 1}}""" -> "stats.lines",
      """{"queries": [["A"]], "stats": {"rows": 1}, "memory": 0}""" -> "memory",
      """{"queries": [["A"]], "stats": {"rows": 1}, "chooser": "magic"}""" -> "chooser",
      """{"queries": [["A"]], "stats": {"rows": 1}, "chooser": "gp(0)"}""" -> "chooser",
      """{"queries": [["A"]], "stats": {"rows": 1}, "chosen": 1}""" -> "chosen"
    )
    cases.foreach { case (spec, what) =>
      val e = error(spec)
      assert(
        e.getMessage.startsWith("[PHANTOMS_BAD_PLAN_SPEC]") && e.getMessage.contains(what),
        s"$spec: ${e.getMessage}"
      )
    }
    for (field <- Seq("window", "predicate")) {
      val e = error(s"""{"queries": [{"keys": ["A"], "$field": "x"}], "stats": {"rows": 1}}""")
      assert(e.errorClass == "PHANTOMS_UNSUPPORTED" && e.getMessage.contains(s"queries[0].$field"))
    }
  }
}
