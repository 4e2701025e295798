package io.phantoms.spark.explain

import java.nio.file.Files

import io.phantoms.spark.TestSessions
import io.phantoms.spark.api.PhantomsApi
import io.phantoms.spark.decide.{Declined, Shared}
import io.phantoms.spark.physical.SharedMerge
import io.phantoms.spark.shims.BuildInfo

import org.apache.spark.sql.SparkSession
import org.json4s._
import org.json4s.jackson.JsonMethods
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** The extension in a session as users have it, and what it says of their queries. */
class ExplanationsSuite extends AnyFunSuite with BeforeAndAfterAll {
  private var spark: SparkSession = _

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark = TestSessions.start(
      Map(
        "spark.sql.extensions" -> "io.phantoms.spark.PhantomsExtensions",
        "spark.sql.shuffle.partitions" -> "2",
        "spark.phantoms.strict" -> "true",
        // One query must not change the plan of the next.
        "spark.phantoms.stats.observe" -> "false",
        "spark.phantoms.minSavings" -> "-1",
        "spark.sql.planChangeValidation" -> "true"
      )
    )
    val folder = Files.createTempDirectory("phantoms-explain").toString
    spark.range(5000).selectExpr("id % 7 as srcip", "id % 11 as dstip", "id % 3 as port", "id as octets")
      .write.parquet(s"$folder/flows")
    spark.read.parquet(s"$folder/flows").createOrReplaceTempView("flows")
  }

  override def afterAll(): Unit =
    try TestSessions.end(spark)
    finally super.afterAll()

  private val sets =
    "select srcip, dstip, sum(octets) from flows group by grouping sets ((srcip), (dstip), (srcip, dstip))"

  test("the session has the plugin") {
    assert(PhantomsApi.isActive(spark))
    val info = JsonMethods.parse(PhantomsApi.buildInfo())
    assert(info \ "spark_minor" == JString(BuildInfo.current.sparkMinor))
    assert(BuildInfo.runningSpark.startsWith(BuildInfo.current.sparkMinor))
  }

  test("a query is rewritten, and not while the plugin is switched off") {
    assert(spark.sql(sets).queryExecution.optimizedPlan.exists(_.isInstanceOf[SharedMerge]))
    val on = spark.sql(sets).collect().map(_.toString).sorted.toSeq
    spark.sql("set spark.phantoms.enabled=false")
    try {
      assert(!spark.sql(sets).queryExecution.optimizedPlan.exists(_.isInstanceOf[SharedMerge]))
      assert(spark.sql(sets).collect().map(_.toString).sorted.toSeq == on)
      assert(codes(sets) == Seq("DISABLED"))
      assert(PhantomsApi.isActive(spark))
    } finally { val _ = spark.sql("reset spark.phantoms.enabled") }
  }

  test("a shared workload as JSON") {
    val json = JsonMethods.parse(PhantomsApi.explainJson(spark.sql(sets)))
    assert(json \ "version" == JString(BuildInfo.current.version))
    val JArray(List(d)) = json \ "decisions": @unchecked
    assert(d \ "decision" == JString("shared") && d \ "code" == JString("SHARED"))
    assert(d \ "rows" == JDouble(5000))
    val JString(notation) = d \ "notation": @unchecked
    assert(notation.nonEmpty && notation.count(_ == '(') == notation.count(_ == ')'))
    assert((d \ "legend").asInstanceOf[JObject].obj.map(_._2).toSet == Set(JString("srcip"), JString("dstip")))
    assert(d \ "queries" == JArray(List(names("srcip"), names("dstip"), names("srcip", "dstip"))))
    assert(d \ "machine" \ "c2" == JDouble(150))
    val JArray(relations) = d \ "relations": @unchecked
    val answered = relations.flatMap(r => (r \ "queries").asInstanceOf[JArray].arr)
    assert(answered.toSet == Set(JInt(0), JInt(1), JInt(2)))
    val finest = relations.find(_ \ "keys" == names("srcip", "dstip")).get
    assert(finest \ "expected_groups" == JDouble(77) && finest \ "phantom" == JBool(false))
    for (r <- relations; JInt(parent) <- Seq(r \ "parent")) assert(parent < relations.indexOf(r))
    for (field <- Seq("cost", "cost_without")) assert((d \ field).asInstanceOf[JDouble].num > 0)
  }

  test("the text begins with the notation, and its tables use the letters that it explains") {
    val text = PhantomsApi.explainText(spark.sql(sets))
    val JString(notation) = (JsonMethods.parse(PhantomsApi.explainJson(spark.sql(sets))) \ "decisions")(0) \
      "notation": @unchecked
    assert(text.linesIterator.next() == notation)
    assert(text.contains("  where A = srcip, B = dstip\n") && text.contains("3 groupBys over 5,000 rows"))
    val title :: rows = text.linesIterator.dropWhile(!_.startsWith("  #")).takeWhile(!_.contains("decided with"))
      .toList: @unchecked
    assert(title.startsWith("  #  relation  answers"))
    assert(rows.map(_.trim.split(" +")(1)).toSet == Set("AB", "A", "B"))
    assert(
      text.contains("groups AB 77 (sample)") && text.linesIterator.dropWhile(_ != title).forall(!_.contains("srcip"))
    )
    assert(text.contains("rows 5000 (sample)"))
  }

  test("what was left alone, with code and sentence") {
    val df = spark.sql("select srcip, dstip, histogram_numeric(octets, 5) from flows group by cube(srcip, dstip)")
    val why = PhantomsApi.whyNotText(df)
    assert(why.contains("UNSUPPORTED_FUNCTION") && why.contains("histogram_numeric"))
    assert(Explanations.explain(df).forall(_.isInstanceOf[Declined]))
    assert(codes("select srcip, count(*) from flows group by srcip") == Seq("SINGLE_AGGREGATE"))
    assert(codes("select srcip from flows") == Nil)
    assert(PhantomsApi.explainText(spark.sql("select srcip from flows")) == "no groupBy in this query")
    assert(PhantomsApi.whyNotText(spark.sql(sets)) == "nothing was left alone")
  }

  test("of a subquery and of the query around it") {
    assert(
      codes(s"select * from flows where octets < (select max(n) from (${sets.replace("sum(octets)", "count(*) n")}))")
        .contains("SHARED")
    )
  }

  test("of the query inside a command") {
    assert(codes(s"create table made using parquet as select * from ($sets) v(a, b, c)").contains("SHARED"))
    assert(codes(s"insert into made $sets").contains("SHARED"))
    assert(spark.table("made").count() == 2 * (7 + 11 + 77))
  }

  test("nothing is recorded outside of an explanation") {
    spark.sql(sets).queryExecution.optimizedPlan
    assert(!io.phantoms.spark.decide.DecisionRecorder.isOn)
  }

  test("a wrong value is refused when it is set") {
    val error = intercept[Exception](spark.conf.set("spark.phantoms.maxQueries", "1"))
    assert(error.getMessage.contains("at least 2"))
  }

  private def codes(sql: String): Seq[String] = Explanations.explain(spark.sql(sql)).map {
    case _: Shared => "SHARED"
    case d: Declined => d.reason.code
  }

  private def names(keys: String*): JArray = JArray(keys.map(JString(_)).toList)
}
