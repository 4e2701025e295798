package io.phantoms.spark.api

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.phantoms.spark.integration.PluginSession

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.apache.spark.sql.{AnalysisException, Row}
import org.apache.spark.sql.classic.DataFrame
import org.json4s._
import org.json4s.jackson.JsonMethods
import org.scalatest.funsuite.AnyFunSuite

/** The table functions: rows are what the calls answer, and nothing that they are given is run. */
class SqlFunctionsSuite extends AnyFunSuite with PluginSession {
  private def quoted(sql: String): String = "'" + sql.replace("\\", "\\\\").replace("'", "\\'") + "'"

  private def of(function: String, query: String): DataFrame = spark.sql(s"SELECT * FROM $function(${quoted(query)})")

  private def rows(sql: String): Seq[Row] = spark.sql(sql).collect().toSeq

  private def decisions(query: String): List[JValue] =
    (JsonMethods.parse(PhantomsApi.explainJson(spark.sql(query))) \ "decisions").children

  private def ended(command: String): Unit = {
    val _ = spark.sql(command)
  }

  private def refused(sql: String, condition: String, words: String*): AnalysisException = {
    val e = intercept[AnalysisException](spark.sql(sql))
    assert(e.getCondition == condition, e.getMessage)
    words.foreach(w => assert(e.getMessage.contains(w), e.getMessage))
    e
  }

  /** How many jobs a body starts. */
  private def jobs(body: => Any): Int = {
    val ids = mutable.Set.empty[Int]
    val listener = new SparkListener {
      override def onJobStart(start: SparkListenerJobStart): Unit = ids.synchronized {
        val _ = ids.add(start.jobId)
      }
    }
    // Jobs of before may still be on their way to listeners.
    spark.sparkContext.runJob(spark.sparkContext.range(0, 1, 1, 1), (_: Iterator[Long]) => ())
    Thread.sleep(200)
    spark.sparkContext.addSparkListener(listener)
    try {
      val _ = body
      Thread.sleep(500)
      ids.synchronized(ids.size)
    } finally spark.sparkContext.removeSparkListener(listener)
  }

  private val union = PluginSession.union("flows")
  private val single = "SELECT k, count(*) FROM flows GROUP BY k"
  private val ordered = "SELECT k, m, first(v) FROM flows GROUP BY CUBE (k, m)"

  test("explain: a row for each relation of what is shared, as the document has it") {
    val df = of("phantoms_explain", union)
    assert(
      df.schema.toDDL.replace(" NOT NULL", "") ==
        "decision INT,operator STRING,shared BOOLEAN,reason STRING,message STRING,configuration STRING,cost DOUBLE," +
        "cost_without DOUBLE,relation STRING,keys ARRAY<STRING>,queries ARRAY<INT>,phantom BOOLEAN,parent STRING," +
        "placement STRING,buckets INT,expected_groups DOUBLE"
    )
    val Seq(d) = decisions(union): @unchecked
    val JString(notation) = d \ "notation": @unchecked
    val found = df.collect().toSeq
    assert(found.nonEmpty && found.size == (d \ "relations").children.size)
    found.foreach { r =>
      assert(
        r.getInt(0) == 0 && r.getString(1).startsWith("Union [k, m, n, total]") && r.getBoolean(2) && r.isNullAt(3)
      )
      assert(r.getString(4).startsWith("expected to take") && r.getString(5) == notation)
      assert(JDouble(r.getDouble(6)) == d \ "cost" && JDouble(r.getDouble(7)) == d \ "cost_without")
    }
    // Every groupBy is answered by one relation; those that none answers are phantoms.
    assert(found.flatMap(_.getSeq[Int](10)).sorted == Seq(0, 1, 2))
    found.foreach(r => assert(r.getBoolean(11) == r.getSeq[Int](10).isEmpty))
    val answer = found.map(r => r.getSeq[Int](10) -> r.getSeq[String](9).toSet)
    assert(answer.collect { case (Seq(q), keys) => q -> keys }.toMap == Map(0 -> Set("k"), 1 -> Set("m"), 2 -> Set()))
    val groups = found.map(r => r.getSeq[String](9).toSet -> r.getDouble(15)).toMap
    assert(groups(Set()) == 1.0 && groups(Set("k")) > 20 && groups(Set("k")) < 80)
    (d \ "relations").children.zip(found).foreach { case (relation, r) =>
      assert(relation \ "relation" == JString(r.getString(8)) && relation \ "placement" == JString(r.getString(13)))
      assert(relation \ "buckets" == JInt(r.getInt(14)))
      relation \ "parent" match {
        case JInt(p) => assert(r.getString(12) == found(p.toInt).getString(8))
        case _ => assert(r.isNullAt(12))
      }
    }
    assert(found.exists(!_.isNullAt(12)), "nothing feeds anything")
  }

