package io.phantoms.spark.api

import org.json4s._
import org.json4s.jackson.JsonMethods
import org.scalatest.funsuite.AnyFunSuite

import io.phantoms.spark.stats.supplied.StatisticsException

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
  }

  test("windows and predicates: parts with their slices and fragments") {
    val plan = JsonMethods.parse(PlanApi.planJson(
      """{"queries": [{"keys": ["A"], "window": {"range": 60, "slide": 10}},
        |             {"keys": ["A", "B"], "window": {"range": 30, "slide": 10}},
        |             {"keys": ["B"], "predicate": "web"}, {"keys": ["B"], "predicate": "large"}],
        | "stats": {"rows": 1e8, "groups": {"A": 50, "B": 60, "A,B": 1000}, "flow_length": 10, "span": 3600,
        |           "signatures": {"web": 0.3, "web,large": 0.2, "large": 0.1}}}""".stripMargin
    ))
    assert((plan \ "shared").extract[Boolean])
    val parts = (plan \ "parts").extract[List[JValue]]
    assert(parts.flatMap(p => (p \ "queries").extract[List[Int]]).sorted == List(0, 1, 2, 3))
    val windowed = parts.find(p => (p \ "queries").extract[List[Int]].contains(0)).get
    assert((windowed \ "slices").extract[Double] == 360)
    assert((windowed \ "queries").extract[List[Int]].contains(1))
    val filtered = parts.find(p => (p \ "queries").extract[List[Int]].contains(2)).get
    assert((filtered \ "fragments").extract[Int] >= 3)
    assert((parts.map(p => (p \ "cost").extract[Double]).sum / (plan \ "cost").extract[Double] - 1).abs < 1e-9)
    assert((plan \ "cost").extract[Double] < (plan \ "cost_without").extract[Double])
    assert((plan \ "margin").extract[Double] > 0)
    assert((plan \ "tables").extract[List[JValue]].nonEmpty)
  }

  test("the runner-up and the margin") {
    val plan = JsonMethods.parse(PlanApi.planJson(
      """{"queries": [["A","B"], ["B","C"]], "stats": {"rows": 1e8, "groups": {"A,B": 1000, "B,C": 2000}}}"""
    ))
    val (cost, second) = ((plan \ "cost").extract[Double], (plan \ "runner_up" \ "cost").extract[Double])
    assert(second >= cost && (plan \ "runner_up" \ "description").extract[String].nonEmpty)
    assert((plan \ "margin").extract[Double] == second / cost - 1)
    assert((plan \ "parts").extract[List[JValue]].size == 1)
  }

  test("what is wrong with windows and predicates is named") {
    val stats = """"stats": {"rows": 1000, "span": 10, "signatures": {"p": 0.5}}"""
    Seq(
      s"""{"queries": [{"keys": ["A"], "window": "x"}], $stats}""" -> "queries[0].window",
      s"""{"queries": [{"keys": ["A"], "window": {"slide": 3}}], $stats}""" -> "queries[0].window.range",
      s"""{"queries": [{"keys": ["A"], "window": {"range": 2.5}}], $stats}""" -> "queries[0].window.range",
      s"""{"queries": [{"keys": ["A"], "window": {"range": 3, "width": 3}}], $stats}""" -> "queries[0].window.width",
      """{"queries": [{"keys": ["A"], "window": {"range": 3}}], "stats": {"rows": 1}}""" -> "stats.span",
      s"""{"queries": [{"keys": ["A"], "predicate": 3}], $stats}""" -> "queries[0].predicate",
      s"""{"queries": [{"keys": ["A"], "predicate": "q"}], $stats}""" -> "stats.signatures: predicate p",
      """{"queries": [{"keys": ["A"], "predicate": "p"}], "stats": {"rows": 1}}""" -> "stats.signatures: missing",
      """{"queries": [{"keys": ["A"], "predicate": "p"}], "stats": {"rows": 1, "signatures": {"p": 1.5}}}""" -> "1.5"
    ).foreach { case (spec, what) =>
      val e = intercept[StatisticsException](PlanApi.planJson(spec))
      assert(e.errorClass == "PHANTOMS_BAD_PLAN_SPEC" && e.getMessage.contains(what), s"$spec: ${e.getMessage}")
    }
  }
}
