package io.phantoms.spark.explain

import scala.jdk.CollectionConverters._
import scala.reflect.runtime.universe

import io.phantoms.spark.Turns
import io.phantoms.spark.api.PhantomsApi
import io.phantoms.spark.decide.Shared
import io.phantoms.spark.detect.{DeclineCode, DeclineReason}
import io.phantoms.spark.integration.PluginSession

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.functions.{count, lit}
import org.apache.spark.sql.types.IntegerType
import org.scalatest.funsuite.AnyFunSuite

/**
 * What is said of queries of which something is left alone: a golden file for each of [[DeclineCases]], and every code met
 * by one of them.
 */
class WhyNotSuite extends AnyFunSuite with PluginSession {
  override protected def views(session: SparkSession): Unit = {
    super.views(session)
    session.table("t").select("a", "b", "c").write.option("header", true).csv(s"$folder/lines")
    session.read.schema("a int, b string, c bigint").option("header", true).csv(s"$folder/lines")
      .createOrReplaceTempView("lines")
    session.table("t").observe("seen", count(lit(1)).as("n")).createOrReplaceTempView("observed")
    withConf("spark.sql.sources.useV1SourceList" -> "") {
      session.read.parquet(s"$folder/t").createOrReplaceTempView("files")
    }
    session.sql("cache table kept as select a, b from t where rand(1) > 0.5")
    session.readStream.format("rate").load().createOrReplaceTempView("ticks")
    // Planned, never run.
    session.sessionState.functionRegistry.createOrReplaceTempFunction(
      "doubled",
      PythonUDF("doubled", null, IntegerType, _, evalType = 100, udfDeterministic = true),
      "python_udf"
    )
  }

  private def rows(c: DeclineCase): Seq[Row] =
    spark.sql("select * from phantoms_why_not(:q)", Map[String, Any]("q" -> c.sql).asJava).collect().toSeq

  /** The query, what Python prints, and what SQL has beside that; times depend on the machine. */
  private def described(c: DeclineCase, found: Seq[Row]): String = {
    val set = c.confs.map { case (key, value) => s"set $key=$value" }
    val placed = found.map { r =>
      val workload = Option(r.getAs[String]("workload")).getOrElse("NULL")
      s"-- ${r.getAs[String]("reason")}: ${r.getAs[String]("operator")}\nworkload ${workload}\n${r.getAs[String]("tree")}"
    }
    val blocks = (set :+ c.sql).mkString("\n") +: PhantomsApi.whyNotText(spark.sql(c.sql)) +: placed
    blocks.mkString("", "\n\n", "\n").replaceAll("\\d+\\.\\d ms", "... ms")
  }

  private val again = Turns.some(DeclineCases.all, 6).toSet

  DeclineCases.all.foreach { c =>
    test(c.name)(withConf(c.confs: _*) {
      val found = rows(c)
      assert(found.map(_.getAs[String]("reason")).toSet == c.codes)
      found.foreach { r =>
        assert(r.getAs[String]("advice").nonEmpty && r.getAs[String]("tree").contains("   <-- here"))
      }
      val text = described(c, found)
      assert("#\\d".r.findFirstIn(text).isEmpty, s"ids that change from plan to plan:\n$text")
      if (again(c)) assert(described(c, rows(c)) == text)
      if (GoldenTexts.writes) GoldenTexts.write(c.name, text)
      else
        assert(
          text == GoldenTexts.read(c.name),
          "if that is meant: ./build/sbt -Dphantoms.golden.write=true \"plugin/testOnly *WhyNotSuite\""
        )
    })
  }

  Turns.some(DeclineCases.heeded.zipWithIndex, 8).foreach { case ((name, c), i) =>
    test(s"what would help, ${i + 1}: $name")(withConf(c.confs: _*) {
      val found = Explanations.explain(spark.sql(c.sql))
      assert(found.nonEmpty && found.forall(_.isInstanceOf[Shared]), PhantomsApi.whyNotText(spark.sql(c.sql)))
    })
  }

  test("every golden file is of a query") {
    assert(GoldenTexts.names == DeclineCases.all.map(_.name).toSet)
    assert(DeclineCases.all.map(_.name).distinct.size == DeclineCases.all.size)
  }

  test("every reason has its code, and every code is met by a query or has a reason not to be") {
    val reasons = universe.typeOf[DeclineReason].typeSymbol.asClass.knownDirectSubclasses.map(_.name.toString)
    val codes = DeclineCode.all.map(_.name)
    assert(codes.distinct == codes)
    assert(reasons.map(_.replaceAll("(?<=[a-z])(?=[A-Z])", "_").toUpperCase(java.util.Locale.ROOT)) == codes.toSet)
    val met = DeclineCases.all.flatMap(_.codes).toSet
    assert(met.intersect(DeclineCases.unmet.keySet).isEmpty)
    assert(met ++ DeclineCases.unmet.keySet == codes.toSet)
  }

  test("the page of codes and samples is that of the code") {
    val text = WhyNotPage.read()
    val made = WhyNotPage.made(text)
    if (GoldenTexts.writes) WhyNotPage.write(made)
    else assert(made == text, "make docs-conf writes it")
  }

  test("nothing left alone, and nothing to be asked about") {
    assert(PhantomsApi.whyNotText(spark.sql(PluginSession.union("flows"))) == "nothing was left alone")
    assert(PhantomsApi.whyNotText(spark.sql("select k from flows")) == "nothing was left alone")
  }
}