  test("explain and why_not: what is left alone, with its code") {
    val Seq(r) = of("phantoms_explain", single).collect().toSeq: @unchecked
    assert(r.toSeq.take(4) == Seq(0, "Aggregate [k, count(1)]", false, "SINGLE_AGGREGATE"))
    assert(r.getString(4).startsWith("only one groupBy") && r.toSeq.drop(5).forall(_ == null) && r.size == 16)
    assert(
      of("phantoms_why_not", single).columns.toSeq == Seq("operator", "reason", "message", "tree", "workload", "advice")
    )
    val Seq(why) = of("phantoms_why_not", single).collect().toSeq: @unchecked
    assert(why.toSeq.take(3) == Seq(1, 3, 4).map(r.get) && why.isNullAt(4) && why.getString(5).startsWith("put other"))
    assert(why.getString(3) == "Aggregate [k], [k, count(1)]   <-- here")
    assert(of("phantoms_why_not", ordered).select("reason").collect().toSeq == Seq(Row("ORDER_DEPENDENT")))
    assert(of("phantoms_why_not", union).collect().isEmpty)
    val none = "SELECT k FROM flows"
    assert(of("phantoms_explain", none).collect().isEmpty && of("phantoms_why_not", none).collect().isEmpty)
    plain {
      val off = of("phantoms_why_not", union).select("reason", "message").collect().toSeq
      assert(off == Seq(Row("DISABLED", "spark.phantoms.enabled is false")))
      assert(of("phantoms_explain", union).select("shared", "reason").collect().toSeq == Seq(Row(false, "DISABLED")))
    }
  }

  test("last: each metric of each operator of the last shared query, which asking is not") {
    spark.sql(PluginSession.sets("flows")).collect()
    def expected: Seq[Row] = {
      val found = JsonMethods.parse(PhantomsCall.call(spark, null, "last_execution", "{}"))
      val JInt(id) = found \ "execution_id": @unchecked
      for {
        (o, i) <- (found \ "operators").children.zipWithIndex
        (name, JInt(n)) <- (o \ "metrics").asInstanceOf[JObject].obj
      } yield Row(id.toLong, i, (o \ "operator").values, (o \ "configuration").values, name, n.toLong)
    }
    val df = spark.sql("SELECT * FROM phantoms_last()")
    assert(df.schema.toDDL ==
      "execution_id BIGINT,position INT,operator STRING,configuration STRING,metric STRING,value BIGINT")
    val before = df.collect().toSeq
    assert(before == expected && before.size > 10)
    val read = "SELECT value FROM phantoms_last() WHERE operator = 'PhantomsLfta' AND metric = 'rows'"
    assert(rows(read) == Seq(Row(20000L)))
    of("phantoms_explain", union).collect()
    assert(rows("SELECT * FROM phantoms_last()") == before)
    val answers = spark.sql(union).collect().length
    val later = rows("SELECT * FROM phantoms_last()")
    assert(later == expected && later.head.getLong(0) > before.head.getLong(0))
    assert(rows(
      "SELECT value FROM phantoms_last() WHERE operator = 'PhantomsMerge' AND metric = 'numOutputRows'"
    ) == Seq(Row(answers.toLong)))
    // Of a DataFrame the rows are those of when it was made.
    assert(df.collect().toSeq == before)
    plain(assert(rows("SELECT * FROM phantoms_last()") == later))
  }

  test("in larger queries, in views, with named and computed arguments, from calls by name") {
    val q = quoted(single)
    def reason(argument: String) = withClue(argument) {
      assert(rows(s"SELECT reason FROM phantoms_why_not($argument)") == Seq(Row("SINGLE_AGGREGATE")))
    }
    assert(rows(s"""SELECT w.reason, e.decision FROM phantoms_explain($q) e JOIN phantoms_why_not($q) w
      |ON e.reason = w.reason WHERE NOT e.shared ORDER BY 1""".stripMargin) == Seq(Row("SINGLE_AGGREGATE", 0)))
    assert(
      rows(s"SELECT count(*) FROM phantoms_explain(${quoted(union)}) AS t WHERE t.phantom IS NULL") == Seq(Row(0L))
    )
    assert(rows(s"SELECT c FROM phantoms_why_not($q) AS t(a, b, c, d, e, f)").size == 1)
    reason(s"sql => $q")
    reason(s"concat(nvl(NULL, ''), $q, ' ; ')")
    assert(rows(s"SELECT (SELECT max(reason) FROM phantoms_why_not($q))") == Seq(Row("SINGLE_AGGREGATE")))
    assert(rows(s"SELECT reason FROM system.builtin.phantoms_why_not($q)") == Seq(Row("SINGLE_AGGREGATE")))
    spark.sql(s"DECLARE OR REPLACE VARIABLE phantoms_question STRING DEFAULT $q")
    reason("phantoms_question")
    spark.sql(s"CREATE OR REPLACE TEMP VIEW asked AS SELECT reason FROM phantoms_why_not($q)")
    assert(rows("SELECT * FROM asked") == Seq(Row("SINGLE_AGGREGATE")))
    plain(assert(rows("SELECT * FROM asked") == Seq(Row("DISABLED"))))
    spark.sql("CREATE OR REPLACE TEMP VIEW counted AS SELECT DISTINCT execution_id FROM phantoms_last()")
    val ids = Seq.fill(2) {
      spark.sql(union).collect()
      rows("SELECT * FROM counted").head.getLong(0)
    }
    assert(ids(0) < ids(1))
    assert(rows("DESCRIBE FUNCTION phantoms_explain").mkString.contains("tells what is shared"))
    val again = s"SELECT reason FROM phantoms_why_not($q)"
    assert(of("phantoms_why_not", again).collect().isEmpty)
  }

  test("a permanent view tells what its reader's session would do") {
    plain(spark.sql(s"CREATE VIEW asked_later AS SELECT shared FROM phantoms_explain(${quoted(PluginSession
        .union(s"parquet.`$folder/flows`"))})"))
    try {
      assert(rows("SELECT DISTINCT shared FROM asked_later") == Seq(Row(true)))
      plain(assert(rows("SELECT * FROM asked_later") == Seq(Row(false))))
    } finally ended("DROP VIEW asked_later")
  }

  test("arguments that are none") {
    for (f <- Seq("phantoms_explain", "phantoms_why_not")) {
      refused(s"SELECT * FROM $f(NULL)", "INVALID_PARAMETER_VALUE.NULL", s"`$f`", "`sql`")
      refused(s"SELECT * FROM $f(CAST(NULL AS STRING))", "INVALID_PARAMETER_VALUE.NULL")
      refused(s"SELECT * FROM $f()", "REQUIRED_PARAMETER_NOT_FOUND", f, "sql")
      refused(s"SELECT * FROM $f('SELECT 1', 'SELECT 2')", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", f, "2")
      refused(s"SELECT * FROM $f(query => 'SELECT 1')", "UNRECOGNIZED_PARAMETER_NAME", "query")
      refused(s"SELECT * FROM $f(7)", "UNEXPECTED_INPUT_TYPE", f, "STRING", "INT")
      refused(s"SELECT * FROM $f(uuid())", "NON_FOLDABLE_ARGUMENT", f)
      refused(s"SELECT * FROM $f(current_user())", "NON_FOLDABLE_ARGUMENT", f)
      refused(s"SELECT * FROM flows, LATERAL $f(s)", "NON_FOLDABLE_ARGUMENT", f)
      refused(s"SELECT * FROM $f('SELECT nothing FROM flows')", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "nothing")
      refused(s"SELECT * FROM $f('SELECT * FROM nowhere')", "TABLE_OR_VIEW_NOT_FOUND", "nowhere")
      refused(s"SELECT * FROM $f('SELEC 1 FROM')", "PARSE_SYNTAX_ERROR", "SELEC")
      refused(s"SELECT * FROM $f('')", "PARSE_EMPTY_STATEMENT")
    }
    refused("SELECT * FROM phantoms_last('x')", "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "phantoms_last", "1")
  }

  test("a view that asks about itself") {
    spark.sql("CREATE OR REPLACE TEMP VIEW circle AS SELECT 1 AS a")
    spark.sql(
      "CREATE OR REPLACE TEMP VIEW circle AS SELECT decision AS a FROM phantoms_explain('SELECT a FROM circle')"
    )
    refused("SELECT * FROM circle", "RECURSIVE_VIEW", "SELECT a FROM circle")
    spark.catalog.dropTempView("circle")
  }

  test("whatever is no query is refused and not run") {
    spark.sql("CREATE TABLE kept (a INT) USING parquet")
    spark.sql("INSERT INTO kept VALUES (1)")
    try {
      val commands = Seq(
        "DROP TABLE kept",
        "INSERT INTO kept VALUES (2)",
        "INSERT OVERWRITE kept SELECT 2",
        "WITH x AS (SELECT 2 AS a) INSERT INTO kept SELECT * FROM x",
        "FROM kept INSERT INTO kept SELECT a INSERT INTO kept SELECT a + 1",
        "CREATE TABLE made AS SELECT 1 AS a",
        "CREATE TEMP VIEW made AS SELECT 1 AS a",
        "EXECUTE IMMEDIATE 'DROP TABLE kept'",
        "SET spark.phantoms.enabled = false",
        "USE nowhere",
        "EXPLAIN SELECT 1",
        "SHOW TABLES",
        "CACHE TABLE kept",
        "CALL system.none()",
        "BEGIN DROP TABLE kept; END",
        "DROP TABLE kept;",
        s"INSERT OVERWRITE DIRECTORY '$folder/written' USING parquet SELECT 1 AS a"
      )
      for (command <- commands; f <- Seq("phantoms_explain", "phantoms_why_not")) withClue(command) {
        refused(s"SELECT * FROM $f(${quoted(command)})", "INVALID_STATEMENT_OR_CLAUSE", "no query")
        withConf("spark.sql.legacy.parseQueryWithoutEof" -> "true") {
          refused(s"SELECT * FROM $f(${quoted(command)})", "INVALID_STATEMENT_OR_CLAUSE", "no query")
        }
      }
      assert(rows("SELECT * FROM kept") == Seq(Row(1)))
      assert(!spark.catalog.tableExists("made") && spark.conf.get("spark.phantoms.enabled") == "true")
      assert(!new java.io.File(s"$folder/written").exists)
      refused("SELECT * FROM phantoms_explain('SELECT 1; DROP TABLE kept')", "PARSE_SYNTAX_ERROR")
      assert(spark.catalog.tableExists("kept"))
    } finally ended("DROP TABLE IF EXISTS kept")
  }

  test("no job is run") {
    withConf("spark.phantoms.stats.sample.enabled" -> "false") {
      assert(jobs(of("phantoms_explain", union).collect()) == 0)
      assert(jobs(of("phantoms_why_not", ordered).collect()) == 0)
    }
    // What is counted is counted.
    assert(jobs(spark.sql(union).collect()) > 0)
  }

  test("queries that no DataFrame is run of: with parameters, of streams") {
    val found = spark.sql("SELECT reason FROM phantoms_why_not(:q)", Map[String, Any]("q" -> single).asJava)
    assert(found.collect().toSeq == Seq(Row("SINGLE_AGGREGATE")))
    spark.readStream.format("rate").load().createOrReplaceTempView("ticks")
    val streaming = "SELECT value, count(*) FROM ticks GROUP BY CUBE (value, timestamp)"
    assert(of("phantoms_why_not", streaming).select("reason").collect().toSeq == Seq(Row("STREAMING")))
    spark.catalog.dropTempView("ticks")
  }
}
